// Text of the graph and the timeline.

export const graphWords = {
  label: (tasks: number, told: string) => `Graph of ${tasks} tasks: ${told}. The same is in the table.`,
  picture: "Picture",
  table: "Table",
  show: "Show",
  folds: {
    auto: "What fits",
    none: "Every task",
    groups: "Groups",
    all: "What matters",
  } as Record<string, string>,
  fold: "What is folded",
  zoomIn: "Closer",
  zoomOut: "Farther",
  fit: "All of it",
  map: "The whole graph, and the part that is shown",
  critical: "critical path",
  criticalOnly: "on the critical path",
  andMore: (n: number, what: string) => `and ${n} ${what}`,
  groupOf: (n: number) => (n === 1 ? "1 task" : `${n} tasks`),
  hint: "drag to move, scroll to zoom, arrows along the lines",
  openGroup: "Unfold",
  columns: { task: "Task", state: "State", after: "After", before: "Before", critical: "Critical path" },
  yes: "yes",
  keys: {
    left: "What it needs",
    right: "What needs it",
    up: "Above",
    down: "Below",
    fit: "All of it",
    table: "Picture or table",
  },
  asOfThen: "What matters has changed since this was drawn.",
  again: "Draw it again",

  timeline: {
    label: (attempts: number, lanes: number) =>
      `Timeline of ${attempts} attempts in ${lanes} slots. The same is in the table.`,
    worker: (n: number) => `slot ${n}`,
    phases: { preparing: "preparing", working: "working", verifying: "verifying", merging: "merging" } as Record<
      string,
      string
    >,
    waited: "waited",
    now: "now",
    columns: {
      task: "Task",
      attempt: "Attempt",
      worker: "Slot",
      from: "Began",
      took: "Took",
      waited: "Waited",
      end: "End",
    },
    atOnce: (n: number) => `${n} at once`,
    other: "no epic",
    nothing: "Nothing has begun yet.",
  },
};
