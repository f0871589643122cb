// How the chosen tasks are to be run.

import { useState } from "react";
import { say } from "../../lib/messages";
import { remember, remembered } from "../../lib/settings";
import { Choice, TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { board } from "../../words/board";
import { type Start, startRun } from "./acts";
import { asAmount } from "./form";

const text = board.run;

export interface Plan {
  slots: string;
  agent: string;
  model: string;
  cap: string;
  merge: string;
  isolation: string;
  strategy: string;
}

export function firstPlan(): Plan {
  return {
    slots: remembered("run.slots", "3"),
    agent: "",
    model: "",
    cap: remembered("run.cap", ""),
    merge: remembered("run.merge", "none"),
    isolation: "",
    strategy: remembered("run.strategy", "queue"),
  };
}

/** As the server takes it. What the user has not said is left to the configuration; what is no number it refuses. */
export function asked(plan: Plan, only: string | null): Start {
  return {
    max_concurrency: plan.slots.trim() ? asAmount(plan.slots) : undefined,
    only: only || undefined,
    agent: plan.agent.trim() || undefined,
    model: plan.model.trim() || undefined,
    max_cost: plan.cap.trim() ? asAmount(plan.cap) : undefined,
    merge: plan.merge,
    isolation: plan.isolation || undefined,
    strategy: plan.strategy,
  };
}

export function keepPlan(plan: Plan): void {
  remember("run.slots", plan.slots);
  remember("run.cap", plan.cap);
  remember("run.merge", plan.merge);
  remember("run.strategy", plan.strategy);
}

export function PlanFields({ plan, set }: { plan: Plan; set: (plan: Plan) => void }) {
  const of = (name: keyof Plan) => (value: string) => set({ ...plan, [name]: value });
  return (
    <>
      <TextField label={text.slots} kind="numeric" value={plan.slots} set={of("slots")} />
      <TextField label={text.cap} kind="decimal" value={plan.cap} set={of("cap")} placeholder={text.noCap} />
      <Choice
        label={text.merge}
        value={plan.merge}
        set={of("merge")}
        options={[
          ["none", text.mergeNone],
          ["branch", text.mergeBranch],
        ]}
      />
      <Choice
        label={text.strategy}
        value={plan.strategy}
        set={of("strategy")}
        options={[
          ["queue", text.strategyQueue],
          ["batch", text.strategyBatch],
          ["sequential", text.strategySequential],
        ]}
      />
      <TextField label={text.agent} value={plan.agent} set={of("agent")} placeholder={text.agentHelp} />
      <TextField label={text.model} value={plan.model} set={of("model")} placeholder={text.modelHelp} />
      <Choice
        label={text.isolation}
        value={plan.isolation}
        set={of("isolation")}
        options={[
          ["", text.isolationDefault],
          ["worktree", text.isolationWorktree],
          ["clone", text.isolationClone],
          ["none", text.isolationNone],
        ]}
      />
    </>
  );
}

interface RunFormProps {
  project: string;
  /** None: all that is not done. */
  tasks: string[];
  close: () => void;
  started: () => void;
}

export function RunForm({ project, tasks, close, started }: RunFormProps) {
  const [plan, setPlan] = useState(firstPlan);
  const [needed, setNeeded] = useState(true);
  const only = tasks.length > 0 ? tasks.map((id) => (needed ? `+${id}` : id)).join(",") : null;
  const submit = async () => {
    const begun = await startRun(project, asked(plan, only));
    keepPlan(plan);
    say(text.started(begun.run));
    started();
  };
  return (
    <FormDialog
      title={tasks.length > 0 ? board.runTitle(tasks.length) : board.runAllTitle}
      detail={tasks.length > 0 ? `${tasks.join(", ")}. ${board.runDetail}` : board.runDetail}
      ok={tasks.length > 0 ? text.start(tasks.length) : text.startAll}
      submit={submit}
      close={close}
    >
      <PlanFields plan={plan} set={setPlan} />
      {tasks.length > 0 && (
        <label className="check">
          <input type="checkbox" checked={needed} onChange={(event) => setNeeded(event.target.checked)} />
          {text.needed}
        </label>
      )}
    </FormDialog>
  );
}
