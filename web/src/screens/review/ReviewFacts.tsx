// What a reviewer wants to know beside the diff.

import type { RunTask, TaskDetail } from "../../api/types";
import { dollars, duration } from "../../lib/format";
import type { PatchFile } from "../../lib/patch";
import type { LiveRun } from "../../live/run";
import { Button } from "../../parts/Button";
import { DiffFiles } from "../../parts/diff/DiffFiles";
import type { LineComment } from "../../parts/diff/rows";
import { Glyph } from "../../parts/State";
import { words } from "../../words";
import { diffWords } from "../../words/diff";
import { reviewWords as text } from "../../words/review";
import { Measured } from "../task/ChecksTab";
import { dependents } from "../task/data";
import { lastChange, type TaskEvent } from "../task/events";
import { endEdit } from "./acts";

interface Props {
  live: LiveRun;
  task: RunTask;
  detail: TaskDetail | null;
  events: TaskEvent[];
  commit: string | null;
  files: PatchFile[];
  seen: ReadonlySet<string>;
  comments: LineComment[];
  chosen: string | null;
  choose: (path: string) => void;
}

export function ReviewFacts({ live, task, detail, events, commit, files, seen, comments, chosen, choose }: Props) {
  const change = lastChange(events.filter((event) => event.task === task.id));
  const held = dependents(live, task.id);
  return (
    <aside className="task-aside">
      <section>
        <div className="section">
          <h2>{text.files}</h2>
          <span className="small faint">{diffWords.seenOf(seen.size, files.length)}</span>
        </div>
        <DiffFiles files={files} chosen={chosen} choose={choose} comments={comments} seen={seen} />
      </section>
      <section>
        <div className="section">
          <h2>{text.checks}</h2>
          <span className="small faint">{detail && detail.verify.length > 0 ? text.checksPassed : text.noChecks}</span>
        </div>
        {(detail?.verify ?? []).map((command) => (
          <div key={command} className="row aside-file">
            <span className="state" data-state="landed">
              <Glyph state="landed" />
            </span>
            <code className="cut" title={command}>
              {command}
            </code>
          </div>
        ))}
      </section>
      <section>
        <div className="section">
          <h2>{text.facts}</h2>
        </div>
        <Measured change={change} />
        <dl className="facts">
          {!change?.reviewed && (
            <>
              <dt>{text.reviewer}</dt>
              <dd>{text.noReviewer}</dd>
            </>
          )}
          <dt>{text.cost}</dt>
          <dd>{dollars(task.cost_usd)}</dd>
          <dt>{text.worked}</dt>
          <dd>{duration(task.worked_ms)}</dd>
          <dt>{text.attempts}</dt>
          <dd>{task.attempts}</dd>
          <dt>{text.commit}</dt>
          <dd className="mono">{commit?.slice(0, 10) ?? words.unknown}</dd>
          <dt>{text.waits}</dt>
          <dd>{held.length > 0 ? held.map((one) => one.id).join(", ") : text.waitsNone}</dd>
        </dl>
      </section>
    </aside>
  );
}

interface EditProps {
  run: string;
  task: string;
  folder: string;
  forbidden: string | null;
  done: () => void;
}

export function EditCard({ run, task, folder, forbidden, done }: EditProps) {
  const end = async (how: "continue" | "abort") => {
    await endEdit(run, task, how);
    done();
  };
  return (
    <article className="card">
      <div className="body">
        <p>{text.editing}</p>
        <pre className="code" tabIndex={0} role="region" aria-label={text.edit}>
          {folder}
        </pre>
      </div>
      <footer>
        <Button kind="primary" forbidden={forbidden} act={() => end("continue")}>
          {text.editContinue}
        </Button>
        <Button forbidden={forbidden} act={() => end("abort")}>
          {text.editAbort}
        </Button>
      </footer>
    </article>
  );
}
