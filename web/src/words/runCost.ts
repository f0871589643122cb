// The text of a run's costs.

export const costWords = {
  by: { task: "Task", epic: "Epic", model: "Model", agent: "Agent" },
  label: "Grouped by",
  table: "What the run has used",
  share: "Share",
  cost: "Cost",
  attempts: "Attempts",
  turns: "Turns",
  tokens: "Tokens",
  total: "Total",
  none: { task: "planning", epic: "without an epic", model: "the agent's own choice", agent: "command" },
  planning: "planning",
  cap: (cap: string) => `The cap is ${cap}: nothing new is started once it is spent.`,
  noCap: "The run has no cap. Give one with `--max-cost` when it is started or resumed.",
  unpriced: (n: string) =>
    `${n} tokens have no price: their model is not in the price list, so the cost is at least what is shown.`,
  untold: (n: number) =>
    n === 1
      ? "1 attempt did not report what it used; it is in no total, and caps do not apply to it."
      : `${n} attempts did not report what they used; they are in no total, and caps do not apply to them.`,
  atLeast: "at least",
  empty: "No agent has worked in this run, so it has cost nothing.",
};
