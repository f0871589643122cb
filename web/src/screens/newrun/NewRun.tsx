// A new run: say what you want, check the plan, rehearse it, start.

import { useState } from "react";
import { useLocation, useParams } from "wouter";
import { get } from "../../api/http";
import type { Project } from "../../api/types";
import { Top } from "../../app";
import { dollars, fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { refuse, say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Segments } from "../../parts/Fields";
import { Refused } from "../../parts/Messages";
import { board } from "../../words/board";
import { newrun as text } from "../../words/newrun";
import { startRun } from "../board/acts";
import { type FileTasks, useFileTasks } from "../board/data";
import { asked, firstPlan, keepPlan, PlanFields } from "../board/RunForm";
import { Beads, FromFile, Words } from "./Begin";
import { useJob } from "./data";
import { Findings, Open } from "./FileList";
import { Proposal } from "./Proposal";
import { Rehearse } from "./Rehearse";

type From = keyof typeof text.froms;

export function NewRun() {
  const params = useParams<{ project?: string }>();
  const [, go] = useLocation();
  const looked = useLooked(
    "new-projects",
    async (signal) => (await get<"GET /api/projects">("/api/projects", {}, signal)).projects,
  );
  const projects = looked.value;
  const project = projects?.find((one) => one.id === params.project) ?? projects?.[0];
  return (
    <>
      <Top
        crumbs={[...(project ? [[project.name, `/projects/${project.id}`] as [string, string]] : []), [text.title]]}
      />
      <div className="page stack">
        <Refused error={looked.refusal} />
        {projects?.length === 0 && (
          <section className="empty">
            <h1>{board.empty}</h1>
            <p className="dim">{board.emptyHelp}</p>
            <pre className="code">{board.emptyCommand}</pre>
          </section>
        )}
        {project && projects && (
          <>
            <div className="row wrap">
              <h1>{text.title}</h1>
              <select
                className="input fit"
                aria-label={text.project}
                value={project.id}
                onChange={(event) => go(`/new/${encodeURIComponent(event.target.value)}`)}
              >
                {projects.map((one) => (
                  <option key={one.id} value={one.id}>
                    {one.name}
                  </option>
                ))}
              </select>
            </div>
            <Steps key={project.id} project={project} />
          </>
        )}
      </div>
    </>
  );
}

function Steps({ project }: { project: Project }) {
  const [read, write] = usePlace();
  const from = (["words", "file", "beads"].find((one) => one === read("from")) ?? "words") as From;
  const job = useJob(project.id, from === "words" ? read("job") : "");
  const file = useFileTasks(project.id);
  // What the plan put into the file; null: all that is not done.
  const [only, setOnly] = useState<string[] | null>(null);
  const proposed = job.value?.result?.plan.tasks ?? null;
  const isProposal = from === "words" && only === null;
  return (
    <div className="new-run">
      <section className="stack" aria-label={text.say}>
        <Step number={1} name={from === "words" ? text.say : text.from} />
        <Segments
          label={text.from}
          value={from}
          set={(value) => {
            setOnly(null);
            write({ from: value === "words" ? null : value });
          }}
          options={(["words", "file", "beads"] as const).map((one) => [one, text.froms[one]] as const)}
        />
        {from === "words" && (
          <Words
            project={project.id}
            job={job.value}
            follow={(id) => {
              setOnly(null);
              write({ job: id });
            }}
          />
        )}
        {from === "file" && <FromFile project={project.id} />}
        {from === "beads" && <Beads project={project.id} again={file.again} />}
        <Refused error={job.refusal} />
      </section>
      <section className="stack" aria-label={text.check}>
        <Step number={2} name={text.check} note={isProposal && proposed ? text.proposed(proposed.length) : undefined} />
        {isProposal && !proposed && <p className="empty dim">{text.noPlan}</p>}
        {isProposal && proposed && file.value && (
          <Proposal
            key={job.value?.job}
            project={project.id}
            file={project.file}
            known={new Set(file.value.tasks.map((task) => task.id))}
            tasks={proposed}
            added={(ids) => {
              setOnly(ids);
              file.again();
            }}
          />
        )}
        {!isProposal && <Refused error={file.refusal} />}
        {!isProposal && file.value && <Start project={project} file={file.value} first={only} />}
      </section>
      {isProposal && (
        <section className="stack" aria-label={text.rehearse}>
          <Step number={3} name={text.rehearse} />
          <p className="small faint">{text.afterAdding}</p>
        </section>
      )}
    </div>
  );
}

export function Step({ number, name, note }: { number: number; name: string; note?: string }) {
  return (
    <div className="row step">
      <i>{number}</i>
      <h2>{name}</h2>
      {note && <span className="small faint">{note}</span>}
    </div>
  );
}

/** What of the file is to run, how long and how dear it may be, and the start. */
function Start({ project, file, first }: { project: Project; file: FileTasks; first: string[] | null }) {
  const open = file.tasks.filter((task) => !task.done);
  const [out, setOut] = useState<ReadonlySet<string>>(
    () => new Set(first ? open.map((task) => task.id).filter((id) => !first.includes(id)) : []),
  );
  const [plan, setPlan] = useState(firstPlan);
  const [, go] = useLocation();
  const mayRun = useForbidden(project.id);
  const chosen = open.map((task) => task.id).filter((id) => !out.has(id));
  const forbidden = mayRun ?? (chosen.length === 0 ? text.choose : null);
  const start = async () => {
    const only = chosen.length < open.length ? chosen.join(",") : null;
    const begun = await startRun(project.id, asked(plan, only));
    keepPlan(plan);
    say(text.started(begun.run));
    go(`/runs/${begun.run}`);
  };
  useKeys([
    { keys: "mod+Enter", label: text.start, act: () => (forbidden ? refuse(forbidden) : start().catch(refuse)) },
  ]);
  return (
    <>
      <p className="small faint">
        {text.inFile(chosen.length, file.tasks.length)} · {fileName(project.file)}
      </p>
      <Open
        tasks={open}
        out={out}
        toggle={(id) =>
          setOut((before) => {
            const now = new Set(before);
            if (!now.delete(id)) now.add(id);
            return now;
          })
        }
      />
      <Findings project={project.id} version={file.version} />
      <section className="stack last-steps" aria-label={text.rehearse}>
        <Step number={3} name={text.rehearse} note={text.simulated} />
        <Rehearse
          project={project.id}
          version={file.version}
          workers={Number(plan.slots)}
          choose={(workers) => setPlan({ ...plan, slots: String(workers) })}
        />
        <Step number={4} name={text.start} />
        <div className="form-grid">
          <PlanFields plan={plan} set={setPlan} />
        </div>
        <Button kind="primary" hint="Ctrl ↵" forbidden={forbidden} act={start}>
          {text.startNow(chosen.length)}
        </Button>
        <p className="small dim">
          {plan.cap.trim() ? text.lands(dollars(Number(plan.cap.replace("$", "")))) : text.noCap}
          {text.untouched}
        </p>
      </section>
    </>
  );
}
