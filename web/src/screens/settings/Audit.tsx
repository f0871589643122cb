// What was done by whom, page by page.

import { useState } from "react";
import { get } from "../../api/http";
import { exactly } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { usePlace } from "../../lib/place";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { settings } from "../../words/settings";
import type { Entry } from "./shapes";

const text = settings.audit;
const PAGE = 100;

async function page(signal?: AbortSignal, cursor?: number): Promise<{ entries: Entry[]; next: number | null }> {
  const answer = await get<"GET /api/audit">("/api/audit", { limit: PAGE, cursor }, signal);
  return { entries: answer.entries as unknown as Entry[], next: answer.next_cursor ?? null };
}

export function Audit() {
  const [read, write] = usePlace();
  const forbidden = useForbidden(null, "admin");
  const [older, setOlder] = useState<{ entries: Entry[]; next: number | null } | null>(null);
  const looked = useLooked(forbidden ? null : "audit", (signal) => page(signal), undefined, 5000);
  const filter = read("filter").toLowerCase();
  const newest = looked.value?.entries ?? [];
  const last = newest.at(-1)?.id ?? Number.POSITIVE_INFINITY;
  const all = [...newest, ...(older?.entries.filter((one) => one.id < last) ?? [])];
  const fits = (one: Entry) =>
    `${one.who} ${one.by} ${one.from} ${one.method} ${one.path} ${one.status} ${one.detail}`
      .toLowerCase()
      .includes(filter);
  const shown = all.filter(fits);
  const next = older ? older.next : (looked.value?.next ?? null);
  const more = async () => {
    const found = await page(undefined, next ?? undefined);
    setOlder({ entries: [...(older?.entries ?? []), ...found.entries], next: found.next });
  };
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">{settings.tabs.audit}</h1>
        <input
          className="input fit"
          aria-label={settings.filter}
          placeholder={settings.filter}
          value={read("filter")}
          onChange={(event) => write({ filter: event.target.value })}
        />
      </div>
      <p className="small dim">{forbidden ?? text.help}</p>
      <Refused error={looked.refusal} />
      {looked.value && all.length === 0 && <p className="empty dim">{text.empty}</p>}
      {all.length > 0 && shown.length === 0 && <p className="dim">{text.nothing}</p>}
      {shown.length > 0 && (
        <table className="lines">
          <thead>
            <tr>
              <th>{text.result}</th>
              <th>{text.what}</th>
              <th>{text.who}</th>
              <th>{text.by}</th>
              <th>{text.when}</th>
            </tr>
          </thead>
          <tbody>
            {shown.map((one) => (
              <tr key={one.id} title={exactly(one.at)}>
                <td>
                  <State
                    state={one.status < 400 ? "completed" : "failed"}
                    word={`${one.status < 400 ? text.done : text.refused} ${one.status}`}
                  />
                </td>
                <td>
                  <span className="mono">
                    {one.method} {one.path}
                  </span>{" "}
                  <span className="small faint">{one.detail}</span>
                </td>
                <td className="strong">{one.who || settings.noRole}</td>
                <td className="dim">
                  {one.by} {one.from}
                </td>
                <td className="faint">
                  <Ago time={one.at} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {next !== null && (
        <div>
          <Button act={more}>{text.more}</Button>
        </div>
      )}
    </>
  );
}
