// Parts of answers that the API's document calls objects.

/** Of `GET /api/users`. */
export interface User {
  name: string;
  disabled: boolean;
  created_at: string;
  grants: { project: string | null; role: string }[];
}

/** Of `GET /api/tokens`. */
export interface Token {
  id: string;
  name: string;
  role: string;
  project: string | null;
  created_at: string;
  revoked: boolean;
  expires_at: string | null;
  used_at: string | null;
}

/** Of `GET /api/projects/{project}/hooks`. */
export interface Hook {
  id: string;
  name: string;
  settings: Record<string, unknown>;
  created_at: string;
  revoked: boolean;
  used_at: string | null;
}

/** Of `GET /api/projects/{project}/webhooks`. */
export interface Webhook {
  id: string;
  url: string;
  events: string[];
  description: string;
  enabled: boolean;
  created_at: string;
}

/** Of `GET /api/projects/{project}/webhooks/{webhook}/deliveries`. */
export interface Delivery {
  id: string;
  event: string;
  run: string | null;
  state: string;
  attempts: number;
  status_code: number | null;
  error: string | null;
  created_at: string;
  next_attempt_at: string | null;
  ended_at: string | null;
}

/** Of `GET /api/audit`. */
export interface Entry {
  id: number;
  at: string;
  who: string;
  by: string;
  from: string;
  method: string;
  path: string;
  status: number;
  detail: string;
}

/** Of `GET /api/projects/{project}/config`. */
export interface Setting {
  key: string;
  value: unknown;
  from: { by: string; name?: string; line?: number };
}
