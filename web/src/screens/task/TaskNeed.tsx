// What the task needs of the user, and what happens otherwise.

import type { Need } from "../../api/types";
import { State } from "../../parts/State";
import { words } from "../../words";
import { NeedCard, stateOf } from "../inbox/NeedCard";

/** Kinds that are answered right here; the others have their buttons in the head. */
const ASKS = new Set(["permission", "question", "follow_up", "recovery"]);

export function TaskNeed({ need, evident }: { need: Need; evident: boolean }) {
  if (ASKS.has(need.kind))
    return <NeedCard card={{ key: need.task ?? "", needs: [need] }} selected select={() => {}} />;
  const state = stateOf[need.kind] ?? "needs";
  return (
    <article className="task-need" data-state={state} aria-label={words.kinds[need.kind]}>
      <p>
        <State state={state} word={words.kinds[need.kind] ?? need.kind} /> {need.words}
      </p>
      {evident && need.evidence && (
        <pre tabIndex={0} role="region" aria-label={words.kinds[need.kind]}>
          {need.evidence}
        </pre>
      )}
      <p className="otherwise">
        {words.inbox.otherwise} {need.otherwise}.
      </p>
    </article>
  );
}
