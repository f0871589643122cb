// The conversation with the agent, turn by turn: only what is visible is drawn.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { useKeys } from "../../lib/keys";
import { remember, remembered } from "../../lib/settings";
import { Refused } from "../../parts/Messages";
import { taskWords } from "../../words/task";
import { ConversationRow } from "./ConversationRow";
import { type Conversation, useConversation, useRows } from "./conversation";
import { LogTab } from "./LogTab";
import type { TaskPart } from "./Task";

const text = taskWords.conversation;

export function ConversationTab(part: TaskPart) {
  const atWork = part.task.state === "running" && part.attempt === part.task.attempts;
  const heard = useConversation(part.run, part.task.id, part.attempt, atWork, part.status?.seq ?? 0);
  if (part.attempt === null) return <p className="dim">{taskWords.noAttempt}</p>;
  if (heard.absent) {
    return (
      <>
        <p className="small faint">{text.asLog}</p>
        <LogTab {...part} />
      </>
    );
  }
  if (!heard.value) return <Refused error={heard.refusal} />;
  return <Turns heard={heard.value} attempt={part.attempt} />;
}

function Turns({ heard, attempt }: { heard: Conversation; attempt: number }) {
  const { all, wrong, tools } = useRows(heard.turns);
  const [folded, setFolded] = useState(remembered("fold", "yes") === "yes");
  const [error, setError] = useState(-1);
  const list = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    if (list.current) setMargin(list.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const drawn = useWindowVirtualizer({
    count: all.length,
    estimateSize: (at) => (all[at]?.turn.kind === "tool" ? 33 : 64),
    overscan: 12,
    scrollMargin: margin,
    getItemKey: (at) => all[at]?.turn.number ?? at,
  });
  useFollowing(heard.atWork, all.length);
  const next = () => {
    if (wrong.length === 0) return;
    const now = (error + 1) % wrong.length;
    setError(now);
    drawn.scrollToIndex(wrong[now] ?? 0, { align: "center" });
  };
  useKeys([{ keys: "e", label: taskWords.keys.nextError, act: next }]);
  return (
    <section className="stack" aria-label={text.label}>
      <div className="row wrap small">
        <span className="dim">{text.count(all.length - tools, tools)}</span>
        {wrong.length > 0 && (
          <button type="button" className="link" onClick={next}>
            {text.nextError} <kbd>e</kbd>
          </button>
        )}
        {wrong.length > 0 && (
          <span className="faint">{error < 0 ? text.errors(wrong.length) : text.errorOf(error + 1, wrong.length)}</span>
        )}
        <span className="grow" />
        <label className="row">
          <input
            type="checkbox"
            checked={folded}
            onChange={(event) => {
              setFolded(event.target.checked);
              remember("fold", event.target.checked ? "yes" : "no");
            }}
          />
          {text.fold}
        </label>
      </div>
      {heard.leftOut > 0 && <p className="small faint">{text.turnsLeftOut(heard.leftOut)}</p>}
      {all.length === 0 && <p className="dim">{text.nothing}</p>}
      <div ref={list} className="drawn" style={{ height: drawn.getTotalSize() }}>
        {drawn.getVirtualItems().map((item) => {
          const row = all[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={drawn.measureElement}
                data-index={item.index}
                className="drawn-row"
                style={{ transform: `translateY(${item.start - margin}px)` }}
              >
                <ConversationRow
                  row={row}
                  agent={heard.agent}
                  attempt={attempt}
                  folded={folded}
                  found={wrong[error] === item.index}
                  atWork={heard.atWork}
                />
              </div>
            )
          );
        })}
      </div>
      {heard.skipped > 0 && <p className="small faint">{text.skipped(heard.skipped)}</p>}
    </section>
  );
}

/** Who stands at the end stays there while more comes. */
function useFollowing(atWork: boolean, count: number): void {
  const atEnd = useRef(true);
  useEffect(() => {
    const look = () => {
      const left = document.documentElement.scrollHeight - window.scrollY - window.innerHeight;
      atEnd.current = left < 80;
    };
    window.addEventListener("scroll", look, { passive: true });
    return () => window.removeEventListener("scroll", look);
  }, []);
  const before = useRef(count);
  useEffect(() => {
    if (atWork && atEnd.current && count > before.current && before.current > 0)
      window.scrollTo({ top: document.documentElement.scrollHeight });
    before.current = count;
  }, [atWork, count]);
}
