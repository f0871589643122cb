import { Link } from "wouter";
import type { Need } from "../../api/types";
import { at, dollars, fileName } from "../../lib/format";
import { State } from "../../parts/State";
import { Ago, Until } from "../../parts/Time";
import { type StateName, words } from "../../words";
import type { Card } from "./alike";
import { NeedActions } from "./NeedActions";
import { taskAddress } from "./places";
import { SoFar } from "./SoFar";

const text = words.inbox;

export const stateOf: Record<string, StateName> = {
  permission: "needs",
  question: "needs",
  follow_up: "needs",
  recovery: "failed",
  review: "needs",
  login: "failed",
  conflict: "conflict",
  failed: "failed",
  budget: "needs",
  left: "needs",
  parked: "waiting",
};

/** An agent is at work on these, and waits. */
const ASKS = new Set(["permission", "question"]);

interface Props {
  card: Card;
  selected: boolean;
  select: () => void;
}

export function NeedCard({ card, selected, select }: Props) {
  const need = card.needs[0];
  if (!need) return null;
  const state = stateOf[need.kind] ?? "needs";
  const several = card.needs.length > 1;
  return (
    <article
      className="card"
      id={domId(card)}
      data-selected={selected}
      data-state={state}
      onFocus={select}
      aria-label={`${words.kinds[need.kind]} ${need.task ?? need.run}`}
    >
      <header>
        <State state={state} word={words.kinds[need.kind] ?? need.kind} filled />
        <Link className="cut" href={taskAddress(need)}>
          {several ? (
            <b>{text.alike(card.needs.length, need.words)}</b>
          ) : (
            <>
              <b>{need.task ?? fileName(need.source)}</b>{" "}
              {need.task && need.name && need.name !== need.task && <span className="dim">{need.name}</span>}
            </>
          )}
        </Link>
        <span className="grow" />
        <span className="small faint nowrap">
          {need.project ?? fileName(need.source)} · {need.since ? <Ago time={need.since} /> : need.run}
        </span>
      </header>
      {need.kind !== "parked" && <Body card={card} need={need} />}
      <footer>
        <NeedActions card={card} need={need} keys={selected} />
        <span className="otherwise">
          {text.otherwise}{" "}
          {need.due && (
            <b>
              {text.atTime(at(need.due))}
              <Until time={need.due} />
              {", "}
            </b>
          )}
          {need.otherwise}.
        </span>
      </footer>
    </article>
  );
}

export const domId = (card: Card): string => `need-${card.needs[0]?.run}-${card.needs[0]?.task ?? card.needs[0]?.kind}`;

function Body({ card, need }: { card: Card; need: Need }) {
  const who = [need.agent, need.model].filter(Boolean).join(", ");
  return (
    <div className="body">
      {card.needs.length > 1 ? (
        <p className="small dim">{card.needs.map((one) => one.task).join(", ")}</p>
      ) : (
        <p>{need.words}</p>
      )}
      {need.evidence && (
        <pre className="code" tabIndex={0} role="region" aria-label={words.kinds[need.kind]}>
          {need.evidence}
        </pre>
      )}
      <dl className="facts">
        {who && (
          <>
            <dt>{text.agent}</dt>
            <dd>
              {who}
              {need.attempt ? `, ${text.attempt(need.attempt)}` : ""}
            </dd>
          </>
        )}
        {need.why && (
          <>
            <dt>{text.rule}</dt>
            <dd className="mono">{need.why}</dd>
          </>
        )}
        {need.workspace && (
          <>
            <dt>{text.workspace}</dt>
            <dd className="mono">{need.workspace}</dd>
          </>
        )}
        {need.commit && (
          <>
            <dt>{text.commit}</dt>
            <dd>
              <span className="mono">{need.commit.slice(0, 10)}</span> · {text.files(need.files ?? 0)}{" "}
              <span className="plus">+{need.added ?? 0}</span> <span className="minus">−{need.removed ?? 0}</span>
            </dd>
          </>
        )}
        {need.task && (
          <>
            <dt>{text.soFar}</dt>
            <dd>
              {need.agent ? dollars(need.cost_usd) : words.none} ·{" "}
              <Link className="link" href={taskAddress(need)}>
                {text.openTask}
              </Link>
            </dd>
          </>
        )}
      </dl>
      {ASKS.has(need.kind) && <SoFar need={need} />}
    </div>
  );
}
