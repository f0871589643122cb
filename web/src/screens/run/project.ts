// Which project a run belongs to, since roles are given by project.

import { get } from "../../api/http";
import { useForbidden } from "../../lib/me";
import { useLooked } from "../../live/query";

export interface ProjectName {
  id: string;
  name: string;
}

export function useProjectOf(directory: string | undefined): ProjectName | null {
  const projects = useLooked(
    "projects",
    async (signal) => (await get<"GET /api/projects">("/api/projects", {}, signal)).projects,
    undefined,
    60_000,
  );
  if (!directory) return null;
  const inside = (folder: string) => directory === folder || directory.startsWith(`${folder}/`);
  const found = (projects.value ?? []).filter((project) => inside(project.directory));
  return found.sort((a, b) => b.directory.length - a.directory.length)[0] ?? null;
}

/** Why this user may not steer the run, or null. */
export function useMaySteer(directory: string | undefined): string | null {
  return useForbidden(useProjectOf(directory)?.id);
}
