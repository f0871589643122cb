// What estimates, the choice of models and the overlap of tasks rest on, with the runs that say so.

import type { ReactNode } from "react";
import { Link } from "wouter";
import { count, duration } from "../../lib/format";
import { evidence as text } from "../../words/evidence";
import type { Advice, Evidence as All, Item, ModelOf, TimesOf, Touched } from "./data";

export function Evidence({ all }: { all: All }) {
  const parts = [all.times, all.models, all.together, all.touched];
  if (parts.every((part) => part.length === 0)) return null;
  return (
    <section className="stack">
      <h2>{text.title}</h2>
      <p className="dim">{text.about}</p>
      <Part title={text.times} heads={text.heads.times} rows={all.times.map(timesRow)} />
      <Part title={text.models} heads={text.heads.models} rows={all.models.map(modelRow)} />
      {all.advice.length > 0 && (
        <ul>
          {all.advice.map((one) => (
            <li key={`${one.agent} ${one.kind} ${one.instead_of}`}>{advised(one)}</li>
          ))}
        </ul>
      )}
      <Part title={text.together} heads={text.heads.together} rows={all.together.map(togetherRow)} />
      <Part title={text.touched} heads={text.heads.touched} rows={all.touched.map(touchedRow)} />
    </section>
  );
}

type Row = [key: string, ...cells: ReactNode[]];

/** A table; nothing where there is nothing to show. */
function Part({ title, heads, rows }: { title: string; heads: string[]; rows: Row[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <table className="lines">
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head}>{head}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([key, ...cells]) => (
            <tr key={key}>
              {cells.map((cell, place) => (
                <td key={heads[place]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function runs(ids: string[]): ReactNode {
  return ids.map((id) => (
    <Link key={id} href={`/runs/${encodeURIComponent(id)}`}>
      {id}{" "}
    </Link>
  ));
}

function timesRow(one: TimesOf): Row {
  const like = one.command ?? text.like(one.size ?? "", one.kind ?? text.anyKind);
  const by = [one.agent, one.model].filter(Boolean).join(" ") || "\u2013";
  const range = text.range(duration(one.low_ms), duration(one.high_ms));
  return [`${like} ${by}`, like, by, count(one.tasks), duration(one.median_ms), range, runs(one.runs)];
}

function modelRow(one: ModelOf): Row {
  const who = `${one.agent} ${one.model}`;
  const kind = one.kind ?? text.anyKind;
  return [`${who} ${kind}`, who, kind, text.good(one.good, one.all), runs(one.runs)];
}

const advised = (one: Advice) => text.advice(one.agent, one.kind ?? text.anyKind, one.instead_of, one.why);

function togetherRow(one: Item): Row {
  const from = (one.evidence ?? []).map((evidence) => evidence.run);
  return [one.id, one.claim, count(one.seen ?? 0), runs([...new Set(from)])];
}

function touchedRow(one: Touched): Row {
  return [one.task, one.task, one.files.join(", "), runs([one.run])];
}
