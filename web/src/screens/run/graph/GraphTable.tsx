import { useVirtualizer } from "@tanstack/react-virtual";
import { useMemo, useRef } from "react";
import { Link } from "wouter";
import type { RunTask } from "../../../api/types";
import { State } from "../../../parts/State";
import type { StateName } from "../../../words";
import { graphWords as text } from "../../../words/graph";
import type { GraphLayout } from "./layout";

interface Props {
  run: string;
  layout: GraphLayout;
  byId: Map<string, RunTask>;
  chosen: string | null;
  choose: (id: string) => void;
}

const ROW = 32;

/** The graph for those who do not see it: what each task comes after and before. */
export function GraphTable({ run, layout, byId, chosen, choose }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const before = useMemo(() => {
    const found = new Map<string, string[]>();
    for (const task of byId.values()) {
      for (const on of task.dependencies) {
        const list = found.get(on);
        if (list) list.push(task.id);
        else found.set(on, [task.id]);
      }
    }
    return found;
  }, [byId]);
  const critical = useMemo(
    () =>
      new Set(
        layout.ids.filter(
          (_, place) =>
            layout.nodes[layout.stands[place] ?? 0]?.[6] === 1 && layout.nodes[layout.stands[place] ?? 0]?.[0] === 0,
        ),
      ),
    [layout],
  );
  const rows = useMemo(() => layout.ids.filter((id) => byId.has(id)), [layout, byId]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  return (
    <div
      className="scroller table graph-table"
      ref={scroller}
      role="table"
      aria-label={text.table}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div className="table-head" role="row">
        {Object.values(text.columns).map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const task = byId.get(rows[item.index] ?? "");
          if (!task) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link takes the keys
            <div
              key={task.id}
              className="table-row"
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={task.id === chosen}
              style={{ position: "absolute", insetInline: 0, top: item.start }}
              onClick={() => choose(task.id)}
            >
              <span role="cell">
                <Link href={`/runs/${run}/tasks/${encodeURIComponent(task.id)}`}>
                  <b>{task.id}</b>
                </Link>{" "}
                <span className="faint">{task.name !== task.id ? task.name : ""}</span>
              </span>
              <span role="cell">
                <State state={task.state as StateName} phase={task.phase} />
              </span>
              <span role="cell" className="faint">
                {task.dependencies.join(", ")}
              </span>
              <span role="cell" className="faint">
                {(before.get(task.id) ?? []).join(", ")}
              </span>
              <span role="cell">{critical.has(task.id) ? text.yes : ""}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
