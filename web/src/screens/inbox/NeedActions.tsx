// The ways out of a need, the likeliest first.

import { useLocation } from "wouter";
import type { Need } from "../../api/types";
import { useForbidden } from "../../lib/me";
import { Button } from "../../parts/Button";
import { words } from "../../words";
import * as acts from "./acts";
import type { Card } from "./alike";
import { taskAddress } from "./places";

const text = words.inbox;

interface Props {
  card: Card;
  need: Need;
  /** Whether keys act on it: then they are printed. */
  keys: boolean;
}

export function NeedActions({ card, need, keys }: Props) {
  const forbidden = useForbidden(need.project);
  const hint = (key: string) => (keys ? key : undefined);
  const given = { card, need, forbidden, hint };
  switch (need.kind) {
    case "permission":
    case "question":
      return <Asked {...given} />;
    case "follow_up":
    case "recovery":
      return <Proposed {...given} />;
    case "review":
      return <Reviewed {...given} />;
    case "budget":
    case "left":
      return <Left {...given} />;
    case "parked":
      return <p className="grow">{need.words}</p>;
    default:
      return <Failed {...given} />;
  }
}

interface Given {
  card: Card;
  need: Need;
  forbidden: string | null;
  hint: (key: string) => string | undefined;
}

function Open({ need, hint }: Given) {
  const [, go] = useLocation();
  return (
    <Button
      kind="quiet"
      local
      hint={need.kind === "conflict" ? undefined : hint("Enter")}
      act={() => go(taskAddress(need))}
    >
      {text.open}
    </Button>
  );
}

function Asked({ need, forbidden, hint }: Given) {
  const isPermission = need.kind === "permission";
  return (
    <div className="actions">
      {isPermission ? (
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
      {isPermission && (
        <Button kind="quiet" hint={hint("s")} forbidden={forbidden} act={() => acts.answer(need)}>
          {text.denyWith}
        </Button>
      )}
      <Button kind="danger" hint={hint("S")} forbidden={forbidden} act={() => acts.skip(need)}>
        {text.skip}
      </Button>
    </div>
  );
}

function Proposed({ need, forbidden, hint }: Given) {
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
}

function Reviewed({ need, forbidden, hint }: Given) {
  const [, go] = useLocation();
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
        local
        hint={hint("d")}
        act={() => go(`/runs/${need.run}/review/${encodeURIComponent(need.task ?? "")}`)}
      >
        {text.diff}
      </Button>
    </div>
  );
}

function Left(given: Given) {
  const { need, forbidden, hint } = given;
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
      <Open {...given} />
    </div>
  );
}

/** Also what no provider let in, and what conflicts. */
function Failed(given: Given) {
  const { card, need, forbidden, hint } = given;
  const [, go] = useLocation();
  const isConflict = need.kind === "conflict";
  const again = isConflict
    ? text.giveBack
    : need.task === null
      ? text.resume
      : card.needs.length > 1
        ? text.retryAll(card.needs.length)
        : text.retry;
  return (
    <div className="actions">
      {isConflict && (
        <Button
          kind="primary"
          local
          hint={hint("Enter")}
          act={() => go(`/runs/${need.run}/conflicts/${encodeURIComponent(need.task ?? "")}`)}
        >
          {text.resolve}
        </Button>
      )}
      <Button
        kind={isConflict ? undefined : "primary"}
        hint={hint("R")}
        forbidden={forbidden}
        act={() => acts.retry(card.needs)}
      >
        {again}
      </Button>
      {!isConflict && need.task !== null && need.agent && (
        <Button forbidden={forbidden} act={() => acts.retryWith(card.needs)}>
          {words.retrying.withAnother}
        </Button>
      )}
      <Open {...given} />
    </div>
  );
}
