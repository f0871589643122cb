// The effective configuration of a project, with the origin of every value.

import { get } from "../../api/http";
import { fileName } from "../../lib/format";
import { usePlace } from "../../lib/place";
import { useLooked } from "../../live/query";
import { Segments } from "../../parts/Fields";
import { Refused } from "../../parts/Messages";
import { words } from "../../words";
import { settings } from "../../words/settings";
import { useChosenProject } from "./parts";
import type { Setting } from "./shapes";

const text = settings.config;

function origin({ from }: Setting): string {
  if (from.by === "built_in") return text.builtIn;
  if (!from.name) return from.by;
  return `${fileName(from.name)}${from.line ? `:${from.line}` : ""}`;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return text.none;
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function Config() {
  const [read, write] = usePlace();
  const { project, chooser } = useChosenProject();
  const looked = useLooked(
    project && `config-${project}`,
    async (signal) =>
      (
        (await get<"GET /api/projects/{project}/config">(
          "/api/projects/{project}/config",
          { project: project ?? "" },
          signal,
        )) as unknown as { settings: Setting[] }
      ).settings,
  );
  const [filter, show] = [read("filter"), read("show") === "changed" ? "changed" : "all"];
  const rows = (looked.value ?? []).filter(
    (one) => one.key.includes(filter) && (show === "all" || one.from.by !== "built_in"),
  );
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">{settings.tabs.config}</h1>
        {chooser}
        <input
          className="input fit"
          aria-label={settings.filter}
          placeholder={settings.filter}
          value={filter}
          onChange={(event) => write({ filter: event.target.value })}
        />
        <Segments
          label={text.show}
          value={show}
          set={(value) => write({ show: value === "changed" ? value : null })}
          options={[
            ["all", text.all],
            ["changed", text.changed],
          ]}
        />
      </div>
      <p className="small dim">{text.help}</p>
      <Refused error={looked.refusal} />
      {project && (
        <table className="lines">
          <thead>
            <tr>
              <th>{text.key}</th>
              <th>{text.value}</th>
              <th>{text.from}</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((one) => (
              <tr key={one.key}>
                <td className="mono">{one.key}</td>
                <td className={one.from.by === "built_in" ? "dim" : "strong"}>{shown(one.value)}</td>
                <td className="faint" title={one.from.name}>
                  {origin(one)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {looked.value && rows.length === 0 && <p className="dim">{words.table.nothing}</p>}
      <code className="small faint">{text.command}</code>
    </>
  );
}
