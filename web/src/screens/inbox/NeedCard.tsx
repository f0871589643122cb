import { Link, useLocation } from "wouter";
import type { Need } from "../../api/types";
import { at, dollars, fileName } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { Button } from "../../parts/Button";
import { State } from "../../parts/State";
import { Ago, Until } from "../../parts/Time";
import { type StateName, words } from "../../words";
import * as acts from "./acts";
import type { Card } from "./alike";

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

export const taskAddress = (need: Need, tab = ""): string =>
  need.task ? `/runs/${need.run}/tasks/${encodeURIComponent(need.task)}${tab}` : `/runs/${need.run}`;

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
        {need.task && (
          <>
            <dt>{text.soFar}</dt>
            <dd>
              {dollars(need.cost_usd)} ·{" "}
              <Link className="link" href={taskAddress(need)}>
                {text.openTask}
              </Link>
            </dd>
          </>
        )}
      </dl>
    </div>
  );
}

export function NeedActions({ card, need, keys }: { card: Card; need: Need; keys: boolean }) {
  const [, go] = useLocation();
  const forbidden = useForbidden(need.project);
  const hint = (key: string) => (keys ? key : undefined);
  const open = (tab = "") => go(taskAddress(need, tab));
  switch (need.kind) {
    case "permission":
    case "question":
      return (
        <div className="actions">
          {need.kind === "permission" ? (
            <Button kind="primary" hint={hint("a")} forbidden={forbidden} act={() => acts.allow(need)}>
              {text.allow}
            </Button>
          ) : (
            <Button kind="primary" hint={hint("s")} forbidden={forbidden} act={() => acts.answer(need)}>
              {text.answer}
            </Button>
          )}
          <Button hint={hint("D")} forbidden={forbidden} act={() => acts.deny(need)}>
            {text.deny}
          </Button>
          {need.kind === "permission" && (
            <Button kind="quiet" hint={hint("s")} forbidden={forbidden} act={() => acts.answer(need)}>
              {text.denyWith}
            </Button>
          )}
        </div>
      );
    case "follow_up":
    case "recovery":
      return (
        <div className="actions">
          <Button kind="primary" hint={hint("a")} forbidden={forbidden} act={() => acts.allow(need)}>
            {need.kind === "recovery" ? text.tryAgain : text.doIt}
          </Button>
          <Button hint={hint("D")} forbidden={forbidden} act={() => acts.deny(need)}>
            {text.leaveIt}
          </Button>
        </div>
      );
    case "review":
      return (
        <div className="actions">
          <Button kind="primary" hint={hint("a")} forbidden={forbidden} act={() => acts.approve(need)}>
            {text.approve}
          </Button>
          <Button hint={hint("s")} forbidden={forbidden} act={() => acts.sendBack(need)}>
            {text.sendBack}
          </Button>
          <Button kind="danger" forbidden={forbidden} act={() => acts.drop(need)}>
            {text.drop}
          </Button>
          <Button
            kind="quiet"
            hint={hint("d")}
            act={() => go(`/runs/${need.run}/review/${encodeURIComponent(need.task ?? "")}`)}
          >
            {text.diff}
          </Button>
        </div>
      );
    case "conflict":
      return (
        <div className="actions">
          <Button
            kind="primary"
            hint={hint("Enter")}
            act={() => go(`/runs/${need.run}/conflicts/${encodeURIComponent(need.task ?? "")}`)}
          >
            {text.resolve}
          </Button>
          <Button hint={hint("R")} forbidden={forbidden} act={() => acts.retry(card.needs)}>
            {text.giveBack}
          </Button>
          <Button kind="quiet" act={() => open()}>
            {text.open}
          </Button>
        </div>
      );
    case "budget":
    case "left":
      return (
        <div className="actions">
          {need.kind === "budget" ? (
            <Button kind="primary" forbidden={forbidden} act={() => acts.raiseCap(need)}>
              {text.raise}
            </Button>
          ) : (
            <Button kind="primary" hint={hint("R")} forbidden={forbidden} act={() => acts.resume(need)}>
              {text.resume}
            </Button>
          )}
          <Button kind="danger" forbidden={forbidden} act={() => acts.cancelRest(need)}>
            {text.end}
          </Button>
          <Button kind="quiet" hint={hint("Enter")} act={() => open()}>
            {text.open}
          </Button>
        </div>
      );
    case "parked":
      return <p className="grow">{need.words}</p>;
    default:
      return (
        <div className="actions">
          <Button kind="primary" hint={hint("R")} forbidden={forbidden} act={() => acts.retry(card.needs)}>
            {card.needs.length > 1 ? text.retryAll(card.needs.length) : text.retry}
          </Button>
          <Button kind="quiet" hint={hint("Enter")} act={() => open()}>
            {text.open}
          </Button>
        </div>
      );
  }
}
