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

/** Why this user may not do something in a project, or null. */
export function useForbidden(project: string | null | undefined, needed: RoleName = "operator"): string | null {
  const who = useStore(me);
  const { away } = useStore(connection);
  if (away !== null) return words.connection.actionAway;
  if (who.known !== "yes") return null;
  const roles = (who.me.roles ?? {}) as Record<string, string>;
  const role = (project && roles[project]) || roles["*"] || who.me.role || null;
  if (role && ROLES.indexOf(role as RoleName) >= ROLES.indexOf(needed)) return null;
  return words.refused.role(needed, role ?? words.none);
}
