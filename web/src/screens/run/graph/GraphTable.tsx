import { useMemo } from "react";
import { Link } from "wouter";
import type { RunTask } from "../../../api/types";
import { FactTable } from "../../../parts/FactTable";
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

/** The graph for those who do not see it: what each task comes after and before. */
export function GraphTable({ run, layout, byId, chosen, choose }: Props) {
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
  const rows = useMemo(() => layout.ids.map((id) => byId.get(id)).filter((task) => task !== undefined), [layout, byId]);
  return (
    <FactTable
      label={text.table}
      columns={Object.values(text.columns)}
      rows={rows}
      keyOf={(task) => task.id}
      chosen={(task) => task.id === chosen}
      choose={(task) => choose(task.id)}
      cells={(task) => [
        <>
          <Link href={`/runs/${run}/tasks/${encodeURIComponent(task.id)}`}>
            <b>{task.id}</b>
          </Link>{" "}
          <span className="faint">{task.name !== task.id ? task.name : ""}</span>
        </>,
        <State key="state" state={task.state as StateName} phase={task.phase} />,
        { faint: task.dependencies.join(", ") },
        { faint: (before.get(task.id) ?? []).join(", ") },
        critical.has(task.id) ? text.yes : "",
      ]}
    />
  );
}
