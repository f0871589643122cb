// What can be done to a whole run.

import { useLocation } from "wouter";
import { address, send } from "../../api/http";
import type { RunTask, StatusAnswer } from "../../api/types";
import { useKeys } from "../../lib/keys";
import { refuse, say } from "../../lib/messages";
import { Button } from "../../parts/Button";
import { askUser } from "../../parts/Dialog";
import { useOffered } from "../../parts/Palette";
import { words } from "../../words";
import { runWords } from "../../words/run";
import { taskWords } from "../../words/runTasks";
import { cancelGroup, openGroups } from "./cancelGroup";

const text = runWords.steer;
const mod = navigator.platform.startsWith("Mac") ? "⌘" : "Ctrl ";

export const branchOf = (run: string): string => `conductor/${run}`;

export async function resumeRun(run: string, retryFailed = false): Promise<void> {
  await send("POST", address("/api/runs/{run}/resume", { run }), retryFailed ? { retry_failed: true } : {});
  say(text.goesOn);
}

function ofRun(status: StatusAnswer) {
  const to = (what: string) => address(`/api/runs/{run}/${what}`, { run: status.run });
  const { running, needs, pending, waiting, landed, completed } = status.shown;
  return {
    pause: async () => {
      await send("POST", to("pause"));
      say(text.paused);
    },
    goOn: () => send("POST", to("continue")),
    resume: (retryFailed: boolean) => resumeRun(status.run, retryFailed),
    stop: async () => {
      const sure = await askUser({
        title: text.stopTitle,
        detail: text.stopDetail(running),
        ok: text.stopOk,
        danger: true,
      });
      if (sure === null) return;
      await send("POST", to("stop"));
      say(text.stopped);
    },
    cancel: async () => {
      const detail = (
        <ul className="plain">
          {running > 0 && <li>{text.cancelRunning(running)}</li>}
          {needs + pending + waiting > 0 && <li>{text.cancelWaiting(needs + pending + waiting)}</li>}
          <li>{text.cancelKeeps(landed + completed, branchOf(status.run))}</li>
        </ul>
      );
      const sure = await askUser({ title: text.cancelTitle, detail, ok: text.cancelOk, danger: true });
      if (sure !== null) await send("POST", to("cancel"));
    },
  };
}

interface Props {
  status: StatusAnswer;
  tasks: RunTask[];
  forbidden: string | null;
}

export function Steering({ status, tasks, forbidden }: Props) {
  const [, go] = useLocation();
  const acts = ofRun(status);
  const isOver = !status.live && !status.can_be_resumed;
  const isPaused = status.state === "paused";
  const notLive = forbidden ?? (isOver ? text.isOver : status.live ? null : text.isLeft);
  const hasFailed = status.shown.failed + status.shown.conflict + status.shown.skipped + status.shown.cancelled > 0;
  const review = () =>
    status.reviews[0] !== undefined && go(`/runs/${status.run}/review/${encodeURIComponent(status.reviews[0])}`);
  const report = address("/api/runs/{run}/report", { run: status.run });
  const unless = (why: string | null, act: () => unknown) => async () => {
    if (why) return refuse(why);
    try {
      await act();
    } catch (error) {
      refuse(error);
    }
  };
  const pauseOrGoOn = unless(notLive, isPaused ? acts.goOn : acts.pause);
  const cancel = unless(forbidden ?? (isOver ? text.isOver : null), acts.cancel);
  const stop = unless(notLive, acts.stop);
  useKeys([
    { keys: "p", label: words.keys.pause, act: pauseOrGoOn },
    { keys: "X", label: runWords.keys.cancelRun, act: cancel },
    { keys: "mod+.", label: runWords.keys.stop, act: stop },
    { keys: "v", label: runWords.keys.review, act: review },
  ]);
  const does = words.palette.do;
  useOffered([
    ...(status.live
      ? [
          { icon: "runs", text: isPaused ? text.goOn : text.pause, kind: does, act: pauseOrGoOn } as const,
          { icon: "close", text: runWords.keys.stop, kind: does, act: stop } as const,
        ]
      : []),
    ...(isOver ? [] : [{ icon: "close", text: runWords.keys.cancelRun, kind: does, act: cancel } as const]),
    ...(isOver ? [] : openGroups(tasks)).map((group) => ({
      icon: "close" as const,
      text: taskWords.group.cancelOf(group.name),
      kind: does,
      act: unless(forbidden, () => cancelGroup(status.run, group, tasks)),
    })),
    { icon: "runs", text: runWords.keys.report, kind: does, act: () => window.open(report, "_blank", "noopener") },
  ]);
  return (
    <div className="actions">
      {status.live && (
        <>
          <Button
            hint="p"
            forbidden={forbidden}
            act={isPaused ? acts.goOn : acts.pause}
            kind={isPaused ? "primary" : undefined}
          >
            {isPaused ? text.goOn : text.pause}
          </Button>
          <Button hint={`${mod}.`} forbidden={forbidden} act={acts.stop}>
            {text.stop}
          </Button>
        </>
      )}
      {status.can_be_resumed && (
        <Button kind="primary" forbidden={forbidden} act={() => acts.resume(false)}>
          {text.resume}
        </Button>
      )}
      {isOver && hasFailed && (
        <Button kind="primary" forbidden={forbidden} act={() => acts.resume(true)}>
          {text.resumeRetry}
        </Button>
      )}
      {!isOver && (
        <Button kind="danger" hint="X" forbidden={forbidden} act={acts.cancel}>
          {text.cancel}
        </Button>
      )}
      <a className="button quiet" href={report} target="_blank" rel="noopener">
        {text.report}
      </a>
      {status.reviews.length > 0 && (
        <Button kind={isPaused ? undefined : "primary"} local hint="v" act={review}>
          {text.review(status.reviews.length)}
        </Button>
      )}
    </div>
  );
}
