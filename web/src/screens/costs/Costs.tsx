// What has been spent, on what, and what is not known of it.

import { useMemo } from "react";
import { get } from "../../api/http";
import { Top } from "../../app";
import { csv, download } from "../../lib/clipboard";
import { dollars } from "../../lib/format";
import { usePlace } from "../../lib/place";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Segments } from "../../parts/Fields";
import { Refused } from "../../parts/Messages";
import { useOffered } from "../../parts/Palette";
import { words } from "../../words";
import { costs as text } from "../../words/costs";
import { BYS, type Forecasts, type Range, type Spent, sum, useForecasts, useSpent } from "./data";
import { costOf, Spending } from "./Spending";

const RANGES: Range[] = ["7", "30", "90", "all"];

export function Costs() {
  const [read, write] = usePlace();
  const by = BYS.find((one) => one === read("by")) ?? "model";
  const range = RANGES.find((one) => one === read("range")) ?? "30";
  const chosen = read("project");
  const projects = useLooked(
    "cost-projects",
    async (signal) => (await get<"GET /api/projects">("/api/projects", {}, signal)).projects,
  );
  const meant = useMemo(
    () => projects.value?.filter((one) => !chosen || one.id === chosen) ?? null,
    [projects.value, chosen],
  );
  const looked = useSpent(meant, by, range);
  const forecasts = useForecasts(meant);
  const spent = looked.value;
  const save = () => {
    const rows = (spent?.lines ?? []).map((line) => [
      line.key ?? text.none,
      line.kind,
      line.attempts,
      line.untold_attempts,
      line.turns,
      line.tokens,
      line.unpriced_tokens,
      line.known_cost_usd,
      line.cost_usd,
    ]);
    download(`costs-by-${by}.csv`, "text/csv", csv([[by, ...text.csvHead], ...rows]));
  };
  useOffered([
    { icon: "costs", text: text.export, kind: words.palette.do, act: save },
    ...BYS.map((one) => ({
      icon: "costs" as const,
      text: text.bys[one],
      kind: words.palette.do,
      act: () => write({ by: one }),
    })),
  ]);
  return (
    <>
      <Top crumbs={[[text.title]]} />
      <div className="page stack costs">
        <div className="row wrap">
          <h1>{text.title}</h1>
          <Segments
            label={text.range}
            value={range}
            set={(value) => write({ range: value })}
            options={RANGES.map((one) => [one, text.ranges[one]] as const)}
          />
          <select
            className="input fit"
            aria-label={text.project}
            value={chosen}
            onChange={(event) => write({ project: event.target.value })}
          >
            <option value="">{text.allProjects}</option>
            {projects.value?.map((project) => (
              <option key={project.id} value={project.id}>
                {project.name}
              </option>
            ))}
          </select>
          <span className="grow" />
          <Button act={save}>{text.export}</Button>
          <code className="small faint">
            {text.command} {by === "project" ? "run" : by}
          </code>
        </div>
        <Refused error={projects.refusal ?? looked.refusal} />
        {spent && spent.total.attempts === 0 && spent.total.tokens === 0 ? (
          <section className="empty">
            <h2>{text.empty}</h2>
            <p className="dim">{text.emptyHelp}</p>
            <pre className="code">{text.emptyCommand}</pre>
          </section>
        ) : (
          spent && (
            <>
              <Figures spent={spent} range={range} forecast={forecasts.value} />
              <Spending spent={spent} by={by} range={range} setBy={(value) => write({ by: value })} />
            </>
          )
        )}
      </div>
    </>
  );
}

/** A range; what is not known is not taken for nothing. */
function foreseen({ low, high, unknown, files }: Forecasts): string {
  if (files === 0 || (high === 0 && unknown > 0)) return words.unknown;
  const range = low === high ? dollars(low) : `${dollars(low)}–${dollars(high)}`;
  return unknown > 0 ? `${text.atLeast} ${range}` : range;
}

interface FiguresProps {
  spent: Spent;
  range: Range;
  forecast: Forecasts | null;
}

function Figures({ spent, range, forecast }: FiguresProps) {
  const today = new Date().toISOString().slice(0, 10);
  const now = sum(spent.days.flatMap((one) => one.lines).filter((line) => line.key === today));
  const { total, landed } = spent;
  const per = landed > 0 && total.known_cost_usd > 0 ? total.known_cost_usd / landed : null;
  return (
    <div className="cost-figures">
      <div>
        <span className="label">{text.today}</span>
        <span className="value">{costOf(now)}</span>
      </div>
      <div>
        <span className="label">{range === "all" ? text.ranges.all : text.ranges[range]}</span>
        <span className="value" data-total>
          {costOf(total)} <small>{text.attempts(total.attempts)}</small>
        </span>
      </div>
      <div>
        <span className="label">
          {text.forecast} <i>{words.estimate}</i>
        </span>
        <span className="value">
          {forecast ? foreseen(forecast) : words.unknown}{" "}
          <small>{forecast && forecast.unknown > 0 ? text.forecastUnknown(forecast.unknown) : text.forecastHelp}</small>
        </span>
      </div>
      <div>
        <span className="label">{text.perLanded}</span>
        <span className="value">
          {per === null ? words.unknown : `${total.cost_usd == null ? `${text.atLeast} ` : ""}${dollars(per)}`}{" "}
          <small>{text.landed(landed)}</small>
        </span>
      </div>
    </div>
  );
}
