//! A plan in the language of task files, with every setting written out: what reads it again gets the same plan.
//!
//! Every field of a plan is taken apart here by name, so that a new one cannot be forgotten.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::plan::models::Models;
use crate::plan::subagents::{NO_SPECIALIST, Subagent};
use crate::plan::{
    Cloud, Dependency, Entrant, Epic, Group, Kind, Limits, Measure, Permissions, Plan, Preparation, Price,
    Priority, Program, RetryPolicy, Scope, Task, When, Wins, Work,
};
use crate::values::units::Millis;

/// Everything of a plan beside its tasks, by the keys of a file.
pub(crate) fn sections(plan: &Plan) -> Map<String, Value> {
    let Plan { tasks: _, groups, epics, execution_order, limits, notifications, .. } = plan;
    let Plan { parallel, isolation, workspace_path, models, subagents, agents, prices, .. } = plan;
    let Plan { execution, metadata, .. } = plan;
    let mut config = Keys::default();
    config.some("workspace_path", workspace_path);
    config.some("models", &models.as_deref().map(self::models));
    config.filled("subagents", subagents.iter().map(subagent).collect::<Map<_, _>>());
    config.filled("agents", agents.iter().map(program).collect::<Map<_, _>>());
    config.filled("prices", prices.iter().map(|(name, price)| (name.clone(), self::price(price))).collect());
    let mut keys = Keys::default();
    keys.some("parallel", parallel);
    keys.some("isolation", isolation);
    keys.filled("config", config.0);
    keys.list("groups", groups.iter().map(group));
    keys.list("epics", epics.iter().map(epic));
    keys.list("execution_order", execution_order.iter().map(plain));
    keys.filled("limits", self::limits(limits));
    if !notifications.is_empty() {
        keys.put("notifications", notifications);
    }
    keys.some("execution", execution);
    keys.filled("metadata", metadata.clone());
    keys.0
}

/// Everything of a task but its id and its name. `entrants` are the tasks that race for it.
pub(crate) fn task(task: &Task, entrants: &[&Task]) -> Map<String, Value> {
    let Task { id: _, name: _, work, expected_deliverable, priority, dependencies, epic, group, .. } = task;
    let Task { agent, fallback_agents, model, subagent_type, applicable_skills, files, .. } = task;
    let Task { preparation, isolation, sandbox, network, changes, estimate, repository, .. } = task;
    let Task { pr_strategy, auto_pr_timeout, cloud, racing: _, .. } = task;
    let mut keys = Keys::default();
    match work {
        Work::Prompt(prompt) => keys.put("prompt", prompt),
        Work::Run(command) => keys.put("run", command),
    }
    keys.put("priority", &priority.0);
    keys.put("dependencies", &dependencies.iter().map(dependency).collect::<Vec<_>>());
    keys.some("epic", epic);
    keys.some("group", group);
    keys.some("agent", agent);
    keys.list("fallback_agents", fallback_agents.iter().map(plain));
    keys.some("model", model);
    if let Work::Prompt(_) = work {
        // Otherwise its words would call for a specialist once more.
        keys.put("subagent_type", subagent_type.as_deref().unwrap_or(NO_SPECIALIST));
    }
    keys.list("applicable_skills", applicable_skills.iter().map(plain));
    keys.some("expected_deliverable", expected_deliverable);
    keys.list("files", files.iter().map(plain));
    prepared(&mut keys, preparation.as_deref());
    landing(&mut keys, task);
    attempts(&mut keys, task);
    keys.some("isolation", isolation);
    keys.some("sandbox", sandbox);
    keys.some("network", network);
    keys.put("changes", changes);
    keys.time("estimate", *estimate);
    keys.some("repository", repository);
    keys.some("pr_strategy", pr_strategy);
    keys.time("auto_pr_timeout", *auto_pr_timeout);
    keys.some("cloud", &cloud.as_deref().map(self::cloud));
    race(&mut keys, task, entrants);
    keys.0
}

/// How its work is checked, and how it lands.
fn landing(keys: &mut Keys, task: &Task) {
    let Task { verify, fix_rounds, gate_proof, review, measure, merge_strategy, on_conflict, land, .. } =
        task;
    keys.list("verify", verify.iter().map(plain));
    keys.put("fix_rounds", fix_rounds);
    if *gate_proof {
        keys.put("gate_proof", gate_proof);
    }
    keys.some("review", review);
    keys.some("measure", &measure.as_deref().map(self::measure));
    keys.put("merge_strategy", merge_strategy);
    keys.put("on_conflict", on_conflict);
    keys.put("land", land);
}

/// How its attempts go, and what they may use.
fn attempts(keys: &mut Keys, task: &Task) {
    let Task {
        report,
        preempt,
        speculate,
        timeout,
        retry,
        recovery,
        env,
        env_pass,
        requires,
        permissions,
        ..
    } = task;
    let Task { max_cost, max_tokens, max_turns, resources, .. } = task;
    if *report {
        keys.put("report", report);
    }
    if !task.expertise {
        keys.put("expertise", &false);
    }
    if *preempt {
        keys.put("preempt", preempt);
    }
    if *speculate {
        keys.put("speculate", speculate);
    }
    keys.time("timeout", *timeout);
    keys.put("retry_policy", &self::retry(retry));
    keys.some("recovery", recovery);
    keys.filled("env", env.iter().map(|(name, value)| (name.clone(), plain(value))).collect());
    keys.list("env_pass", env_pass.iter().map(plain));
    keys.list("requires", requires.iter().map(plain));
    keys.some("permissions", &permissions.as_deref().map(self::permissions));
    keys.some("max_cost", &max_cost.map(|cost| cost.dollars()));
    keys.some("max_tokens", max_tokens);
    keys.some("max_turns", max_turns);
    keys.filled("resources", resources.iter().map(|(name, amount)| (name.clone(), plain(amount))).collect());
}

/// The keys of one mapping, in the order in which they are put there.
#[derive(Default)]
struct Keys(Map<String, Value>);

impl Keys {
    fn put(&mut self, key: &str, value: &(impl Serialize + ?Sized)) {
        self.0.insert(key.to_owned(), plain(value));
    }

    fn some(&mut self, key: &str, value: &Option<impl Serialize>) {
        if let Some(value) = value {
            self.put(key, value);
        }
    }

    fn time(&mut self, key: &str, length: Option<Millis>) {
        self.some(key, &length.map(time));
    }

    fn list(&mut self, key: &str, items: impl Iterator<Item = Value>) {
        let items: Vec<Value> = items.collect();
        if !items.is_empty() {
            self.put(key, &items);
        }
    }

    fn filled(&mut self, key: &str, values: Map<String, Value>) {
        if !values.is_empty() {
            self.0.insert(key.to_owned(), values.into());
        }
    }
}

/// Nothing that is handed in here can fail: texts, numbers and lists of them.
fn plain(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// With its unit: a plain number would be seconds, and not exact.
fn time(length: Millis) -> String {
    format!("{}ms", length.0)
}

/// By its id alone where nothing else is said of it.
fn dependency(on: &Dependency) -> Value {
    match (on.when, on.kind) {
        (When::Landed, Kind::Hard) => plain(&on.id),
        _ => plain(on),
    }
}

/// What former runs and the task's own words teach is not part of a plan's text: it is learned again.
fn prepared(keys: &mut Keys, preparation: Option<&Preparation>) {
    let Some(preparation) = preparation else { return };
    let Preparation { setup, keep, conflict_markers, own_agent_home, fallback_models, .. } = preparation;
    let Preparation { expected_lines, leaves_base_unchecked, subagents, max_subagent_cost, .. } = preparation;
    if preparation.survives {
        keys.put("survive", &true);
    }
    let Preparation { learned_files: _, subagent_words: _, missing_subagent: _, learned_time: _, .. } =
        preparation;
    keys.list("setup", setup.iter().map(plain));
    keys.list("keep", keep.iter().map(plain));
    keys.list("conflict_markers", conflict_markers.iter().map(plain));
    if *own_agent_home {
        keys.put("agent_home", "own");
    }
    keys.list("fallback_models", fallback_models.iter().map(plain));
    keys.some("expected_lines", expected_lines);
    if *leaves_base_unchecked {
        keys.put("check_base", &false);
    }
    if *subagents {
        keys.put("subagents", "on");
    }
    keys.some("max_subagent_cost", &max_subagent_cost.map(|cost| cost.dollars()));
}

fn retry(retry: &RetryPolicy) -> Value {
    let RetryPolicy { max_attempts, initial_delay, backoff_factor, max_delay, jitter } = retry;
    json!({
        "max_attempts": max_attempts,
        "initial_delay": time(*initial_delay),
        "backoff_factor": backoff_factor,
        "max_delay": time(*max_delay),
        "jitter": jitter,
    })
}

/// The form of these is that of their file but for a length of time in it.
fn timed(value: &impl Serialize, key: &str, length: Option<Millis>) -> Value {
    let mut value = plain(value);
    if let Some(length) = length {
        value[key] = time(length).into();
    }
    value
}

fn permissions(permissions: &Permissions) -> Value {
    timed(permissions, "answer_within", permissions.answer_within)
}

fn measure(measure: &Measure) -> Value {
    timed(measure, "within", measure.within)
}

fn cloud(cloud: &Cloud) -> Value {
    timed(cloud, "settle", cloud.settle)
}

fn race(keys: &mut Keys, task: &Task, entrants: &[&Task]) {
    let Some(race) = task.race() else { return };
    let copies = vec![Entrant::default(); race.entrants.len()];
    match task.entrant_ids(&copies) {
        Ok(ids) if ids == race.entrants => keys.put("attempts_in_parallel", &copies.len()),
        _ => {
            let entrant = |entrant: &&Task| {
                let mut keys = Keys::default();
                keys.put("agent", entrant.agent_name());
                keys.some("model", &entrant.model);
                keys.0.into()
            };
            keys.list("race", entrants.iter().map(entrant));
        }
    }
    if race.wins == Wins::Best {
        keys.put("race_for", &race.wins);
    }
}

fn group(group: &Group) -> Value {
    let Group { name, id: _, description, max_parallel } = group;
    let mut keys = Keys::default();
    keys.put("name", name);
    keys.some("description", description);
    keys.some("max_parallel", max_parallel);
    keys.0.into()
}

fn epic(epic: &Epic) -> Value {
    let Epic { id, name, dependencies, isolation_scope, land, epic_landing } = epic;
    let mut keys = Keys::default();
    keys.put("id", id);
    keys.some("name", name);
    keys.list("dependencies", dependencies.iter().map(plain));
    keys.put("isolation_scope", isolation_scope);
    if *isolation_scope == Scope::Epic {
        keys.put("epic_landing", epic_landing);
    }
    keys.some("land", land);
    keys.0.into()
}

fn limits(limits: &Limits) -> Map<String, Value> {
    let Limits { max_cost, max_tokens, max_time, max_attempts, on_budget, outage_patience, .. } = limits;
    let Limits {
        orphan_grace, follow_ups, follow_ups_unasked, hold_out, learn_cost, agents, resources, ..
    } = limits;
    let mut keys = Keys::default();
    keys.some("max_cost", &max_cost.map(|cost| cost.dollars()));
    keys.some("max_tokens", max_tokens);
    keys.time("max_time", *max_time);
    keys.some("max_attempts", max_attempts);
    if *on_budget != Default::default() {
        keys.put("on_budget", on_budget);
    }
    keys.time("outage_patience", *outage_patience);
    keys.time("orphan_grace", *orphan_grace);
    if *follow_ups > 0 {
        keys.put("follow_ups", follow_ups);
    }
    keys.some("hold_out", hold_out);
    keys.some("learn_cost", &learn_cost.map(|cost| cost.dollars()));
    if *follow_ups_unasked {
        keys.put("approve_follow_ups", &false);
    }
    keys.filled("agents", agents.iter().map(|(name, most)| (name.clone(), plain(most))).collect());
    keys.filled("resources", resources.iter().map(|(name, most)| (name.clone(), plain(most))).collect());
    keys.0
}

fn models(models: &Models) -> Value {
    let Models { choice, tiers, by_priority, by_type, weights, cuts, escalate } = models;
    let named = |number: u8| Priority(number).name();
    let by_priority: Map<String, Value> =
        by_priority.iter().map(|(number, tier)| (named(*number).to_owned(), plain(tier))).collect();
    json!({
        "choice": choice,
        "tiers": tiers,
        "by_priority": by_priority,
        "by_type": by_type,
        "weights": weights,
        "cuts": cuts,
        "escalate": escalate,
    })
}

/// Where it was found is not for a file to say.
fn subagent(subagent: &Subagent) -> (String, Value) {
    let Subagent { name, description, words, agent, model, prompt, from: _ } = subagent;
    let said = |text: &String| Some(text.clone()).filter(|text| !text.trim().is_empty());
    let mut keys = Keys::default();
    keys.some("description", &said(description));
    keys.list("words", words.iter().map(plain));
    keys.some("agent", agent);
    keys.some("model", model);
    keys.some("prompt", &said(prompt));
    (name.clone(), keys.0.into())
}

fn program((name, program): (&String, &Program)) -> (String, Value) {
    let mut value = plain(program);
    // Left out it would be 0 alone.
    value["exit_codes"] = plain(&program.exit_codes);
    (name.clone(), value)
}

fn price(price: &Price) -> Value {
    let Price { input, output, cache_read, cache_write } = price;
    let mut keys = Keys::default();
    keys.put("input", &input.dollars());
    keys.put("output", &output.dollars());
    keys.some("cache_read", &cache_read.map(|price| price.dollars()));
    keys.some("cache_write", &cache_write.map(|price| price.dollars()));
    keys.0.into()
}
