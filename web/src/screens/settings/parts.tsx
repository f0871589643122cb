// What several tabs of the settings have: a secret that is told once, and a project that is chosen.

import { useEffect, useRef } from "react";
import { get } from "../../api/http";
import type { Project } from "../../api/types";
import { copy } from "../../lib/clipboard";
import { refuse, say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { type Looked, useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { settings as text } from "../../words/settings";

interface SecretProps {
  title: string;
  secret: string;
  detail?: string;
  close: () => void;
}

export function Secret({ title, secret, detail, close }: SecretProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const take = () =>
    copy(secret)
      .then(() => say(text.copied))
      .catch(refuse);
  return (
    <dialog ref={dialog} className="form-dialog" aria-labelledby="secret-title" onCancel={close}>
      <div className="body">
        <h2 id="secret-title">{title}</h2>
        <p className="dim">{text.once}</p>
        <pre className="code" data-secret>
          {secret}
        </pre>
        {detail && <p className="small faint">{detail}</p>}
      </div>
      <footer className="actions">
        <Button kind="primary" local act={take}>
          {text.copy}
        </Button>
        <Button kind="quiet" local act={close}>
          {text.done}
        </Button>
      </footer>
    </dialog>
  );
}

export function useProjects(): Looked<Project[]> {
  return useLooked(
    "settings-projects",
    async (signal) => (await get<"GET /api/projects">("/api/projects", {}, signal)).projects,
  );
}

/** The project that a tab is about: in the address, else the first. */
export function useChosenProject(): { projects: Project[] | null; project: string | null; chooser: React.ReactNode } {
  const [read, write] = usePlace();
  const projects = useProjects().value;
  const project = projects?.find((one) => one.id === read("project"))?.id ?? projects?.[0]?.id ?? null;
  const chooser =
    projects?.length === 0 ? (
      <section className="empty">
        <p>{text.noProject}</p>
        <pre className="code">{text.noProjectCommand}</pre>
      </section>
    ) : (
      <label className="row small dim">
        {text.project}
        <select
          className="input fit"
          value={project ?? ""}
          onChange={(event) => write({ project: event.target.value })}
        >
          {projects?.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </label>
    );
  return { projects, project, chooser };
}

export const ROLE_OPTIONS = [
  ["viewer", text.roles.viewer],
  ["operator", text.roles.operator],
  ["admin", text.roles.admin],
] as const;
