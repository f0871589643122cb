// The first step: words for a planner, the file as it is, or issues.

import { useState } from "react";
import { Link } from "wouter";
import { address, get, send } from "../../api/http";
import { dollars, tokens } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { remember, remembered } from "../../lib/settings";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { TextField, TextLines } from "../../parts/Fields";
import { State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { newrun as text } from "../../words/newrun";
import { asAmount } from "../board/form";
import { type Job, plan } from "./data";

interface WordsProps {
  project: string;
  job: Job | null;
  follow: (job: string) => void;
}

export function Words({ project, job, follow }: WordsProps) {
  const [words, setWords] = useState(remembered(`words.${project}`, ""));
  const [agent, setAgent] = useState("");
  const [model, setModel] = useState("");
  const [cap, setCap] = useState("2");
  const forbidden = useForbidden(project);
  const begin = async () => {
    remember(`words.${project}`, words);
    const wanted = { requirements: words, max_cost: asAmount(cap), agent: agent.trim() || undefined };
    const begun = await plan(project, { ...wanted, model: model.trim() || undefined });
    follow(begun.job);
  };
  const isRunning = job?.state === "running";
  return (
    <div className="stack">
      <TextLines label={text.say} value={words} set={setWords} rows={9} placeholder={text.sayHelp} />
      <div className="form-grid">
        <TextField label={text.planner} value={agent} set={setAgent} placeholder={text.plannerHelp} />
        <TextField label={text.model} value={model} set={setModel} />
      </div>
      <TextField label={text.cap} kind="decimal" value={cap} set={setCap} required />
      <div className="actions">
        <Button kind={job ? undefined : "primary"} forbidden={forbidden} act={begin}>
          {job && !isRunning ? text.planAgain : text.plan}
        </Button>
      </div>
      {job && <Planner job={job} />}
      <Earlier project={project} follow={follow} />
      <p className="small faint">
        {text.shell} <code>{text.shellCommand}</code>
      </p>
    </div>
  );
}

/** How far the planner is, what it says and what it cost. */
function Planner({ job }: { job: Job }) {
  const { result } = job;
  const cost = result && (result.usage.cost_usd ?? null);
  return (
    <section className="card" aria-live="polite" data-job={job.state}>
      <div className="body">
        {job.state === "running" && (
          <>
            <State state="running" word={text.planning} />
            <p className="small faint">{text.planningNote}</p>
          </>
        )}
        {job.state === "failed" && <State state="failed" word={text.failed} />}
        {result && <State state="completed" word={text.planned(dollars(cost), tokens(result.usage.tokens))} />}
        {result?.analysis?.reasoning && <p className="small dim">{result.analysis.reasoning}</p>}
        {result?.plan.notes && (
          <p className="small dim">
            {text.notes}: {result.plan.notes}
          </p>
        )}
        {result?.told?.map((one) => (
          <p key={one} className="small dim">
            {one}
          </p>
        ))}
        {job.words && (
          <pre className="code" tabIndex={0} role="region" aria-label={text.planner}>
            {job.words}
          </pre>
        )}
        {job.state === "failed" && <p className="small faint">{text.failedNote}</p>}
      </div>
    </section>
  );
}

function Earlier({ project, follow }: { project: string; follow: (job: string) => void }) {
  const looked = useLooked(
    `jobs-${project}`,
    async (signal) =>
      (await get<"GET /api/projects/{project}/jobs">("/api/projects/{project}/jobs", { project }, signal))
        .jobs as unknown as { job: string; kind: string; state: string; created_at: string }[],
    undefined,
    10_000,
  );
  const plans = (looked.value ?? []).filter((one) => one.kind === "plan").slice(0, 4);
  if (plans.length === 0) return null;
  return (
    <div>
      <h3>{text.earlier}</h3>
      <div className="rows">
        {plans.map((one) => (
          <span key={one.job}>
            <button type="button" className="link" onClick={() => follow(one.job)}>
              {one.job}
            </button>
            <span className="grow" />
            <span className="small faint">
              {one.state} · <Ago time={one.created_at} />
            </span>
          </span>
        ))}
      </div>
    </div>
  );
}

export function FromFile({ project }: { project: string }) {
  return (
    <div className="stack">
      <p className="dim">{text.fileHelp}</p>
      <Link className="link" href={`/projects/${encodeURIComponent(project)}`}>
        {text.editOnBoard}
      </Link>
    </div>
  );
}

export function Beads({ project, again }: { project: string; again: () => void }) {
  const [file, setFile] = useState("tasks.yaml");
  const [force, setForce] = useState(false);
  const forbidden = useForbidden(project, "admin");
  const bring = async () => {
    await send("POST", address("/api/projects/{project}/import/beads", { project }), { output: file, force });
    say(text.beadsDone(file));
    again();
  };
  return (
    <div className="stack">
      <p className="dim">{text.beadsHelp}</p>
      <TextField label={text.beadsFile} value={file} set={setFile} mono />
      <label className="check">
        <input type="checkbox" checked={force} onChange={(event) => setForce(event.target.checked)} />
        {text.beadsForce}
      </label>
      <div className="actions">
        <Button forbidden={forbidden} act={bring}>
          {text.beads}
        </Button>
      </div>
    </div>
  );
}
