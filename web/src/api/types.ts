// Made from docs/openapi.json by `cargo xtask docs`.

export interface Problem {
  type: string;
  title: string;
  status: number;
  code: "malformed" | "not_authenticated" | "not_allowed" | "not_found" | "wrong_method" | "too_slow" | "conflict" | "changed_meanwhile" | "too_large" | "out_of_range" | "not_json" | "invalid" | "version_needed" | "too_many" | "internal" | "unavailable" | "no_answer";
  detail: string;
  help?: string;
  field?: string;
  did_you_mean?: string;
}

export interface Counts {
  pending: number;
  running: number;
  waiting: number;
  completed: number;
  failed: number;
  skipped: number;
  cancelled: number;
  landing: number;
}

export interface AtWork {
  task: string;
  epic_id?: string | null;
  attempt: number;
  phase: string;
  for_ms?: number | null;
  agent?: string | null;
  model?: string | null;
  pid?: number | null;
  cost_usd?: number | null;
  last_tool?: string | null;
}

export interface Reason {
  words: string;
}

export interface Waiting {
  task: string;
  why: Reason[];
}

export interface TaskWords {
  task: string;
  words: string;
}

export interface TaskQuestion {
  task: string;
  question: string;
}

export interface ParkedAgent {
  agent: string;
  until: string;
}

export interface Listed {
  run: string;
  project?: string | null;
  directory: string;
  source: string;
  tasks: number;
  state: string;
  live: boolean;
  created_at: string;
  can_be_resumed: boolean;
  figures?: Figures | null;
}

export interface Figures {
  shown: Shown;
  cost_usd?: number | null;
  known_cost_usd: number;
  tokens: number;
  max_cost_usd?: number | null;
  elapsed_ms: number;
  ended_at?: string | null;
  slots: number;
  by: string;
}

export interface Shown {
  pending: number;
  waiting: number;
  running: number;
  needs: number;
  landed: number;
  completed: number;
  failed: number;
  conflict: number;
  skipped: number;
  cancelled: number;
}

export interface RunTask {
  id: string;
  name: string;
  epic_id?: string | null;
  group?: string | null;
  status: string;
  state: string;
  phase?: string | null;
  priority: number;
  dependencies: string[];
  attempts: number;
  tried: number;
  agent?: string | null;
  model?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  worked_ms: number;
  cost_usd?: number | null;
  tokens: number;
  commit?: string | null;
  added?: number | null;
  removed?: number | null;
  files_changed?: number | null;
  words?: string | null;
}

export interface Need {
  kind: string;
  run: string;
  project?: string | null;
  source: string;
  task?: string | null;
  name?: string | null;
  words: string;
  evidence: string;
  why: string;
  since?: string | null;
  due?: string | null;
  otherwise: string;
  held: number;
  live: boolean;
  seq: number;
  agent?: string | null;
  model?: string | null;
  attempt?: number | null;
  cost_usd?: number | null;
  isolation?: string | null;
  workspace?: string | null;
  commit?: string | null;
  files?: number | null;
  added?: number | null;
  removed?: number | null;
}

export interface Decision {
  attempt: number;
  nature: string;
  strategy: string;
  reason: string;
}

export interface Failure {
  class: string;
  message: string;
  evidence?: string | null;
  findings?: Finding[] | null;
}

export interface Finding {
  level: string;
  message: string;
  file?: string | null;
  line?: number | null;
  column?: number | null;
  code?: string | null;
  by?: string | null;
}

export interface AskedOfUser {
  tool?: string | null;
  what?: string | null;
  put: string;
  since: string;
}

export interface Touched {
  files: string[];
  created?: number | null;
  added?: number | null;
  removed?: number | null;
}

export interface TaskDetail {
  id: string;
  name: string;
  epic_id?: string | null;
  group?: string | null;
  kind: string;
  work: unknown;
  verify: string[];
  files: string[];
  status: string;
  state: string;
  phase?: string | null;
  priority: number;
  dependencies: string[];
  attempts: number;
  tried: number;
  agent?: string | null;
  model?: string | null;
  started_at?: string | null;
  ended_at?: string | null;
  worked_ms: number;
  cost_usd?: number | null;
  tokens: number;
  commit?: string | null;
  added?: number | null;
  removed?: number | null;
  files_changed?: number | null;
  words?: string | null;
  failure?: Failure | null;
  findings: Finding[];
  question?: AskedOfUser | null;
  touched?: Touched | null;
  chosen: unknown;
  max_cost_usd?: number | null;
  output_tokens: number;
  cloud?: string | null;
  checks: CheckRun[];
  last_tool?: ToolCall | null;
}

export interface CheckRun {
  on: string;
  command: string;
  at: string;
  took_ms: number;
  passed: boolean;
  why?: string | null;
  lines: string[];
}

export interface ToolCall {
  tool: string;
  what: string;
  from: string;
  to: string;
  failed: boolean;
}

export interface ConflictVersion {
  kind: string;
  text?: string | null;
  bytes?: number | null;
}

export interface ConflictFile {
  path: string;
  base: ConflictVersion;
  ours: ConflictVersion;
  theirs: ConflictVersion;
  now: ConflictVersion;
}

export interface Attempt {
  attempt: number;
  executor?: number | null;
  from_ms: number;
  to_ms?: number | null;
  end?: string | null;
  phases: unknown;
}

export interface Project {
  id: string;
  name: string;
  directory: string;
  file: string;
  created_at: string;
}

export interface DoneBy {
  run: string;
  at: string;
  commit?: string | null;
  unmerged_branch?: string | null;
}

export interface ProjectTask {
  id: string;
  name: string;
  epic_id?: string | null;
  group?: string | null;
  kind: string;
  work: unknown;
  agent?: string | null;
  model?: string | null;
  verify: unknown;
  files: unknown;
  dependencies: string[];
  status: string;
  done: boolean;
  done_by?: DoneBy | null;
  run?: string | null;
}

export interface CostLine {
  key?: string | null;
  kind: string;
  attempts: number;
  untold_attempts: number;
  turns: number;
  tokens: number;
  cost_usd?: number | null;
  known_cost_usd: number;
  unpriced_tokens: number;
}

export interface AgentsAnswer {
  schema: "conductor.agents/1";
}

export interface AgentsTestAnswer {
  schema: "conductor.agents-test/1";
}

export interface AnswerAnswer {
  run: string;
  task: string;
  asked: string;
  schema: "conductor.answer/1";
}

export interface AttemptsAnswer {
  run: string;
  task: string;
  attempts: Attempt[];
  schema: "conductor.attempts/1";
}

export interface AuditAnswer {
  entries: Record<string, unknown>[];
  next_cursor?: number | null;
  schema: "conductor.audit/1";
}

export interface BatchAnswer {
  run?: string | null;
  batch: Record<string, unknown>;
  schema: "conductor.batch/1";
}

export interface BatchesAnswer {
  run?: string | null;
  batches: Record<string, unknown>[];
  schema: "conductor.batches/1";
}

export interface CancelAnswer {
  run: string;
  cancelled?: number | null;
  schema: "conductor.cancel/1";
}

export interface CapsAnswer {
  run: string;
  active: boolean;
  max_cost_usd?: number | null;
  max_tokens?: number | null;
  max_time_ms?: number | null;
  max_attempts?: number | null;
  schema: "conductor.caps/1";
}

export interface ChangesAnswer {
  run: string;
  seq: number;
  status: Record<string, unknown>;
  tasks: RunTask[];
  all: boolean;
  schema: "conductor.changes/1";
}

export interface CheckpointAnswer {
  schema: "conductor.checkpoint/1";
}

export interface CheckpointRollbackAnswer {
  schema: "conductor.checkpoint-rollback/1";
}

export interface CheckpointsAnswer {
  schema: "conductor.checkpoints/1";
}

export interface ChecksAnswer {
  run: string;
  task: string;
  attempt: number;
  checks: CheckRun[];
  schema: "conductor.checks/1";
}

export interface CodeAnswer {
  schema: "conductor.code/1";
}

export interface ConfigAnswer {
  schema: "conductor.config/1";
}

export interface ConflictAnswer {
  run: string;
  task: string;
  folder: string;
  landed: string;
  kept: string;
  files: ConflictFile[];
  schema: "conductor.conflict/1";
}

export interface ConflictFileAnswer {
  run: string;
  task: string;
  path: string;
  schema: "conductor.conflict-file/1";
}

export interface ContinueAnswer {
  run: string;
  state: string;
  schema: "conductor.continue/1";
}

export interface ConversationAnswer {
  run: string;
  task: string;
  attempt: number;
  attempts: number;
  agent?: string | null;
  model?: string | null;
  at_work: boolean;
  prompt?: string | null;
  turns: Record<string, unknown>[];
  next_since: number;
  more: boolean;
  skipped_lines: number;
  turns_left_out: number;
  schema: "conductor.conversation/1";
}

export interface CostAnswer {
  by: string;
  lines: Record<string, unknown>[];
  total: Record<string, unknown>;
  schema: "conductor.cost/1";
}

export interface CriticalPathAnswer {
  project: string;
  tasks: string[];
  expected_ms: number;
  schema: "conductor.critical-path/1";
}

export interface DetachedAnswer {
  run: string;
  pid: number;
  schema: "conductor.detached/1";
}

export interface DiffAnswer {
  run: string;
  task: string;
  status: string;
  from?: string | null;
  to?: string | null;
  patch?: string | null;
  stat?: string | null;
  schema: "conductor.diff/1";
}

export interface DoctorAnswer {
  schema: "conductor.doctor/1";
}

export interface EditedAnswer {
  project: string;
  version: string;
  id: string;
  schema: "conductor.edited/1";
}

export interface EpicsAnswer {
  project: string;
  version: string;
  epics: Record<string, unknown>[];
  schema: "conductor.epics/1";
}

export interface EventsAnswer {
  run: string;
  events: Record<string, unknown>[];
  next_since?: number | null;
  schema: "conductor.events/1";
}

export interface ExpertiseAnswer {
  items: Record<string, unknown>[];
  schema: "conductor.expertise/1";
}

export interface ExpertiseEvidenceAnswer {
  times: Record<string, unknown>[];
  models: Record<string, unknown>[];
  advice: Record<string, unknown>[];
  together: Record<string, unknown>[];
  touched: Record<string, unknown>[];
  schema: "conductor.expertise-evidence/1";
}

export interface ExpertiseHistoryAnswer {
  item: string;
  versions: Record<string, unknown>[];
  schema: "conductor.expertise-history/1";
}

export interface ExpertiseImportedAnswer {
  items: number;
  changed: number;
  schema: "conductor.expertise-imported/1";
}

export interface ExpertiseItemAnswer {
  schema: "conductor.expertise-item/1";
}

export interface ExpertiseLearnedAnswer {
  items: string[];
  dropped: string[];
  schema: "conductor.expertise-learned/1";
}

export interface ExpertiseResumedAnswer {
  was_paused: boolean;
  schema: "conductor.expertise-resumed/1";
}

export interface ExpertiseStatsAnswer {
  schema: "conductor.expertise-stats/1";
}

export interface ExpertiseValidatedAnswer {
  items: number;
  findings: Record<string, unknown>[];
  schema: "conductor.expertise-validated/1";
}

export interface ExplanationAnswer {
  task: string;
  name: string;
  status?: string | null;
  waits_for: string[];
  live: boolean;
  waits?: Reason[] | null;
  agent?: string | null;
  verify: string[];
  fix_rounds: number;
  isolation: string;
  decisions: Decision[];
  schema: "conductor.explanation/1";
}

export interface GraphAnswer {
  tasks: Record<string, unknown>[];
  batches: unknown;
  critical_path: unknown;
  schema: "conductor.graph/1";
}

export interface GraphLayoutAnswer {
  run?: string | null;
  project?: string | null;
  fold: string;
  width: number;
  height: number;
  ids: string[];
  stands: number[];
  nodes: unknown;
  edges: unknown;
  folded: Record<string, unknown>[];
  schema: "conductor.graph-layout/1";
}

export interface GroupAnswer {
  schema: "conductor.group/1";
}

export interface GroupPlanAnswer {
  schema: "conductor.group-plan/1";
}

export interface GroupReportAnswer {
  schema: "conductor.group-report/1";
}

export interface GroupsAnswer {
  schema: "conductor.groups/1";
}

export interface GroupsDetectedAnswer {
  schema: "conductor.groups-detected/1";
}

export interface HookAnswer {
  id: string;
  name: string;
  url: string;
  schema: "conductor.hook/1";
}

export interface HooksAnswer {
  hooks: Record<string, unknown>[];
  schema: "conductor.hooks/1";
}

export interface ImportAnswer {
  schema: "conductor.import/1";
}

export interface InboxAnswer {
  items: Need[];
  left_out: number;
  unreadable: string[];
  schema: "conductor.inbox/2";
}

export interface JobAnswer {
  job: string;
  project: string;
  kind: string;
  state: string;
  created_at: string;
  result?: Record<string, unknown> | null;
  words?: string | null;
  schema: "conductor.job/1";
}

export interface JobsAnswer {
  jobs: Record<string, unknown>[];
  schema: "conductor.jobs/1";
}

export interface LandingAnswer {
  run: string;
  task: string;
  outcome: string;
  branch?: string | null;
  commit?: string | null;
  evidence?: string | null;
  folder?: string | null;
  files?: string[] | null;
  schema: "conductor.landing/1";
}

export interface LevelsAnswer {
  project: string;
  batches: unknown;
  schema: "conductor.levels/1";
}

export interface LoginAnswer {
  user: string;
  expires_at: string;
  token?: string | null;
  schema: "conductor.login/1";
}

export interface LoginCodeAnswer {
  code: string;
  url: string;
  schema: "conductor.login-code/1";
}

export interface LogoutAnswer {
  ended: boolean;
  schema: "conductor.logout/1";
}

export interface MeAnswer {
  user: string;
  by: string;
  role?: string | null;
  roles: Record<string, unknown>;
  schema: "conductor.me/1";
}

export interface ModelStatsAnswer {
  project: string;
  models: Record<string, unknown>[];
  schema: "conductor.model-stats/1";
}

export interface ParallelAnswer {
  run: string;
  slots: number;
  schema: "conductor.parallel/1";
}

export interface ParallelCancelAnswer {
  run: string;
  cancelled: number;
  schema: "conductor.parallel-cancel/1";
}

export interface ParallelStartAnswer {
  run: string;
  pid: number;
  running: boolean;
  max_concurrency: number;
  strategy: string;
  schema: "conductor.parallel-start/1";
}

export interface ParallelStatusAnswer {
  running: boolean;
  active_agents: number;
  agents: Record<string, unknown>[];
  max_concurrency?: number | null;
  run?: string | null;
  result?: Record<string, unknown> | null;
  schema: "conductor.parallel-status/1";
}

export interface PauseAnswer {
  run: string;
  state: string;
  schema: "conductor.pause/1";
}

export interface PricesAnswer {
  schema: "conductor.prices/1";
}

export interface ProjectAnswer {
  id: string;
  name: string;
  directory: string;
  file: string;
  created_at: string;
  version?: string | null;
  tasks?: number | null;
  latest_run?: Listed | null;
  schema: "conductor.project/1";
}

export interface ProjectTaskAnswer {
  project: string;
  version: string;
  task: Record<string, unknown>;
  schema: "conductor.project-task/1";
}

export interface ProjectTasksAnswer {
  project: string;
  version: string;
  total: number;
  tasks: ProjectTask[];
  next_cursor?: string | null;
  schema: "conductor.project-tasks/1";
}

export interface ProjectsAnswer {
  projects: Project[];
  schema: "conductor.projects/1";
}

export interface PruneAnswer {
  schema: "conductor.prune/1";
}

export interface RehearsalAnswer {
  schema: "conductor.rehearsal/1";
}

export interface RemovedAnswer {
  id: string;
  schema: "conductor.removed/1";
}

export interface ReviewAnswer {
  run: string;
  task: string;
  action: string;
  commit: string;
  active: boolean;
  schema: "conductor.review/1";
}

export interface ReviewEditAnswer {
  run?: string | null;
  task?: string | null;
  commit?: string | null;
  folder?: string | null;
  schema: "conductor.review-edit/1";
}

export interface ReviewsAnswer {
  schema: "conductor.reviews/1";
}

export interface RevokedAnswer {
  id: string;
  schema: "conductor.revoked/1";
}

export interface RunListAnswer {
  runs: Listed[];
  next_cursor?: string | null;
  schema: "conductor.run-list/1";
}

export interface RunTaskAnswer {
  run: string;
  seq: number;
  task: TaskDetail;
  schema: "conductor.run-task/1";
}

export interface SessionsAnswer {
  project: string;
  total: number;
  sessions: Record<string, unknown>[];
  next_cursor?: string | null;
  schema: "conductor.sessions/1";
}

export interface StatusAnswer {
  run: string;
  live: boolean;
  pid?: number | null;
  directory: string;
  state: string;
  seq: number;
  created_at: string;
  elapsed_ms: number;
  slots: number;
  total: number;
  counts: Counts;
  shown: Shown;
  cost_usd?: number | null;
  known_cost_usd: number;
  tokens: number;
  max_cost_usd?: number | null;
  running: AtWork[];
  waiting: Waiting[];
  next: Waiting[];
  reviews: string[];
  questions: TaskQuestion[];
  failed: TaskWords[];
  conflicts_ahead: TaskWords[];
  parked_agents: ParkedAgent[];
  can_be_resumed: boolean;
  source: string;
  why?: string | null;
  ended_at?: string | null;
  schema: "conductor.status/1";
}

export interface StopAnswer {
  run: string;
  state: string;
  schema: "conductor.stop/1";
}

export interface SummaryAnswer {
  run: string;
  outcome: string;
  total_tasks: number;
  schema: "conductor.summary/1";
}

export interface TasksAnswer {
  run: string;
  seq: number;
  total: number;
  tasks: RunTask[];
  next_cursor?: string | null;
  schema: "conductor.tasks/1";
}

export interface TemplatesAnswer {
  schema: "conductor.templates/1";
}

export interface TimelineAnswer {
  run: string;
  seq: number;
  length_ms: number;
  lanes: number;
  ids: string[];
  ends: string[];
  waits: string[];
  phases: string[];
  bars: unknown;
  schema: "conductor.timeline/1";
}

export interface TokenAnswer {
  id: string;
  token: string;
  role: string;
  expires_at: string;
  schema: "conductor.token/1";
}

export interface TokensAnswer {
  tokens: Record<string, unknown>[];
  schema: "conductor.tokens/1";
}

export interface UserAnswer {
  name: string;
  disabled: boolean;
  grants: Record<string, unknown>[];
  schema: "conductor.user/1";
}

export interface UsersAnswer {
  users: Record<string, unknown>[];
  schema: "conductor.users/1";
}

export interface ValidationAnswer {
  file: string;
  errors: number;
  warnings: number;
  findings: Record<string, unknown>[];
  schema: "conductor.validation/1";
}

export interface VersionAnswer {
  version: string;
  uptime_ms: number;
  page: string;
  schema: "conductor.version/1";
}

export interface WebhookAnswer {
  id: string;
  project: string;
  url: string;
  events: string[];
  description: string;
  enabled: boolean;
  created_at: string;
  secret: string;
  schema: "conductor.webhook/1";
}

export interface WebhookDeliveriesAnswer {
  deliveries: Record<string, unknown>[];
  next_cursor?: number | null;
  schema: "conductor.webhook-deliveries/1";
}

export interface WebhookDeliveryAnswer {
  id: string;
  event: string;
  run?: string | null;
  seq?: number | null;
  state: string;
  attempts: number;
  status_code?: number | null;
  error?: string | null;
  answer?: string | null;
  created_at: string;
  next_attempt_at?: string | null;
  ended_at?: string | null;
  schema: "conductor.webhook-delivery/1";
}

export interface WebhookSecretAnswer {
  id: string;
  secret: string;
  schema: "conductor.webhook-secret/1";
}

export interface WebhooksAnswer {
  webhooks: Record<string, unknown>[];
  schema: "conductor.webhooks/1";
}

export interface WorkerAnswer {
  name: string;
  state: string;
  schema: "conductor.worker/1";
}

export interface WorkersAnswer {
  workers: Record<string, unknown>[];
  schema: "conductor.workers/1";
}

export interface WorktreeCleanAnswer {
  schema: "conductor.worktree-clean/1";
}

export interface WorktreePathAnswer {
  schema: "conductor.worktree-path/1";
}

export interface WorktreeSyncAnswer {
  schema: "conductor.worktree-sync/1";
}

export interface WorktreesAnswer {
  schema: "conductor.worktrees/1";
}

/** What each address answers with. */
export interface Answers {
  "DELETE /api/projects/{project}": ProjectAnswer;
  "DELETE /api/projects/{project}/epics/{epic}": EditedAnswer;
  "DELETE /api/projects/{project}/hooks/{hook}": RevokedAnswer;
  "DELETE /api/projects/{project}/tasks/{task}": EditedAnswer;
  "DELETE /api/projects/{project}/webhooks/{webhook}": RemovedAnswer;
  "DELETE /api/runs/{run}/tasks/{task}/review": ReviewAnswer;
  "DELETE /api/tokens/{token}": RevokedAnswer;
  "DELETE /api/workers/{worker}": WorkerAnswer;
  "GET /api/agents": AgentsAnswer;
  "GET /api/audit": AuditAnswer;
  "GET /api/codes/{code}": CodeAnswer;
  "GET /api/doctor": DoctorAnswer;
  "GET /api/inbox": InboxAnswer;
  "GET /api/me": MeAnswer;
  "GET /api/projects": ProjectsAnswer;
  "GET /api/projects/{project}": ProjectAnswer;
  "GET /api/projects/{project}/checkpoints": CheckpointsAnswer;
  "GET /api/projects/{project}/config": ConfigAnswer;
  "GET /api/projects/{project}/costs": CostAnswer;
  "GET /api/projects/{project}/costs/forecast": RehearsalAnswer;
  "GET /api/projects/{project}/dependencies/batches": LevelsAnswer;
  "GET /api/projects/{project}/dependencies/critical-path": CriticalPathAnswer;
  "GET /api/projects/{project}/dependencies/graph": GraphAnswer;
  "GET /api/projects/{project}/dependencies/graph/layout": GraphLayoutAnswer;
  "GET /api/projects/{project}/dependencies/validate": ValidationAnswer;
  "GET /api/projects/{project}/doctor": DoctorAnswer;
  "GET /api/projects/{project}/epics": EpicsAnswer;
  "GET /api/projects/{project}/expertise": ExpertiseAnswer;
  "GET /api/projects/{project}/expertise-evidence": ExpertiseEvidenceAnswer;
  "GET /api/projects/{project}/expertise-stats": ExpertiseStatsAnswer;
  "GET /api/projects/{project}/expertise/{item}": ExpertiseItemAnswer;
  "GET /api/projects/{project}/expertise/{item}/history": ExpertiseHistoryAnswer;
  "GET /api/projects/{project}/groups": GroupsAnswer;
  "GET /api/projects/{project}/groups/detected": GroupsDetectedAnswer;
  "GET /api/projects/{project}/groups/plan": GroupPlanAnswer;
  "GET /api/projects/{project}/groups/{group}": GroupAnswer;
  "GET /api/projects/{project}/groups/{group}/report": GroupReportAnswer;
  "GET /api/projects/{project}/hooks": HooksAnswer;
  "GET /api/projects/{project}/jobs": JobsAnswer;
  "GET /api/projects/{project}/jobs/{job}": JobAnswer;
  "GET /api/projects/{project}/model-stats": ModelStatsAnswer;
  "GET /api/projects/{project}/parallel/batches": BatchesAnswer;
  "GET /api/projects/{project}/parallel/batches/{number}": BatchAnswer;
  "GET /api/projects/{project}/parallel/status": ParallelStatusAnswer;
  "GET /api/projects/{project}/prices": PricesAnswer;
  "GET /api/projects/{project}/rehearsal": RehearsalAnswer;
  "GET /api/projects/{project}/reviews": ReviewsAnswer;
  "GET /api/projects/{project}/runs": RunListAnswer;
  "GET /api/projects/{project}/sessions": SessionsAnswer;
  "GET /api/projects/{project}/tasks": ProjectTasksAnswer;
  "GET /api/projects/{project}/tasks/{task}": ProjectTaskAnswer;
  "GET /api/projects/{project}/webhooks": WebhooksAnswer;
  "GET /api/projects/{project}/webhooks/{webhook}": WebhookAnswer;
  "GET /api/projects/{project}/webhooks/{webhook}/deliveries": WebhookDeliveriesAnswer;
  "GET /api/projects/{project}/worktrees": WorktreesAnswer;
  "GET /api/runs": RunListAnswer;
  "GET /api/runs/{run}": StatusAnswer;
  "GET /api/runs/{run}/changes": ChangesAnswer;
  "GET /api/runs/{run}/costs": CostAnswer;
  "GET /api/runs/{run}/events": EventsAnswer;
  "GET /api/runs/{run}/graph": GraphAnswer;
  "GET /api/runs/{run}/graph/layout": GraphLayoutAnswer;
  "GET /api/runs/{run}/summary": SummaryAnswer;
  "GET /api/runs/{run}/tasks": TasksAnswer;
  "GET /api/runs/{run}/tasks/{task}": RunTaskAnswer;
  "GET /api/runs/{run}/tasks/{task}/attempts": AttemptsAnswer;
  "GET /api/runs/{run}/tasks/{task}/checks": ChecksAnswer;
  "GET /api/runs/{run}/tasks/{task}/conflict": ConflictAnswer;
  "GET /api/runs/{run}/tasks/{task}/conversation": ConversationAnswer;
  "GET /api/runs/{run}/tasks/{task}/diff": DiffAnswer;
  "GET /api/runs/{run}/tasks/{task}/explanation": ExplanationAnswer;
  "GET /api/runs/{run}/tasks/{task}/worktree": WorktreePathAnswer;
  "GET /api/runs/{run}/timeline": TimelineAnswer;
  "GET /api/templates": TemplatesAnswer;
  "GET /api/tokens": TokensAnswer;
  "GET /api/users": UsersAnswer;
  "GET /api/version": VersionAnswer;
  "GET /api/workers": WorkersAnswer;
  "PATCH /api/projects/{project}/epics/{epic}": EditedAnswer;
  "PATCH /api/projects/{project}/tasks/{task}": EditedAnswer;
  "PATCH /api/projects/{project}/webhooks/{webhook}": WebhookAnswer;
  "PATCH /api/users/{user}": UserAnswer;
  "POST /api/agents/test": AgentsTestAnswer;
  "POST /api/hooks/{token}": ParallelStartAnswer;
  "POST /api/login": LoginAnswer;
  "POST /api/login/code": LoginAnswer;
  "POST /api/login/codes": LoginCodeAnswer;
  "POST /api/logout": LogoutAnswer;
  "POST /api/projects": ProjectAnswer;
  "POST /api/projects/{project}/checkpoints": CheckpointAnswer;
  "POST /api/projects/{project}/checkpoints/{name}/rollback": CheckpointRollbackAnswer;
  "POST /api/projects/{project}/epics": EditedAnswer;
  "POST /api/projects/{project}/expertise": ExpertiseItemAnswer;
  "POST /api/projects/{project}/expertise-import": ExpertiseImportedAnswer;
  "POST /api/projects/{project}/expertise-improve": ExpertiseValidatedAnswer;
  "POST /api/projects/{project}/expertise-learn": ExpertiseLearnedAnswer;
  "POST /api/projects/{project}/expertise-resume": ExpertiseResumedAnswer;
  "POST /api/projects/{project}/expertise-validate": ExpertiseValidatedAnswer;
  "POST /api/projects/{project}/expertise/{item}/restore": ExpertiseItemAnswer;
  "POST /api/projects/{project}/expertise/{item}/retire": ExpertiseItemAnswer;
  "POST /api/projects/{project}/groups/execute": JobAnswer;
  "POST /api/projects/{project}/hooks": HookAnswer;
  "POST /api/projects/{project}/import/beads": ImportAnswer;
  "POST /api/projects/{project}/orchestrations": JobAnswer;
  "POST /api/projects/{project}/parallel/cancel": ParallelCancelAnswer;
  "POST /api/projects/{project}/parallel/start": ParallelStartAnswer;
  "POST /api/projects/{project}/plans": JobAnswer;
  "POST /api/projects/{project}/tasks": EditedAnswer;
  "POST /api/projects/{project}/tasks/{task}/move": EditedAnswer;
  "POST /api/projects/{project}/webhooks": WebhookAnswer;
  "POST /api/projects/{project}/webhooks/{webhook}/deliveries/{delivery}/retry": WebhookDeliveryAnswer;
  "POST /api/projects/{project}/webhooks/{webhook}/rotate": WebhookSecretAnswer;
  "POST /api/projects/{project}/webhooks/{webhook}/test": WebhookDeliveryAnswer;
  "POST /api/projects/{project}/worktrees/clean": WorktreeCleanAnswer;
  "POST /api/runs/prune": PruneAnswer;
  "POST /api/runs/{run}/cancel": CancelAnswer;
  "POST /api/runs/{run}/caps": CapsAnswer;
  "POST /api/runs/{run}/continue": ContinueAnswer;
  "POST /api/runs/{run}/pause": PauseAnswer;
  "POST /api/runs/{run}/resume": DetachedAnswer;
  "POST /api/runs/{run}/slots": ParallelAnswer;
  "POST /api/runs/{run}/stop": StopAnswer;
  "POST /api/runs/{run}/sync": WorktreeSyncAnswer;
  "POST /api/runs/{run}/tasks/{task}/approve": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/cancel": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/conflict/files": ConflictFileAnswer;
  "POST /api/runs/{run}/tasks/{task}/conflict/resolve": LandingAnswer;
  "POST /api/runs/{run}/tasks/{task}/conflict/take": ConflictFileAnswer;
  "POST /api/runs/{run}/tasks/{task}/deny": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/merge": LandingAnswer;
  "POST /api/runs/{run}/tasks/{task}/priority": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/retry": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/review/approve": ReviewAnswer;
  "POST /api/runs/{run}/tasks/{task}/review/edit": ReviewEditAnswer;
  "POST /api/runs/{run}/tasks/{task}/review/send-back": ReviewAnswer;
  "POST /api/runs/{run}/tasks/{task}/send": AnswerAnswer;
  "POST /api/runs/{run}/tasks/{task}/skip": AnswerAnswer;
  "POST /api/tokens": TokenAnswer;
  "POST /api/users": UserAnswer;
  "POST /api/workers/{worker}/drain": WorkerAnswer;
  "PUT /api/projects/{project}/expertise/{item}": ExpertiseItemAnswer;
}
