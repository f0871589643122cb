// What the panel shows while no task is selected: what needs the user in this run, and what comes next.

import type { RunTask, StatusAnswer } from "../../api/types";
import { at } from "../../lib/format";
import { State } from "../../parts/State";
import type { StateName } from "../../words";
import { taskWords } from "../../words/runTasks";

const text = taskWords.panel;
const MOST = 8;

interface Props {
  status: StatusAnswer;
  tasks: RunTask[];
  select: (id: string) => void;
}

export function Overview({ status, tasks, select }: Props) {
  const urgent = tasks.filter((task) => ["needs", "conflict", "failed"].includes(task.state)).slice(0, MOST);
  return (
    <aside className="panel" aria-label={text.label} tabIndex={-1}>
      <p className="small faint">
        {text.none} <span className="keys">{text.noneKeys}</span>
      </p>
      {urgent.length > 0 && (
        <section className="stack" style={{ gap: 4 }}>
          <h3>{text.needYou}</h3>
          {urgent.map((task) => (
            <button key={task.id} type="button" className="pick" onClick={() => select(task.id)}>
              <State state={task.state as StateName} word={<b>{task.id}</b>} />
              <span className="cut small faint">{task.words ?? task.name}</span>
            </button>
          ))}
        </section>
      )}
      {status.next.length > 0 && (
        <section className="stack" style={{ gap: 4 }}>
          <h3>{text.next}</h3>
          {status.next.slice(0, MOST).map((one) => (
            <button key={one.task} type="button" className="pick" onClick={() => select(one.task)}>
              <State state="pending" word={<b>{one.task}</b>} />
              <span className="cut small faint">{one.why[0]?.words}</span>
            </button>
          ))}
        </section>
      )}
      {status.conflicts_ahead.length > 0 && (
        <section className="stack" style={{ gap: 4 }}>
          <h3>{text.ahead}</h3>
          {status.conflicts_ahead.slice(0, MOST).map((one) => (
            <button key={one.task + one.words} type="button" className="pick" onClick={() => select(one.task)}>
              <State state="conflict" word={<b>{one.task}</b>} />
              <span className="cut small faint">{one.words}</span>
            </button>
          ))}
        </section>
      )}
      {status.parked_agents.length > 0 && (
        <section className="stack" style={{ gap: 4 }}>
          <h3>{text.parked}</h3>
          {status.parked_agents.map((one) => (
            <p key={one.agent} className="row small">
              <State state="waiting" word={<b>{one.agent}</b>} /> {text.parkedUntil(at(one.until))}
            </p>
          ))}
        </section>
      )}
    </aside>
  );
}
