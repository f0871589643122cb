// Who looks, and what that user may do where.

import { get, Refusal } from "../api/http";
import type { MeAnswer } from "../api/types";
import { connection } from "../live/hub";
import { words } from "../words";
import { Store, useStore } from "./store";

export type Me = { known: "asking" | "no" } | { known: "yes"; me: MeAnswer };

export const me = new Store<Me>({ known: "asking" });

export async function lookWhoIAm(): Promise<void> {
  try {
    me.set({ known: "yes", me: await get<"GET /api/me">("/api/me") });
  } catch (error) {
    if (error instanceof Refusal && error.status === 401) me.set({ known: "no" });
    else setTimeout(lookWhoIAm, 1000);
  }
}

export const ROLES = ["viewer", "operator", "admin"] as const;
export type RoleName = (typeof ROLES)[number];

type Reach = "somewhere" | "everywhere" | { project: string };

function useRefusal(reach: Reach, needed: RoleName): string | null {
  const who = useStore(me);
  const { away } = useStore(connection);
  if (away !== null) return words.connection.actionAway;
  if (who.known !== "yes") return null;
  const roles = (who.me.roles ?? {}) as Record<string, string>;
  const project = typeof reach === "object" ? roles[reach.project] : undefined;
  const role = (reach === "somewhere" ? who.me.role : project) ?? roles["*"] ?? null;
  if (role && ROLES.indexOf(role as RoleName) >= ROLES.indexOf(needed)) return null;
  return reach === "everywhere" && role === null && who.me.role
    ? words.refused.everywhere(needed)
    : words.refused.role(needed, role ?? words.none);
}

/** Why this user may not do something in a project, or in what belongs to none; else null. */
export const useForbidden = (project: string | null | undefined, needed: RoleName = "operator"): string | null =>
  useRefusal(project ? { project } : "everywhere", needed);

/** Why this user may not do what takes a role in some project, or null. */
export const useForbiddenAnywhere = (needed: RoleName = "operator"): string | null => useRefusal("somewhere", needed);
