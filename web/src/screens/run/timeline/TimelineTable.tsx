import { Link } from "wouter";
import { duration } from "../../../lib/format";
import { FactTable } from "../../../parts/FactTable";
import { graphWords } from "../../../words/graph";
import type { Bar } from "./bars";

const text = graphWords.timeline;

function waited(bar: Bar): string {
  if (bar.waitedSince === null) return "";
  return `${duration(bar.from - bar.waitedSince)} ${bar.waitedFor?.replaceAll("_", " ") ?? ""}`;
}

/** The timeline for those who do not see it. */
export function TimelineTable({ bars, run }: { bars: Bar[]; run: string }) {
  return (
    <FactTable
      label={graphWords.table}
      className="timeline-table"
      columns={Object.values(text.columns)}
      rows={bars}
      keyOf={(_, place) => place}
      cells={(bar) => [
        <Link key="task" href={`/runs/${run}/tasks/${encodeURIComponent(bar.task)}?attempt=${bar.attempt}`}>
          <b>{bar.task}</b>
        </Link>,
        bar.attempt,
        bar.lane + 1,
        duration(bar.from),
        duration(bar.to - bar.from),
        { faint: waited(bar) },
        bar.atWork ? text.now : (bar.end ?? ""),
      ]}
    />
  );
}
