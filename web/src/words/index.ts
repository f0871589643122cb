// All text of the page is in this folder: what is shared here, the rest by screen. The words are those of the command line
// and of docs/GLOSSARY.md.

import type { Shown } from "../api/types";

export type StateName = keyof Shown;

export const words = {
  product: "Conductor",
  unknown: "unknown",
  none: "none",
  now: "now",
  estimate: "estimate",
  ago: (time: string) => `${time} ago`,
  in: (time: string) => `in ${time}`,
  of: "of",
  send: "Send",

  states: {
    pending: "pending",
    waiting: "waiting",
    running: "running",
    needs: "needs you",
    landed: "landed",
    completed: "completed",
    failed: "failed",
    conflict: "conflict",
    skipped: "skipped",
    cancelled: "cancelled",
  } satisfies Record<StateName, string>,

  kinds: {
    permission: "permission",
    question: "question",
    follow_up: "follow-up",
    recovery: "failed",
    review: "review",
    login: "not let in",
    conflict: "conflict",
    failed: "failed",
    budget: "budget",
    left: "stopped",
    parked: "parked",
  } as Record<string, string>,

  nav: {
    main: "Main",
    inbox: "Inbox",
    runs: "Runs",
    board: "Board",
    costs: "Costs",
    agents: "Agents & workers",
    settings: "Settings",
    more: "More",
    projects: "Projects",
    newRun: "New run",
    search: "Search or do",
    skip: "Skip to the content",
    where: "Where you are",
  },

  theme: { label: "Theme", system: "System", light: "Light", dark: "Dark" },

  connection: {
    live: (host: string) => `live · ${host}`,
    connecting: "connecting",
    away: (since: string) =>
      `The server has been away since ${since}. Figures are as they were then; what you do has to wait.`,
    awayShort: (since: string) => `away since ${since}`,
    actionAway: "The server is away.",
  },

  broken: {
    title: "This screen could not be drawn",
    help: "A mistake in the page. Runs are not touched by it, and the command line shows the same. What went wrong:",
    again: "Try again",
    reload: "Load the page anew",
  },

  refused: {
    title: "Not done",
    role: (needed: string, has: string) => `This needs the role ${needed}; you have ${has} here.`,
    everywhere: (needed: string) => `This needs the role ${needed} in all projects.`,
  },

  login: {
    title: "Log in to Conductor",
    user: "User",
    password: "Password",
    submit: "Log in",
    owner: "On this machine, as the owner:",
    command: "conductor serve --open",
    ownerHelp: "serves and opens this page, logged in.",
    out: "Log out",
  },

  inbox: {
    title: "Inbox",
    needYou: (n: number) => (n === 1 ? "1 needs you" : `${n} need you`),
    held: (n: number) => (n === 1 ? "1 task is held up." : `${n} tasks are held up.`),
    deadline: "The next deadline is",
    empty: "Nothing needs you",
    emptyRunning: (n: number) =>
      n === 0
        ? "Nothing runs. The next question, failure or review will appear here."
        : `${n === 1 ? "1 task runs" : `${n} tasks run`}; the next question will appear here and, if you like, as a notification.`,
    emptyCommand: "conductor run tasks.yaml",
    emptyHelp: "Starts the next run from the repository.",
    otherwise: "If you do nothing:",
    atTime: (time: string) => `at ${time}, `,
    running: "Running",
    next: "Next",
    landed: "Landed",
    nothingRuns: "Nothing runs.",
    slots: (used: number, all: number) => `${used} of ${all} slots`,
    wants: (agent: string, tool: string) => `${agent} wants to use ${tool}.`,
    agent: "The agent",
    attempt: (n: number) => `attempt ${n}`,
    rule: "Asked by",
    soFar: "So far",
    workspace: "Workspace",
    commit: "Commit",
    files: (n: number) => (n === 1 ? "1 file" : `${n} files`),
    diffSoFar: "The diff so far",
    diffNone: "It has changed no file so far.",
    diffAll: (n: number) => `${n} more lines`,
    noCommit: "Its work has changed since this was shown; look at it again.",
    run: "Run",
    openTask: "open the task",
    allow: "Allow",
    deny: "Deny",
    answer: "Answer…",
    denyWith: "Deny with words…",
    jump: "Jump to",
    ended: "Ended",
    goesOn: "The run goes on.",
    sendBackNow: "Send back",
    dropNow: "Drop",
    cancelNow: "Cancel the rest",
    doIt: "Do it",
    leaveIt: "Leave it",
    tryAgain: "Try once more",
    approve: "Approve and land",
    sendBack: "Send back…",
    drop: "Drop…",
    diff: "Diff",
    retry: "Retry",
    skip: "Skip…",
    skipNow: "Skip the task",
    askSkip: (task: string, held: number) =>
      `Skip ${task}? It is not done${held === 0 ? "" : held === 1 ? ", and neither is 1 task that needs it" : `, and neither are ${held} tasks that need it`}. What it did so far is kept under a ref.`,
    open: "Open",
    resolve: "Resolve",
    giveBack: "Give it back to the agent",
    raise: "Go on with a higher cap…",
    resume: "Resume",
    end: "Cancel what is left…",
    retryAll: (n: number) => `Retry all ${n}`,
    alike: (n: number, what: string) => `${n} tasks: ${what}`,
    askWords: "What do you want to say to it?",
    askComments: "What should the agent change?",
    askDrop:
      "Drop this work? It does not land; it is kept under a ref and can be found with `conductor worktree list`.",
    caps: {
      max_cost: "The run's new cap in dollars",
      max_tokens: "The run's new cap in tokens",
      max_attempts: "The run's new cap in attempts",
      max_time: "The run's new cap in minutes of work",
    },
    capUsed: (used: string) => `${used} is used. The run goes on where the cap is higher than that.`,
    capWrong: "Not an amount above 0.",
    capTooLow: (used: string) => `${used} is used already: with that cap nothing would start.`,
    raiseNow: "Raise the cap and go on",
    askCancel: (n: number) =>
      `Cancel ${n === 1 ? "the task" : `the ${n} tasks`} that have not ended? What has landed stays on its branch.`,
    notify: "Notify me",
    notifyOn: "You are notified when something needs you.",
    notifyNo: "Your browser does not allow notifications for this page.",
  },

  keys: {
    title: "Keys",
    help: "Show the keys",
    palette: "Search or do",
    next: "Next",
    previous: "Previous",
    open: "Open",
    allow: "Allow, approve",
    deny: "Deny",
    send: "Answer, send back",
    retry: "Retry",
    skip: "Skip",
    cancel: "Cancel",
    pause: "Pause, go on",
    filter: "Filter",
    goInbox: "Go to the inbox",
    goRuns: "Go to the runs",
    goBoard: "Go to the board",
    goCosts: "Go to the costs",
    newRun: "New run",
    stopAll: "Stop all runs",
    diff: "Diff",
  },

  retrying: {
    ask: (tasks: string[], others: number) =>
      `Do ${tasks.length === 1 ? tasks[0] : `${tasks.length} tasks`} again and resume the run? ${others === 1 ? "1 other task that has not ended goes" : `${others} other tasks that have not ended go`} on as well.`,
    ok: "Resume the run",
    again: (n: number) => (n === 1 ? "It is tried again." : `${n} tasks are tried again.`),
    goesOn: "The run goes on.",
    withAnother: "Retry with…",
    askAgent: (tasks: string[]) =>
      `Which agent is to do ${tasks.length === 1 ? tasks[0] : `these ${tasks.length} tasks`} instead?`,
    agentBefore: (agent: string) => `${agent} had it. What the file says stays as it is.`,
    agentOk: "Retry",
    noOther: "No other agent is installed here.",
  },

  stopAll: {
    button: "Stop all runs…",
    title: (n: number) => (n === 1 ? "Stop the run that is live?" : `Stop all ${n} runs that are live?`),
    lost: (n: number) =>
      n === 0
        ? "nothing is at work in it"
        : `${n === 1 ? "1 agent or command is" : `${n} agents and commands are`} stopped; what they had begun is done again on resume`,
    kept: "What has landed stays. Each run can be resumed, and conversations go on where they were.",
    ok: "Stop all",
    none: "No run is live.",
    stopped: (n: number) => (n === 1 ? "1 run stops." : `${n} runs stop.`),
    failed: (run: string, why: string) => `Run ${run} was not stopped: ${why}`,
  },

  palette: { project: "Project", run: "Run", task: "Task", goTo: "go to", do: "do" },

  // "Cancel" is what one does to a run or a task.
  dialog: { ok: "OK", cancel: "Go back", close: "Close" },

  table: { nothing: "Nothing fits the filter." },
};
