import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { Link } from "wouter";
import { duration } from "../../../lib/format";
import { graphWords } from "../../../words/graph";
import type { Bar } from "./bars";

const text = graphWords.timeline;

export function TimelineTable({ bars, run }: { bars: Bar[]; run: string }) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: bars.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 32,
    overscan: 12,
  });
  return (
    <div
      className="scroller table graph-table timeline-table"
      ref={scroller}
      role="table"
      aria-label={graphWords.table}
      aria-rowcount={bars.length + 1}
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
          const bar = bars[item.index];
          if (!bar) return null;
          return (
            <div
              key={item.index}
              className="table-row"
              role="row"
              aria-rowindex={item.index + 2}
              style={{ position: "absolute", insetInline: 0, top: item.start }}
            >
              <span role="cell">
                <Link href={`/runs/${run}/tasks/${encodeURIComponent(bar.task)}?attempt=${bar.attempt}`}>
                  <b>{bar.task}</b>
                </Link>
              </span>
              <span role="cell">{bar.attempt}</span>
              <span role="cell">{bar.lane + 1}</span>
              <span role="cell">{duration(bar.from)}</span>
              <span role="cell">{duration(bar.to - bar.from)}</span>
              <span role="cell" className="faint">
                {bar.waitedSince === null
                  ? ""
                  : `${duration(bar.from - bar.waitedSince)} ${bar.waitedFor?.replaceAll("_", " ") ?? ""}`}
              </span>
              <span role="cell">{bar.atWork ? text.now : (bar.end ?? "")}</span>
            </div>
          );
        })}
      </div>
    </div>
  );
}
