import { dollars, duration } from "../../lib/format";
import { Refused } from "../../parts/Messages";
import { words } from "../../words";
import { newrun as text } from "../../words/newrun";
import { useRehearsal } from "./data";
import { WorkersChart } from "./WorkersChart";

/** So many workers are compared. */
const MOST = 8;

interface Props {
  project: string;
  version: string;
  workers: number;
  choose: (workers: number) => void;
}

export function Rehearse({ project, version, workers, choose }: Props) {
  const looked = useRehearsal(project, version, MOST);
  const told = looked.value;
  if (!told) return <Refused error={looked.refusal} />;
  const mine = told.by_parallel.find((bar) => bar.parallel === workers);
  const guessed = told.tasks.filter((task) => task.basis === "default").length;
  const [low, high, unknown] = [told.cost_low_usd, told.cost_high_usd, told.tasks_of_unknown_cost];
  const isUnknown = low == null || high == null || (high === 0 && unknown > 0);
  return (
    <>
      <section className="card">
        <header>
          <h2 className="grow">{text.byWorkers}</h2>
          <span className="small faint">{text.wholeFile(told.tasks.length)}</span>
        </header>
        <div className="body">
          <WorkersChart rehearsal={told} chosen={workers} choose={choose} />
          <p className="small dim">
            {mine && <b>{text.takes(text.workers(workers), duration(mine.makespan_ms))}</b>}{" "}
            {text.best(told.best_parallel)} {text.path(told.critical_path.join(" → "), duration(told.critical_path_ms))}{" "}
            {guessed > 0 && text.guessed(guessed)}
          </p>
        </div>
      </section>
      <section className="card">
        <header>
          <h2 className="grow">{text.cost}</h2>
          <span className="small faint">{words.estimate}</span>
        </header>
        <div className="body">
          <p>
            <b>{isUnknown ? words.unknown : low === high ? dollars(low) : `${dollars(low)}–${dollars(high)}`}</b>{" "}
            {unknown > 0 && <span className="small faint">{text.costUnknown(unknown)}</span>}
          </p>
        </div>
      </section>
    </>
  );
}
