import { duration } from "../../lib/format";
import { newrun as text } from "../../words/newrun";
import type { Rehearsal } from "./data";

const [WIDTH, HEIGHT, TOP, BOTTOM] = [300, 132, 18, 18];

interface Props {
  rehearsal: Rehearsal;
  chosen: number;
  choose: (workers: number) => void;
}

/** How long it would take with so many at once; a bar can be taken. */
export function WorkersChart({ rehearsal, chosen, choose }: Props) {
  const bars = rehearsal.by_parallel;
  const most = Math.max(...bars.map((bar) => bar.makespan_ms), 1);
  const step = WIDTH / Math.max(bars.length, 1);
  const scale = (HEIGHT - TOP - BOTTOM) / most;
  const floor = HEIGHT - BOTTOM - rehearsal.critical_path_ms * scale;
  return (
    <div className="workers-chart">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
        {bars.map((bar, at) => {
          const height = bar.makespan_ms * scale;
          const x = at * step + step * 0.18;
          return (
            <g key={bar.parallel}>
              <rect
                className={bar.parallel === chosen ? "share-1" : "share-3"}
                x={x}
                y={HEIGHT - BOTTOM - height}
                width={step * 0.64}
                height={Math.max(1, height)}
                rx={2}
              />
              <text
                className={bar.parallel === chosen ? "strong" : undefined}
                x={x + step * 0.32}
                y={HEIGHT - BOTTOM - height - 5}
                textAnchor="middle"
              >
                {duration(bar.makespan_ms)}
              </text>
            </g>
          );
        })}
        <line className="floor" x1={0} x2={WIDTH} y1={floor} y2={floor} />
      </svg>
      <div className="workers-row">
        {bars.map((bar) => (
          <button
            key={bar.parallel}
            type="button"
            aria-pressed={bar.parallel === chosen}
            aria-label={text.takes(text.workers(bar.parallel), duration(bar.makespan_ms))}
            onClick={() => choose(bar.parallel)}
          >
            {bar.parallel}
          </button>
        ))}
      </div>
    </div>
  );
}
