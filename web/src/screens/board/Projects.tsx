// The projects: which there are, and how the newest run of each stands.

import { useState } from "react";
import { Link, useLocation } from "wouter";
import { address, get, send } from "../../api/http";
import type { Project, ProjectAnswer } from "../../api/types";
import { Top } from "../../app";
import { dollars, fileName } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { useForbidden } from "../../lib/me";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { Refused } from "../../parts/Messages";
import { useOffered } from "../../parts/Palette";
import { Bar, told } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { words } from "../../words";
import { board } from "../../words/board";
import { useProject } from "./data";

export function Projects() {
  const [adding, setAdding] = useState(false);
  const forbidden = useForbidden(null, "admin");
  const projects = useLooked(
    "project-list",
    async (signal) => (await get<"GET /api/projects">("/api/projects", {}, signal)).projects,
    () => false,
    10_000,
  );
  const add = () => !forbidden && setAdding(true);
  useKeys([{ keys: "n", label: board.add, act: add }]);
  useOffered([{ icon: "plus", text: board.add, kind: words.palette.do, act: add }]);
  return (
    <>
      <Top crumbs={[[board.projects]]} />
      <div className="page stack">
        <div className="row wrap">
          <h1 className="grow">{board.projects}</h1>
          <Button hint="n" forbidden={forbidden} act={() => setAdding(true)}>
            {board.add}
          </Button>
        </div>
        <Refused error={projects.refusal} />
        {projects.value?.length === 0 && (
          <section className="empty">
            <h2>{board.empty}</h2>
            <p className="dim">{board.emptyHelp}</p>
            <pre className="code">{board.emptyCommand}</pre>
          </section>
        )}
        <div className="stack">
          {projects.value?.map((project) => (
            <OneProject key={project.id} project={project} again={projects.again} />
          ))}
        </div>
      </div>
      {adding && <AddProject close={() => setAdding(false)} again={projects.again} />}
    </>
  );
}

function OneProject({ project, again }: { project: Project; again: () => void }) {
  const forbidden = useForbidden(null, "admin");
  const looked = useProject(project.id);
  const runs = useLooked(
    `newest-${project.id}`,
    async (signal) =>
      (
        await get<"GET /api/projects/{project}/runs">(
          "/api/projects/{project}/runs",
          { project: project.id, limit: 1, figures: true },
          signal,
        )
      ).runs[0] ?? null,
    () => true,
  );
  const run = runs.value;
  const forget = async () => {
    if (!(await confirmed(board.askForget(project.name), board.forgetNow))) return;
    await send("DELETE", address("/api/projects/{project}", { project: project.id }));
    again();
  };
  return (
    <article className="card project" aria-label={project.name}>
      <div className="body">
        <div className="row wrap">
          <Link href={`/projects/${encodeURIComponent(project.id)}`}>
            <b>{project.name}</b>
          </Link>
          <span className="small faint cut grow" title={project.file}>
            {project.directory} · {fileName(project.file)}
            {looked.value?.tasks != null && ` · ${board.tasks(looked.value.tasks)}`}
          </span>
          <Button kind="danger" forbidden={forbidden} act={forget}>
            {board.forget}
          </Button>
        </div>
        {looked.value?.file_error && (
          <div className="refusal" role="alert">
            <b>{looked.value.file_error}</b>
          </div>
        )}
        {run?.figures ? (
          <Link className="newest" href={`/runs/${run.run}`}>
            <Bar shown={run.figures.shown} thin />
            <span className="small faint">
              {run.run} · {told(run.figures.shown)} · {dollars(run.figures.cost_usd)} · <Ago time={run.created_at} />
            </span>
          </Link>
        ) : (
          <span className="small faint">{board.noRun}</span>
        )}
      </div>
    </article>
  );
}

function AddProject({ close, again }: { close: () => void; again: () => void }) {
  const [directory, setDirectory] = useState("");
  const [file, setFile] = useState("");
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const [, go] = useLocation();
  const submit = async () => {
    const given = { directory: directory.trim(), file: file.trim(), id: id.trim(), name: name.trim() };
    const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value));
    const made = await send<ProjectAnswer>("POST", "/api/projects", body);
    again();
    go(`/projects/${encodeURIComponent(made.id)}`);
  };
  return (
    <FormDialog title={board.addTitle} detail={board.addHelp} ok={board.add} submit={submit} close={close}>
      <TextField
        label={board.directory}
        help={board.directoryHelp}
        value={directory}
        set={setDirectory}
        required
        wide
        mono
      />
      <TextField label={board.file} help={board.fileHelp} value={file} set={setFile} wide mono />
      <TextField label={board.id} help={board.idHelp} value={id} set={setId} />
      <TextField label={board.name} help={board.nameHelp} value={name} set={setName} />
    </FormDialog>
  );
}
