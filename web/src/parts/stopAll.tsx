// Everything that is live is stopped by one word, wherever the user is.

import { address, get, send } from "../api/http";
import type { Listed } from "../api/types";
import { fileName } from "../lib/format";
import { refuse, say } from "../lib/messages";
import { words } from "../words";
import { askUser } from "./Dialog";

const text = words.stopAll;

/** However many have begun since. */
async function liveRuns(): Promise<Listed[]> {
  const live: Listed[] = [];
  let cursor: string | undefined;
  do {
    const page = await get<"GET /api/runs">("/api/runs", { limit: 100, cursor });
    live.push(...page.runs.filter((run) => run.live));
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
  return live;
}

/** How many are at work in it; one that has just ended has none. */
async function atWork({ run }: Listed): Promise<number> {
  return (await get<"GET /api/runs/{run}">("/api/runs/{run}", { run })).shown.running;
}

export async function stopAll(): Promise<void> {
  const live = await liveRuns();
  if (live.length === 0) {
    say(text.none);
    return;
  }
  const working = await Promise.all(live.map(atWork));
  const detail = (
    <>
      <ul className="plain">
        {live.map((run, place) => (
          <li key={run.run}>
            <b>{fileName(run.source)}</b> <span className="mono">{run.run}</span>: {text.lost(working[place] ?? 0)}
          </li>
        ))}
      </ul>
      <p>{text.kept}</p>
    </>
  );
  const sure = await askUser({ title: text.title(live.length), detail, ok: text.ok, danger: true });
  if (sure === null) return;
  const stops = live.map(({ run }) => send("POST", address("/api/runs/{run}/stop", { run })));
  const done = await Promise.allSettled(stops);
  done.forEach((one, place) => {
    if (one.status === "rejected")
      refuse(text.failed(live[place]?.run ?? "", String(one.reason?.message ?? one.reason)));
  });
  const stopped = done.filter((one) => one.status === "fulfilled").length;
  if (stopped > 0) say(text.stopped(stopped));
}
