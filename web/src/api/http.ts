// Requests to the server, and what it refuses, with the reason and the remedy that it gives.

import type { Answers, Problem } from "./types";

export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly help: string | null;
  readonly field: string | null;
  /** Each mistake in a task file. */
  readonly errors: { message: string; help?: string | null }[];

  constructor(status: number, problem: Partial<Problem>) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.status = status;
    this.code = problem.code ?? "unknown";
    const meant = problem.did_you_mean ? `Did you mean “${problem.did_you_mean}”?` : null;
    this.help = problem.help ?? meant;
    this.field = problem.field ?? null;
    this.errors = (problem as { errors?: { message: string }[] }).errors ?? [];
  }
}

/** The server cannot be reached at all. */
export class Away extends Error {
  constructor() {
    super("the server cannot be reached");
  }
}

async function refused(response: Response): Promise<Refusal> {
  const problem = await response.json().catch(() => ({}));
  return new Refusal(response.status, problem as Partial<Problem>);
}

export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Away();
  }
  if (!response.ok && response.status !== 304) throw await refused(response);
  return response;
}

type Reads = Extract<keyof Answers, `GET ${string}`>;

/** `get("/api/runs/{run}", { run })`; whatever else is given becomes the query. */
export async function get<R extends Reads>(
  route: R extends `GET ${infer Path}` ? Path : never,
  given: Record<string, string | number | boolean | undefined> = {},
  signal?: AbortSignal,
): Promise<Answers[R]> {
  const response = await ask(address(route, given), { signal });
  return (await response.json()) as Answers[R];
}

export async function getText(path: string, signal?: AbortSignal): Promise<string> {
  return (await ask(path, { signal })).text();
}

export function address(route: string, given: Record<string, string | number | boolean | undefined> = {}): string {
  const rest = { ...given };
  const path = route.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    return encodeURIComponent(String(value));
  });
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

export type Method = "POST" | "PUT" | "PATCH" | "DELETE";

/** Something is to be done. `seen` is the version of a file that the user has looked at. */
export async function send<T = Record<string, unknown>>(
  method: Method,
  path: string,
  body: Record<string, unknown> = {},
  seen?: string,
): Promise<T> {
  const headers: Record<string, string> = { "content-type": "application/json" };
  if (seen) headers["if-match"] = seen;
  const response = await ask(path, { method, headers, body: JSON.stringify(body) });
  if (response.status === 204) return {} as T;
  return (await response.json().catch(() => ({}))) as T;
}
