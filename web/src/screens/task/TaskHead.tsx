// Which task, how it stands, its attempts and figures, and what can be done with it.

import { useMemo } from "react";
import { Link, useLocation } from "wouter";
import type { Attempt, Need } from "../../api/types";
import { dollars, duration, tokens } from "../../lib/format";
import { type Key, useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { refuse } from "../../lib/messages";
import { totals } from "../../lib/patch";
import { Button } from "../../parts/Button";
import { useOffered } from "../../parts/Palette";
import { Glyph, State } from "../../parts/State";
import { type StateName, words } from "../../words";
import { taskWords as runWords } from "../../words/runTasks";
import { taskWords } from "../../words/task";
import * as inbox from "../inbox/acts";
import { PrioritySelect } from "../run/PrioritySelect";
import { dependentsOf } from "../run/taskActs";
import * as acts from "./actions";
import { costOf } from "./events";
import type { TaskPart } from "./Task";

const text = taskWords;

export function TaskHead({
  part,
  attempts,
  need,
  project,
}: {
  part: TaskPart;
  attempts: Attempt[];
  need: Need | null;
  project: string | null;
}) {
  const { task } = part;
  const word =
    need && task.state === "needs" ? `${words.states.needs}: ${words.kinds[need.kind] ?? need.kind}` : undefined;
  return (
    <header className="task-head">
      <div className="row wrap">
        <h1>{task.id}</h1>
        <State
          state={task.state as StateName}
          word={word}
          phase={task.state === "running" ? task.phase : null}
          filled
        />
        {task.name !== task.id && <span className="dim cut">{task.name}</span>}
        <span className="grow" />
        <Actions part={part} need={need} project={project} />
      </div>
      <div className="row wrap task-facts">
        <Attempts part={part} attempts={attempts} />
        <Facts part={part} project={project} />
      </div>
    </header>
  );
}

function stateOf(attempt: Attempt, newest: boolean, part: TaskPart): StateName {
  if (newest && part.task.state !== "running") return part.task.state as StateName;
  if (!attempt.end) return newest ? "running" : "pending";
  return attempt.end === "succeeded" ? "completed" : attempt.end === "failed" ? "failed" : "cancelled";
}

function Attempts({ part, attempts }: { part: TaskPart; attempts: Attempt[] }) {
  if (attempts.length === 0) return null;
  const newest = attempts.at(-1)?.attempt;
  return (
    <nav className="segments" aria-label={text.attempts}>
      {attempts.map((one) => {
        const took = one.to_ms == null ? null : one.to_ms - one.from_ms;
        const cost = costOf(part.events, one.attempt);
        const state = stateOf(one, one.attempt === newest, part);
        return (
          <Link
            key={one.attempt}
            href={part.here({ attempt: one.attempt === newest ? undefined : one.attempt })}
            aria-current={one.attempt === part.attempt ? "true" : undefined}
          >
            <span className="state" data-state={state} title={one.end ? (text.ends[one.end] ?? one.end) : text.atWork}>
              <Glyph state={state} />
            </span>
            {text.attempt(one.attempt)}
            <span className="faint">
              {took === null ? text.atWork : duration(took)}
              {cost !== null && ` · ${dollars(cost)}`}
            </span>
          </Link>
        );
      })}
    </nav>
  );
}

function lastTool(part: TaskPart): string | null {
  const live = part.status?.running.find((one) => one.task === part.task.id)?.last_tool;
  const noted = part.detail?.last_tool;
  return live ?? (noted ? `${noted.tool} ${noted.what}` : null);
}

function Facts({ part, project }: { part: TaskPart; project: string | null }) {
  const { run, task, detail, diff } = part;
  const forbidden = useForbidden(project);
  const tool = lastTool(part);
  const counted = diff.value ? totals(diff.value.files) : null;
  const added = counted?.added ?? task.added;
  const removed = counted?.removed ?? task.removed;
  const cap = detail?.max_cost_usd;
  const written = detail?.output_tokens ?? 0;
  const isCommand = detail !== null && detail.kind !== "prompt";
  return (
    <dl className="inline-facts">
      <div>
        <dt>{text.agent}</dt>
        <dd>{isCommand ? text.command : [task.agent, task.model].filter(Boolean).join(", ") || words.none}</dd>
      </div>
      {detail?.cloud && (
        <div>
          <dt>{text.cloud}</dt>
          <dd>{detail.cloud}</dd>
        </div>
      )}
      {!isCommand && (
        <div>
          <dt>{text.cost}</dt>
          <dd>
            {dollars(task.cost_usd)}
            {cap != null && ` ${words.of} ${dollars(cap)}`}
          </dd>
        </div>
      )}
      {added != null && (
        <div>
          <dt>{text.lines}</dt>
          <dd>
            <span className="plus">+{added}</span> <span className="minus">−{removed ?? 0}</span>
          </dd>
        </div>
      )}
      {task.tokens > 0 && (
        <div>
          <dt>{text.tokens}</dt>
          <dd>{written > 0 ? text.tokensOf(tokens(task.tokens - written), tokens(written)) : tokens(task.tokens)}</dd>
        </div>
      )}
      <div>
        <dt>{runWords.panel.priority}</dt>
        <dd>
          <PrioritySelect run={run} task={task} forbidden={forbidden} />
        </dd>
      </div>
      {tool && (
        <div>
          <dt>{runWords.panel.tool}</dt>
          <dd className="cut" title={tool}>
            <code>{tool}</code>
          </dd>
        </div>
      )}
      {task.attempts > 0 && (
        <div>
          <dt>{text.worked}</dt>
          <dd>{duration(task.worked_ms)}</dd>
        </div>
      )}
    </dl>
  );
}

function Actions({ part, need, project }: { part: TaskPart; need: Need | null; project: string | null }) {
  const { run, task, detail, live } = part;
  const held = useMemo(() => dependentsOf(task.id, live.tasks).all, [task.id, live.tasks]);
  const [, go] = useLocation();
  const role = useForbidden(project);
  const may = {
    retry: role ?? acts.may.retry(task),
    skip: role ?? acts.may.skip(task),
    cancel: role ?? acts.may.cancel(task),
    send: role ?? acts.may.send(task, detail?.kind),
  };
  const doing = (why: string | null, act: () => Promise<void>) => (why ? refuse(why) : act().catch(refuse));
  const asks = need && ["permission", "question", "follow_up", "recovery"].includes(need.kind) ? need : null;
  const keys: Key[] = [
    { keys: "R", label: words.keys.retry, act: () => doing(may.retry, () => acts.retryTask(run, task)) },
    { keys: "S", label: words.keys.skip, act: () => doing(may.skip, () => acts.skipTask(run, task)) },
    { keys: "x", label: taskWords.keys.cancel, act: () => doing(may.cancel, () => acts.cancelTask(run, task, held)) },
    asks
      ? { keys: "s", label: words.keys.send, act: () => doing(role, () => inbox.answer(asks)) }
      : { keys: "s", label: taskWords.keys.send, act: () => doing(may.send, () => acts.sendWords(run, task)) },
  ];
  if (asks) {
    if (asks.kind !== "question")
      keys.push({ keys: "a", label: words.keys.allow, act: () => doing(role, () => inbox.allow(asks)) });
    keys.push({ keys: "D", label: words.keys.deny, act: () => doing(role, () => inbox.deny(asks)) });
  }
  useKeys(keys);
  useOffered([
    {
      icon: "runs",
      text: `${text.acts.retry} ${task.id}`,
      kind: words.palette.do,
      act: () => doing(may.retry, () => acts.retryTask(run, task)),
    },
    {
      icon: "runs",
      text: `${text.acts.skip} ${task.id}`,
      kind: words.palette.do,
      act: () => doing(may.skip, () => acts.skipTask(run, task)),
    },
    {
      icon: "runs",
      text: `${words.keys.cancel} ${task.id}`,
      kind: words.palette.do,
      act: () => doing(may.cancel, () => acts.cancelTask(run, task, held)),
    },
  ]);
  const name = encodeURIComponent(task.id);
  return (
    <div className="actions">
      {task.phase === "review" && (
        <Button kind="primary" local act={() => go(`/runs/${run}/review/${name}`)}>
          {text.acts.review}
        </Button>
      )}
      {task.state === "conflict" && (
        <Button kind="primary" local act={() => go(`/runs/${run}/conflicts/${name}`)}>
          {text.acts.resolve}
        </Button>
      )}
      <Button hint={asks ? undefined : "s"} forbidden={may.send} act={() => acts.sendWords(run, task)}>
        {text.acts.send}
      </Button>
      <Button hint="R" forbidden={may.retry} act={() => acts.retryTask(run, task)}>
        {text.acts.retry}
      </Button>
      <Button hint="S" forbidden={may.skip} act={() => acts.skipTask(run, task)}>
        {text.acts.skip}
      </Button>
      <Button kind="danger" hint="x" forbidden={may.cancel} act={() => acts.cancelTask(run, task, held)}>
        {text.acts.cancel}
      </Button>
    </div>
  );
}
