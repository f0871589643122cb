import type { RunTask } from "../../api/types";
import { refuse, say } from "../../lib/messages";
import { taskWords } from "../../words/runTasks";
import { mayNot, setPriority } from "./taskActs";

const text = taskWords.priority;

/** How urgent a task is; changed while the run goes on, it decides which ready task starts next. */
export function PrioritySelect({ run, task, forbidden }: { run: string; task: RunTask; forbidden: string | null }) {
  const why = forbidden ?? mayNot.priority(task);
  const change = async (to: number) => {
    try {
      await setPriority(run, task.id, to);
      say(text.changed(task.id, text.names[to] ?? String(to)));
    } catch (error) {
      refuse(error);
    }
  };
  if (why && why === mayNot.priority(task)) return <>{text.names[task.priority] ?? task.priority}</>;
  return (
    <select
      className="input fit small"
      aria-label={text.of(task.id)}
      title={why ?? undefined}
      disabled={Boolean(why)}
      value={task.priority}
      onChange={(event) => change(Number(event.target.value))}
    >
      {text.names.map((name, place) => (
        <option key={name} value={place}>
          {name}
        </option>
      ))}
    </select>
  );
}
