// What a project has taught: its items, how each did, and whether tasks go better with them.

import { useParams } from "wouter";
import { Top } from "../../app";
import { count, dollars, duration } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { Button } from "../../parts/Button";
import { askUser } from "../../parts/Dialog";
import { Segments } from "../../parts/Fields";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { board } from "../../words/board";
import { expertise as text } from "../../words/expertise";
import {
  type Arm,
  addItem,
  changeItem,
  type Interval,
  type Item,
  improve,
  restoreItem,
  resume,
  retireItem,
  type Stats,
  useEvidence,
  useItems,
  useStats,
} from "./data";
import { Evidence } from "./Evidence";

export function Expertise() {
  const { project = "" } = useParams<{ project: string }>();
  const [read, write] = usePlace();
  const items = useItems(project);
  const stats = useStats(project);
  const evidence = useEvidence(project);
  const forbidden = useForbidden(project, "admin");
  const again = () => {
    items.again();
    stats.again();
  };
  const show = read("show") === "all" ? "all" : "given";
  const shown = (items.value ?? []).filter((item) => show === "all" || item.given);
  const add = async () => {
    const claim = await askUser({
      title: text.askAdd,
      detail: text.addDetail,
      input: { kind: "words" },
      ok: text.addOk,
    });
    if (claim === null) return;
    const { id } = await addItem(project, claim.trim());
    say(text.added(id));
    again();
  };
  const look = async () => {
    const yes = await askUser({ title: text.askImprove, detail: text.improveDetail, ok: text.improveOk });
    if (yes === null) return;
    const found = await improve(project);
    say(text.improved(found.items - found.findings.filter((one) => one.goes).length, found.items));
    again();
  };
  return (
    <>
      <Top
        crumbs={[[board.projects, "/projects"], [project, `/projects/${encodeURIComponent(project)}`], [text.title]]}
      />
      <div className="page stack expertise">
        <div className="row wrap">
          <h1 className="grow">{text.title}</h1>
          <Segments
            label={text.show}
            value={show}
            set={(value) => write({ show: value === "all" ? value : null })}
            options={[
              ["given", text.given],
              ["all", text.all],
            ]}
          />
          <Button forbidden={forbidden} act={look}>
            {text.improve}
          </Button>
          <Button kind="primary" forbidden={forbidden} act={add}>
            {text.add}
          </Button>
        </div>
        <p className="dim">{text.about}</p>
        <Refused error={items.refusal ?? stats.refusal ?? evidence.refusal} />
        {stats.value && <Helps project={project} stats={stats.value} again={again} forbidden={forbidden} />}
        {items.value && shown.length === 0 && (
          <section className="empty">
            <h2>{text.empty}</h2>
            <p className="dim">{text.emptyHelp}</p>
          </section>
        )}
        {shown.length > 0 && (
          <table className="lines">
            <thead>
              <tr>
                <th>{text.heads.state}</th>
                <th>{text.heads.claim}</th>
                <th>{text.heads.used}</th>
                <th>{text.heads.gain}</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {shown.map((item) => (
                <Row key={item.id} project={project} item={item} again={again} forbidden={forbidden} />
              ))}
            </tbody>
          </table>
        )}
        {evidence.value && <Evidence all={evidence.value} />}
      </div>
    </>
  );
}

interface Acts {
  project: string;
  again: () => void;
  forbidden: string | null;
}

function Row({ project, item, again, forbidden }: Acts & { item: Item }) {
  const retired = item.retired !== undefined && item.retired !== null;
  const edit = async () => {
    const claim = await askUser({
      title: text.askEdit(item.id),
      input: { kind: "words", value: item.claim },
      ok: text.editOk,
    });
    if (claim === null || claim.trim() === item.claim) return;
    await changeItem(project, item.id, claim.trim());
    say(text.edited(item.id));
    again();
  };
  const turn = async () => {
    await (retired ? restoreItem : retireItem)(project, item.id);
    say(retired ? text.restored(item.id) : text.retired(item.id));
    again();
  };
  return (
    <tr>
      <td>
        {retired ? (
          <State state="cancelled" word={text.states.retired} />
        ) : item.given ? (
          <State state="completed" word={text.states.given} />
        ) : (
          <State state="pending" word={text.states.seldom} />
        )}
      </td>
      <td>
        {item.claim}
        <div className="small faint">
          {[
            item.id,
            item.domain,
            text.kinds[item.kind] ?? item.kind,
            (item.scope ?? [text.everywhere]).join(", "),
          ].join(" · ")}
        </div>
      </td>
      <td className="dim">{item.tally.used > 0 ? text.first(item.tally.helpful, item.tally.used) : count(0)}</td>
      <td className="dim">{points(item.gain)}</td>
      <td>
        <Button kind="quiet" forbidden={forbidden} act={edit}>
          {text.edit}
        </Button>
        <Button kind="quiet" forbidden={forbidden} act={turn}>
          {retired ? text.restore : text.retire}
        </Button>
      </td>
    </tr>
  );
}

const signed = (value: number, digits: number) => `${value < 0 ? "\u2212" : "+"}${Math.abs(value).toFixed(digits)}`;

/** A difference of shares, in percentage points. */
function points(gain: Interval | null): string {
  if (!gain) return text.unmeasured;
  const [estimate, low, high] = [gain.estimate, gain.low, gain.high].map((one) => signed(one * 100, 0));
  return text.points(estimate ?? "", low ?? "", high ?? "");
}

function amount(more: Interval | null, unit: string): string {
  if (!more) return text.unmeasured;
  return `${signed(more.estimate, 2)} (${signed(more.low, 2)} … ${signed(more.high, 2)}) ${unit}`;
}

function Helps({ project, stats, again, forbidden }: Acts & { stats: Stats }) {
  const { comparison: all, paused } = stats;
  const share = (arm: Arm, good: number) => (arm.tasks > 0 ? `${Math.round((100 * good) / arm.tasks)} %` : "\u2013");
  const mean = (spread: { count: number; sum: number }) => (spread.count > 0 ? spread.sum / spread.count : null);
  const seconds = (spread: { count: number; sum: number }) => {
    const value = mean(spread);
    return value === null ? "\u2013" : duration(value * 1000);
  };
  const goOn = async () => {
    await resume(project);
    say(text.resumed);
    again();
  };
  const rows: [string, string, string, string][] = [
    [text.rows.tasks, count(all.with.tasks), count(all.without.tasks), ""],
    [text.rows.landed, share(all.with, all.with.landed), share(all.without, all.without.landed), points(all.landed)],
    [
      text.rows.first_go,
      share(all.with, all.with.first_go),
      share(all.without, all.without.first_go),
      points(all.first_go),
    ],
    [text.rows.cost, dollars(mean(all.with.cost)), dollars(mean(all.without.cost)), amount(all.cost, "$")],
    [text.rows.time, seconds(all.with.time), seconds(all.without.time), amount(all.time, "s")],
  ];
  return (
    <section className="stack">
      {paused && (
        <div className="row wrap" role="status">
          <State state="needs" word={text.pausedBy(text.paused[paused.by] ?? paused.by)} />
          <Button forbidden={forbidden} act={goOn}>
            {text.resume}
          </Button>
        </div>
      )}
      <h2>{text.comparison}</h2>
      <table className="lines">
        <thead>
          <tr>
            <th />
            <th>{text.with}</th>
            <th>{text.without}</th>
            <th>{text.difference}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, one, other, difference]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{one}</td>
              <td>{other}</td>
              <td className="dim">{difference}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
