// A file without marks: solved already, or one that is taken as a whole.

import { useState } from "react";
import type { ConflictVersion } from "../../api/types";
import { count } from "../../lib/format";
import { Button } from "../../parts/Button";
import { conflictWords as text } from "../../words/conflict";
import type { Opened } from "./choices";

interface Props {
  task: string;
  opened: Opened;
  forbidden: string | null;
  write: (path: string, content: string) => Promise<void>;
  take: (path: string, side: "ours" | "theirs") => Promise<void>;
}

function shown(version: ConflictVersion): string {
  switch (version.kind) {
    case "absent":
      return text.absent;
    case "binary":
      return text.binary(count(version.bytes ?? 0));
    case "too_long":
      return text.tooLong(count(version.bytes ?? 0));
    case "text":
      return version.text ?? "";
    default:
      return text.other;
  }
}

export function WholeFile({ task, opened, forbidden, write, take }: Props) {
  const { file } = opened;
  const [written, setWritten] = useState<string | null>(null);
  const isText = file.now.kind === "text";
  const sides: [string, ConflictVersion][] = [
    [text.landed, file.ours],
    [text.base, file.base],
    [text.work(task), file.theirs],
  ];
  return (
    <section className="card merge" aria-label={file.path}>
      <header>
        <code className="cut">{file.path}</code>
        <span className="grow" />
        <Button forbidden={forbidden} act={() => take(file.path, "ours")}>
          {text.takeLanded}
        </Button>
        <Button forbidden={forbidden} act={() => take(file.path, "theirs")}>
          {text.takeWork}
        </Button>
        {isText && written === null && (
          <Button forbidden={forbidden} act={() => setWritten(file.now.text ?? "")}>
            {text.takeEdit}
          </Button>
        )}
      </header>
      {opened.whole && <p className="small dim agreed">{text.wholeFile}</p>}
      <div className="dispute" data-state="landed">
        <div className="panes">
          {sides.map(([title, version]) => (
            <div key={title} className="pane">
              <b className="small">{title}</b>
              <pre tabIndex={0} role="region" aria-label={title}>
                {shown(version)}
              </pre>
            </div>
          ))}
        </div>
        <div className="pane result" data-taken="true">
          <b className="small">{text.result}</b>
          {written === null ? (
            <pre tabIndex={0} role="region" aria-label={text.result}>
              {shown(file.now)}
            </pre>
          ) : (
            <>
              <textarea
                className="input mono"
                rows={16}
                aria-label={text.result}
                value={written}
                onChange={(event) => setWritten(event.target.value)}
              />
              <div className="actions">
                <Button
                  kind="primary"
                  forbidden={forbidden}
                  act={async () => {
                    await write(file.path, written);
                    setWritten(null);
                  }}
                >
                  {text.save}
                </Button>
              </div>
            </>
          )}
        </div>
      </div>
    </section>
  );
}
