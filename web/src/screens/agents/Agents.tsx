// Agents and workers: what is installed, who is at work, how each fared, what the doctor says.

import { Link } from "wouter";
import { send } from "../../api/http";
import { Top } from "../../app";
import { count, dollars, duration } from "../../lib/format";
import { useForbiddenAnywhere } from "../../lib/me";
import { refuse, say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { Button } from "../../parts/Button";
import { askUser } from "../../parts/Dialog";
import { Segments } from "../../parts/Fields";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { Until } from "../../parts/Time";
import { words } from "../../words";
import { agents as text } from "../../words/agents";
import { type Agent, type AtWork, useAgents, useAtWork, useDoctor, useFared } from "./data";

export function Agents() {
  const [read, write] = usePlace();
  const looked = useAgents();
  const work = useAtWork();
  const all = looked.value ?? [];
  const installed = all.filter((one) => one.path !== null);
  const show = read("show") === "all" || (looked.value && installed.length === 0) ? "all" : "installed";
  const shown = show === "all" ? all : installed;
  return (
    <>
      <Top crumbs={[[text.title]]} />
      <div className="page stack agents">
        <div className="row wrap">
          <h1 className="grow">{text.title}</h1>
          <Segments
            label={text.show}
            value={show}
            set={(value) => write({ show: value === "all" ? value : null })}
            options={[
              ["installed", text.hideMissing],
              ["all", text.showAll],
            ]}
          />
        </div>
        <Refused error={looked.refusal} />
        {looked.value && installed.length === 0 && (
          <section className="empty">
            <h2>{text.empty}</h2>
            <p className="dim">{text.emptyHelp}</p>
            <pre className="code">{text.emptyCommand}</pre>
          </section>
        )}
        {shown.length > 0 && (
          <table className="lines agent-lines">
            <thead>
              <tr>
                <th>{text.state}</th>
                <th>{text.agent}</th>
                <th>{text.inUse}</th>
                <th>{text.can}</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {shown.map((agent) => (
                <Row key={agent.name} agent={agent} work={work.value} />
              ))}
            </tbody>
          </table>
        )}
        <div className="agent-below">
          <Models />
          <Doctor />
        </div>
      </div>
    </>
  );
}

/** Of `POST /api/agents/test`. */
interface Tested {
  results: { agent: string; verdict: string; seconds: number; cost_usd: number | null; message?: string | null }[];
}

function Row({ agent, work }: { agent: Agent; work: AtWork | null }) {
  const forbidden = useForbiddenAnywhere();
  const used = work?.used.get(agent.name) ?? [];
  const parked = work?.parked.find((one) => one.agent === agent.name);
  const can = Object.keys(text.abilities).filter((name) => agent.abilities[name]);
  const cannot = Object.keys(text.abilities).filter((name) => !agent.abilities[name]);
  const named = (names: string[]) => names.map((name) => text.abilities[name]).join(", ");
  const test = async () => {
    const yes = await askUser({ title: text.askTest(agent.name), detail: text.testDetail, ok: text.testNow });
    if (yes === null) return;
    say(text.testing(agent.name));
    const { results } = await send<{ results: Tested["results"] }>("POST", "/api/agents/test", { name: agent.name });
    for (const one of results) {
      if (one.verdict === "works") say(text.passed(agent.name, duration(one.seconds * 1000), dollars(one.cost_usd)));
      else refuse(text.failed(agent.name, one.message ?? one.verdict));
    }
  };
  return (
    <tr>
      <td>
        {parked ? (
          <State state="waiting" word={text.parked} phase={null} />
        ) : agent.path === null ? (
          <State state="cancelled" word={text.notInstalled} />
        ) : used.length > 0 ? (
          <State state="running" word={text.slots(used.length)} />
        ) : agent.login === "no" ? (
          <State state="needs" word={text.login.no} />
        ) : (
          <State state="completed" word={text.installed} />
        )}
      </td>
      <td>
        <span className="strong">{agent.name}</span>{" "}
        <span className="faint">{text.kinds[agent.kind] ?? agent.kind}</span>
        <div className="small faint" title={agent.path ?? undefined}>
          {agent.path === null
            ? agent.program
            : [
                agent.version ?? text.versionUnknown,
                text.login[agent.login] ?? agent.login,
                agent.login_by && text.by(agent.login_by),
              ]
                .filter(Boolean)
                .join(" · ")}
        </div>
      </td>
      <td className="dim">
        {parked && (
          <>
            {text.back} <Until time={parked.until} />{" "}
          </>
        )}
        {used.length === 0
          ? !parked && text.idle
          : used.slice(0, 4).map((one, place) => (
              <span key={`${one.run} ${one.task}`}>
                {place > 0 && ", "}
                <Link href={`/runs/${one.run}/tasks/${encodeURIComponent(one.task)}`}>{one.task}</Link>
              </span>
            ))}
      </td>
      <td className="small dim">
        {named(can) || words.none}
        {cannot.length > 0 && (
          <div className="faint">
            {text.cannot}: {named(cannot)}
          </div>
        )}
      </td>
      <td>
        {agent.path !== null && (
          <Button forbidden={forbidden} act={test}>
            {text.test}
          </Button>
        )}
      </td>
    </tr>
  );
}

function Models() {
  const looked = useFared();
  return (
    <section className="card" aria-label={text.models}>
      <header>
        <h2>{text.models}</h2>
      </header>
      <Refused error={looked.refusal} />
      {looked.value?.length === 0 && <p className="body small dim">{text.modelsEmpty}</p>}
      {looked.value && looked.value.length > 0 && (
        <div className="scroller" tabIndex={0} role="region" aria-label={text.models}>
          <table className="cost-lines">
            <thead>
              <tr>
                <th>{text.model}</th>
                <th className="num">{text.tasks}</th>
                <th className="num">{text.landed}</th>
                <th className="num">{text.failedTasks}</th>
                <th className="num">{text.first}</th>
                <th className="num">{text.worked}</th>
                <th className="num">{text.cost}</th>
              </tr>
            </thead>
            <tbody>
              {looked.value.map((one) => (
                <tr key={`${one.agent} ${one.model}`}>
                  <td>
                    {one.agent} <span className="faint">{one.model ?? text.defaultModel}</span>
                  </td>
                  <td className="num">{count(one.tasks)}</td>
                  <td className="num">{count(one.completed)}</td>
                  <td className="num">{count(one.failed)}</td>
                  {/* An attempt that is still at work is counted, too: before the first has ended nothing is said. */}
                  <td className="num">
                    {one.attempts > 0
                      ? `${Math.round((one.succeeded_attempts / one.attempts) * 100)} %`
                      : words.unknown}
                  </td>
                  <td className="num">{duration(one.worked_ms)}</td>
                  <td className="num">{one.tokens === 0 ? words.unknown : dollars(one.cost_usd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

function Doctor() {
  const looked = useDoctor();
  const rank = (level: string) => (level === "ok" ? 2 : level === "warning" ? 1 : 0);
  const findings = [...(looked.value?.findings ?? [])].sort((a, b) => rank(a.level) - rank(b.level));
  return (
    <section className="card" aria-label={text.doctor}>
      <header>
        <h2 className="grow">{text.doctor}</h2>
        <Button act={looked.again}>{text.again}</Button>
      </header>
      <div className="body">
        <Refused error={looked.refusal} />
        {looked.value && <p className="small dim">{looked.value.healthy ? text.healthy : text.unhealthy}</p>}
        <ul className="findings">
          {findings.map((one) => (
            <li key={one.check}>
              <State
                state={one.level === "ok" ? "completed" : one.level === "warning" ? "needs" : "failed"}
                word={one.check}
              />
              <span className="small dim">{one.told}</span>
              {one.remedy && (
                <span className="small">
                  {text.remedy} {one.remedy}
                </span>
              )}
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}
