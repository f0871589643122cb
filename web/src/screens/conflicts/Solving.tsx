// A conflict that is laid out: its files, and the places of one of them.

import { useMemo, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { send } from "../../api/http";
import type { ConflictAnswer } from "../../api/types";
import { fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { refuse, say } from "../../lib/messages";
import { Button } from "../../parts/Button";
import { State } from "../../parts/State";
import { conflictWords as text } from "../../words/conflict";
import { taskRoute } from "../task/data";
import { type Choices, type Opened, opened, useChoices } from "./choices";
import { FileParts } from "./FileParts";
import { WholeFile } from "./WholeFile";

interface Props {
  run: string;
  task: string;
  laid: ConflictAnswer;
  again: () => void;
  forbidden: string | null;
  land: () => Promise<void>;
  abort: () => Promise<void>;
}

export function Solving({ run, task, laid, again, forbidden, land, abort }: Props) {
  const files = useMemo(() => laid.files.map(opened), [laid]);
  const choices = useChoices();
  const [place, go] = useLocation();
  const asked = new URLSearchParams(useSearch()).get("file");
  const chosen = files.find((one) => one.file.path === asked) ?? files[0];
  const [taken, setTaken] = useState<ReadonlySet<string>>(new Set());
  const isDecided = (one: Opened) =>
    one.whole ? taken.has(one.file.path) : one.open === 0 || choices.result(one) !== null;
  const missing = files.filter((one) => !isDecided(one)).length;
  const write = async (path: string, content: string) => {
    await send("POST", taskRoute(run, task, "conflict/files"), { path, text: content });
    choices.forget(path);
    say(text.written(path));
    again();
  };
  const take = async (path: string, side: "ours" | "theirs") => {
    await send("POST", taskRoute(run, task, "conflict/take"), { path, side });
    setTaken(new Set([...taken, path]));
    say(text.written(path));
    again();
  };
  // What is decided and not written yet is written first.
  const finish = async () => {
    for (const one of files) {
      const result = choices.result(one);
      if (result !== null)
        await send("POST", taskRoute(run, task, "conflict/files"), { path: one.file.path, text: result });
    }
    await land();
  };
  const why = forbidden ?? (missing > 0 ? text.notDecided(missing) : null);
  useKeys([{ keys: "mod+Enter", label: text.keys.land, act: () => (why ? refuse(why) : finish().catch(refuse)) }]);
  return (
    <div className="conflict-body">
      <div className="stack">
        <section className="card">
          <header>
            <h2>{text.files}</h2>
          </header>
          <nav className="diff-files" aria-label={text.files}>
            {files.map((one) => (
              <button
                key={one.file.path}
                type="button"
                aria-current={one === chosen || undefined}
                title={one.file.path}
                onClick={() => go(`${place}?file=${encodeURIComponent(one.file.path)}`, { replace: true })}
              >
                <code className="cut">{fileName(one.file.path)}</code>
                <span className="grow" />
                <Standing one={one} decided={isDecided(one)} choices={choices} />
              </button>
            ))}
          </nav>
        </section>
        <div className="stack">
          <Button kind="primary" hint="⌘↵" forbidden={why} act={finish}>
            {text.continue}
          </Button>
          <Button kind="danger" forbidden={forbidden} act={abort}>
            {text.abort}
          </Button>
        </div>
        <section>
          <div className="section">
            <h2>{text.folder}</h2>
          </div>
          <pre className="code" tabIndex={0} role="region" aria-label={text.folder}>
            {laid.folder}
          </pre>
        </section>
      </div>
      {chosen &&
        (chosen.open > 0 ? (
          <FileParts
            key={chosen.file.path}
            task={task}
            opened={chosen}
            choices={choices}
            forbidden={forbidden}
            write={write}
          />
        ) : (
          <WholeFile
            key={chosen.file.path}
            task={task}
            opened={chosen}
            forbidden={forbidden}
            write={write}
            take={take}
          />
        ))}
    </div>
  );
}

function Standing({ one, decided, choices }: { one: Opened; decided: boolean; choices: Choices }) {
  if (decided) return <State state="landed" word={text.solved} />;
  const done = choices.of(one.file.path).filter(Boolean).length;
  return <State state="conflict" word={one.open > 0 ? text.decided(done, one.open) : text.open} />;
}
