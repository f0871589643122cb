import { get } from "../../api/http";
import type { ProjectTask } from "../../api/types";
import { useLooked } from "../../live/query";
import { State } from "../../parts/State";
import { board } from "../../words/board";
import { newrun as text } from "../../words/newrun";

interface OpenProps {
  tasks: ProjectTask[];
  out: ReadonlySet<string>;
  toggle: (id: string) => void;
}

/** Tasks of the file that are not done. */
export function Open({ tasks, out, toggle }: OpenProps) {
  if (tasks.length === 0)
    return (
      <section className="empty">
        <h3>{text.nothingOpen}</h3>
        <p className="dim">{text.nothingOpenHelp}</p>
      </section>
    );
  return (
    <ol className="plan-list">
      {tasks.map((task) => (
        <li key={task.id} data-out={out.has(task.id) || undefined}>
          <input
            type="checkbox"
            aria-label={text.include(task.id)}
            checked={!out.has(task.id)}
            onChange={() => toggle(task.id)}
          />
          <div className="grow">
            <div className="cut">
              <b>{task.id}</b> <span className="dim">{task.name === task.id ? "" : task.name}</span>
            </div>
            <div className="small faint cut">
              {task.kind === "run" ? board.shell : [task.agent ?? board.anyAgent, task.model].filter(Boolean).join(" ")}
              {task.dependencies.length > 0 && ` · ${text.after(task.dependencies.join(", "))}`}
            </div>
          </div>
        </li>
      ))}
    </ol>
  );
}

/** Of `GET /api/projects/{project}/dependencies/validate`. */
interface Finding {
  severity: string;
  code: string;
  message: string;
  help: string | null;
  at?: { line: number };
}

export function Findings({ project, version }: { project: string; version: string }) {
  const looked = useLooked(
    `validate-${project}-${version}`,
    async (signal) =>
      (
        await get<"GET /api/projects/{project}/dependencies/validate">(
          "/api/projects/{project}/dependencies/validate",
          { project },
          signal,
        )
      ).findings as unknown as Finding[],
  );
  if (!looked.value) return null;
  if (looked.value.length === 0) return <State state="completed" word={board.edit.valid} />;
  return (
    <section className="card" aria-label={text.findings}>
      <div className="body">
        <h3>{text.findings}</h3>
        {looked.value.map((one) => (
          <div key={`${one.code} ${one.message}`} className="small">
            <State state={one.severity === "error" ? "failed" : "needs"} word={one.severity} /> {one.message}{" "}
            {one.at && <span className="faint">{text.line(one.at.line)}</span>} <span className="dim">{one.help}</span>
          </div>
        ))}
      </div>
    </section>
  );
}
