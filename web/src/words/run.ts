// The text of a run's screens.

export const runWords = {
  runs: "Runs",
  run: "run",
  on: "on",
  started: "started",
  left: "The run was left",
  views: "Views of the run",
  tabs: {
    tasks: "Tasks",
    graph: "Graph",
    timeline: "Timeline",
    board: "Board",
    cost: "Cost",
    events: "Events",
  },
  states: {
    created: "not started",
    running: "running",
    paused: "paused",
    finishing: "finishing",
    stopped: "stopped",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  } as Record<string, string>,

  why: {
    user: "Stopped by a user.",
    fail_fast: "Stopped because a task failed.",
    budget: "Stopped because a cap is reached. Raise it, then resume.",
    person: "Stopped because all that is left waits for a person.",
    unauthorized: "Stopped because an agent's provider does not let it in.",
  } as Record<string, string>,

  figures: {
    landed: "Landed",
    done: "Done",
    needsPerson: (n: number) => (n === 1 ? "1 waits for you" : `${n} wait for you`),
    doneIn: "Done in",
    took: "Took",
    worked: "Worked",
    endedAt: (time: string) => `ended ${time}`,
    by: (time: string) => `by ${time}`,
    estimateTip: (ended: number, rest: number) =>
      `From the ${ended} tasks that ended in this run: how long they took against what was expected, applied to the ${rest} that are left, with the slots of now. Between: as well as they can be packed, and one after the other along the critical path. Questions and reviews are taken as answered at once.`,
    estimateLater: "Known when 2 tasks have ended: it is reckoned from the run's own times.",
    estimateLeft: "The run is not active.",
    spend: "Spend",
    noCap: "no cap",
    atLeast: "at least",
    unpriced: "Some of it is not known: an agent that reports no cost, or a model without a price.",
    forecast: (amount: string) => `forecast ${amount}`,
    forecastTip: (n: number) => `Estimate: what ${n} tasks of agents cost so far in this run, for each that is left.`,
    slots: "Slots",
    inUse: (used: number) => `${used} in use`,
    more: "One slot more",
    fewer: "One slot fewer",
    notLive: "The run is not active; resume it first.",
    critical: "Critical path",
    criticalLeft: (time: string) => `${time} left, estimate`,
    criticalNone: "Nothing is left.",
    criticalUnknown: "left: unknown",
    criticalMore: (n: number) => `${n} more`,
    criticalTip: "The longest chain of tasks that are left: it takes as long as this however many slots there are.",
  },

  cap: {
    set: "Set a cap",
    change: "Change cap",
    key: "Change what the run may cost",
    title: "How many dollars may the run cost in all?",
    detail: (spent: string, cap: string | null) =>
      `${spent} is spent${cap === null ? "; there is no cap" : ` of ${cap}`}. With a cap below that, nothing new starts. With a cap above it, a run that was stopping for its cap goes on.`,
    ok: "Change the cap",
    wrong: "An amount above 0, such as 2.50.",
    changed: (amount: string) => `The run may cost ${amount}.`,
    changedLeft: (amount: string) => `The run may cost ${amount}. Resume it to go on.`,
  },

  steer: {
    pause: "Pause",
    goOn: "Go on",
    cancel: "Cancel…",
    stop: "Stop…",
    review: (n: number) => `Review ${n}`,
    resume: "Resume",
    resumeRetry: "Retry what failed",
    report: "Report",
    paused: "Nothing new is started; what runs finishes.",
    goesOn: "The run goes on.",
    isOver: "The run is over.",
    isLeft: "The run is not active; resume it first.",
    cancelTitle: "Cancel the run?",
    cancelOk: "Cancel the run",
    cancelRunning: (n: number) =>
      n === 1
        ? "1 running task is stopped; its unfinished work does not land."
        : `${n} running tasks are stopped; their unfinished work does not land.`,
    cancelWaiting: (n: number) =>
      n === 1 ? "1 task that has not ended is not done." : `${n} tasks that have not ended are not done.`,
    cancelKeeps: (n: number, branch: string) =>
      n === 0
        ? `Nothing has landed on ${branch} yet.`
        : `${n === 1 ? "The 1 task that has landed stays" : `The ${n} tasks that have landed stay`} on ${branch}.`,
    stopTitle: "Stop the run?",
    stopOk: "Stop",
    stopDetail: (n: number) =>
      n === 0
        ? "Nothing is at work. The coordinator leaves; the run can be resumed."
        : `${n === 1 ? "1 agent or command is" : `${n} agents and commands are`} stopped now. The run can be resumed: what they had begun is done again, conversations go on where they were.`,
    stopped: "The run stops. Resume it here or with `conductor run --resume`.",
  },

  keys: {
    cancelRun: "Cancel the run",
    stop: "Stop the run",
    review: "Review",
    moreSlots: "One slot more",
    fewerSlots: "One slot fewer",
    resume: "Resume",
    tab: (name: string) => `Show ${name}`,
    report: "Open the report",
    fold: "Fold or open the group",
    needs: "Only what needs you",
    failed: "Only what failed",
    running: "Only what runs",
    all: "Show all",
    cancelTask: "Cancel the task",
    send: "Send words to the agent",
    answer: "Answer",
  },
};
