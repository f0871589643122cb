// What was used each day, as bars; those of several projects stand on each other.

import { useEffect, useRef } from "react";
import type { CostLine } from "../../api/types";
import { dollars } from "../../lib/format";
import { costs } from "../../words/costs";
import { firstDay, type Range } from "./data";

const [WIDTH, HEIGHT] = [760, 210];
const [LEFT, TOP, BOTTOM] = [48, 16, 22];
const DAY = 24 * 60 * 60 * 1000;
const short = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** A round number that is not below this one. */
function ceiling(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 5, 10].map((step) => step * unit).find((step) => step >= value) ?? value;
}

const amount = new Intl.NumberFormat("en", { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

interface DayChartProps {
  days: { project: string; lines: CostLine[] }[];
  range: Range;
  now: number;
}

export function DayChart({ days, range, now }: DayChartProps) {
  const today = new Date(now).toISOString().slice(0, 10);
  const known = days.flatMap((one) => one.lines.map((line) => line.key ?? today)).sort();
  const first = [firstDay(range, now) ?? known[0] ?? today, known[0] ?? today].sort()[0] ?? today;
  const count = Math.round((Date.parse(today) - Date.parse(first)) / DAY) + 1;
  const names = Array.from({ length: count }, (_, at) =>
    new Date(Date.parse(first) + at * DAY).toISOString().slice(0, 10),
  );
  const of = (day: string, lines: CostLine[]): number =>
    lines.filter((line) => line.key === day).reduce((all, line) => all + line.known_cost_usd, 0);
  const stacks = names.map((day) => days.map((one) => of(day, one.lines)));
  const totals = stacks.map((stack) => stack.reduce((all, one) => all + one, 0));
  const most = ceiling(Math.max(...totals));
  const step = (WIDTH - LEFT) / count;
  const wide = Math.max(1, Math.min(36, step * 0.68));
  const scale = (HEIGHT - TOP - BOTTOM) / most;
  const told = names
    .map((day, at) => [day, totals[at] ?? 0] as const)
    .filter(([, total]) => total > 0)
    .map(([day, total]) => costs.day(day, dollars(total)));
  const every = Math.ceil(count / 8);
  const chart = useRef<SVGSVGElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other days, another width
  useEffect(() => {
    const box = chart.current?.parentElement;
    // Where it does not fit, today is what one looks for.
    if (box) box.scrollLeft = box.scrollWidth;
  }, [count]);
  return (
    <svg
      ref={chart}
      className="day-chart"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={`${costs.byDay}: ${told.join(", ")}`}
    >
      {[0, 0.5, 1].map((part) => {
        const y = HEIGHT - BOTTOM - part * most * scale;
        return (
          <g key={part}>
            <line className="grid" x1={LEFT} x2={WIDTH} y1={y} y2={y} />
            <text x={LEFT - 8} y={y + 4} textAnchor="end">
              {amount.format(part * most)}
            </text>
          </g>
        );
      })}
      {names.map((day, at) => {
        let y = HEIGHT - BOTTOM;
        const x = LEFT + at * step + (step - wide) / 2;
        const isToday = day === today;
        return (
          <g key={day}>
            <title>{costs.day(day, dollars(totals[at] ?? 0))}</title>
            <rect x={LEFT + at * step} y={TOP} width={step} height={HEIGHT - TOP - BOTTOM} fill="transparent" />
            {stacks[at]?.map((value, place) => {
              const height = value * scale;
              y -= height;
              return height > 0 ? (
                <rect
                  // biome-ignore lint/suspicious/noArrayIndexKey: a project is what is at its place
                  key={place}
                  className={`share-${Math.min(place, 3) + 1}`}
                  x={x}
                  y={y}
                  width={wide}
                  height={Math.max(1, height)}
                  rx={1.5}
                />
              ) : null;
            })}
            {isToday && (totals[at] ?? 0) > 0 && (
              <text className="strong" x={x + wide} y={y - 5} textAnchor="end">
                {amount.format(totals[at] ?? 0)}
              </text>
            )}
            {((count - 1 - at) % every === 0 || isToday) && (
              <text
                className={isToday ? "strong" : undefined}
                x={x + wide / 2}
                y={HEIGHT - 6}
                textAnchor={isToday ? "end" : "middle"}
                dx={isToday ? wide / 2 : 0}
              >
                {short.format(Date.parse(day))}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}
