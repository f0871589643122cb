import { taskWords } from "../../words/task";
import { useConversation } from "./conversation";
import type { TaskPart } from "./Task";

const text = taskWords.prompt;

/** As it was sent where that is known, else the task's own text. */
export function PromptTab({ run, task, attempt, detail }: TaskPart) {
  // What was sent at the beginning: what the agent says then is not listened to.
  const heard = useConversation(run, task.id, attempt, false, 0);
  const work = (detail?.work ?? {}) as { prompt?: string; run?: unknown };
  const sent = heard.value?.prompt ?? null;
  if (!detail) return null;
  const command = typeof work.run === "string" ? work.run : work.run === undefined ? null : JSON.stringify(work.run);
  const own = work.prompt ?? command;
  return (
    <section className="stack" aria-label={taskWords.tabs.prompt}>
      <p className="small faint">
        {sent !== null ? text.sent : work.prompt !== undefined ? text.own : command !== null ? text.command : ""}
      </p>
      {(sent ?? own) ? <pre className="code prompt">{sent ?? own}</pre> : <p className="dim">{text.none}</p>}
    </section>
  );
}
