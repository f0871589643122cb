// Words of what estimates, models and overlap rest on.

export const evidence = {
  title: "What was learned from earlier runs",
  about: "Estimates, the choice of models and the overlap of tasks rest on this.",
  times: "How long tasks take",
  models: "How models do",
  together: "Files that change together",
  touched: "Files that tasks changed",
  anyKind: "task",
  like: (size: string, kind: string) => `${size} ${kind}`,
  range: (low: string, high: string) => `${low} to ${high}`,
  good: (good: number, all: number) => `${good} of ${all}`,
  advice: (agent: string, kind: string, tier: string, why: string) => `${agent}, ${kind} for a ${tier} model: ${why}`,
  heads: {
    times: ["Tasks like", "Agent", "Count", "Median", "Range", "Runs"],
    models: ["Model", "Kind", "Good work", "Runs"],
    together: ["Files", "Seen", "Runs"],
    touched: ["Task", "Files", "Run"],
  },
};
