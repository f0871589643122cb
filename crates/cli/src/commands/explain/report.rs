//! A task explained: for people a line for each thing that decides what becomes of it, for programs the same as JSON.

use conductor_core::file::Origin;
use conductor_core::plan::models::{Models, Score};
use conductor_core::plan::{Isolation, Task, Wins, Work};
use conductor_core::report::before_its_batch;
use conductor_core::run::event::{DrainReason, FailureClass};
use conductor_core::run::{Run, Stage, Status, TaskState};
use conductor_core::schedule::{recovery, review};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::TaskId;
use serde_json::{Value, json};

use super::Subject;
use super::bounds::{limits, resources, sandbox, tries};
use super::failures::{decided, decided_json, risks, ways};
use crate::end_block::one_line;

pub(super) fn text(subject: &Subject) -> String {
    let task = subject.task();
    let mut lines = vec![format!("task {}: {}", task.id, one_line(&task.name))];
    let mut tell = |head: &str, words: String| {
        for (place, line) in words.lines().enumerate() {
            let head = if place == 0 { head } else { "" };
            lines.push(format!("  {head:<11} {line}").trim_end().to_owned());
        }
    };
    tell("status", status(subject));
    tell("work", work(task));
    tell("agent", agent(subject));
    tell("model", model(subject));
    tell("specialist", specialist(subject));
    tell("skills", skills(subject));
    tell("files", files(subject));
    tell("checks", checks(task));
    tell("review", review(task));
    tell("workspace", workspace(subject.isolation).to_owned());
    tell("sandbox", sandbox(task));
    tell("tries", tries(task));
    tell("recovery", ways(task));
    tell("risks", risks(task));
    tell("decided", decided(subject).join("\n"));
    tell("limits", limits(task));
    tell("resources", resources(subject));
    tell("written", written(subject));
    lines.join("\n") + "\n"
}

fn status(subject: &Subject) -> String {
    let Some(found) = &subject.found else {
        let first = waits_for(subject.task());
        return match first.is_empty() {
            true => "only in a file; could start at once".to_owned(),
            false => format!("only in a file; would wait for {first}"),
        };
    };
    let (run, progress) = (&found.found.run, found.progress());
    if let Some(waits) = subject.waits.as_deref().filter(|waits| !waits.is_empty()) {
        let lines: Vec<String> =
            waits.iter().map(|wait| format!("it waits {}", one_line(&wait.to_string()))).collect();
        return format!("{} in run {}\n{}", progress.state.status(), found.found.stored.id, lines.join("\n"));
    }
    let told = match &progress.state {
        TaskState::Pending if subject.waits.is_some() => "is about to start".to_owned(),
        TaskState::Pending => pending(run, subject.task()),
        TaskState::Running(running) => match (running.ended, running.process) {
            (true, _) => "done, waits to land".to_owned(),
            (false, _) => format!("attempt {} is at work", running.attempt),
        },
        TaskState::Racing => "several race for it".to_owned(),
        TaskState::Waiting { delay, .. } => format!("waits {delay} before it is tried again"),
        TaskState::Asking { question, .. } => {
            format!("waits for an answer: {}", one_line(&question.to_string()))
        }
        TaskState::InReview { .. } => "done, its work waits for your review: conductor review".to_owned(),
        TaskState::Completed => match &progress.landed {
            Some(landed) => format!("landed as {:.10}", landed.commit),
            None => "done, nothing was changed".to_owned(),
        },
        TaskState::Failed(failure) => {
            let class = class(failure.class);
            format!("{}\nfor what that means: conductor explain {class}", one_line(&failure.message))
        }
        TaskState::Skipped { culprit: Some(culprit) } => format!("{culprit} did not end well"),
        TaskState::Skipped { culprit: None } => {
            run.plan().blocked(&subject.task().id).unwrap_or_default().to_owned()
        }
        TaskState::Cancelled => String::new(),
    };
    let status = progress.state.status();
    let told = if told.is_empty() { told } else { format!(": {told}") };
    format!("{status} in run {}{told}{}", found.found.stored.id, left(subject, run, status))
}

/// Says that the run is not active, and how to resume it.
fn left(subject: &Subject, run: &Run, status: Status) -> String {
    let Some(found) = subject.found.as_ref().filter(|_| subject.waits.is_none() && !status.is_end()) else {
        return String::new();
    };
    let why = match run.stage() {
        Stage::Stopped(why) => match why {
            DrainReason::User => ", it was stopped",
            DrainReason::FailFast => ", it was left at the first failure",
            DrainReason::Budget => ", it was left at its budget",
            DrainReason::Unauthorized => ", it was left because an agent is not logged in",
            DrainReason::Person => ", it was left waiting for a person",
        },
        _ => "",
    };
    format!("\nthe run is not active{why}; resume it with: conductor run --resume {}", found.found.stored.id)
}

fn class(class: FailureClass) -> String {
    serde_json::to_value(class).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn pending(run: &Run, task: &Task) -> String {
    let open = task.dependencies.iter().filter_map(|on| {
        let status = run.progress(run.place(&on.id)?).state.status();
        (status != Status::Completed).then(|| format!("{} ({status})", on.id))
    });
    let open: Vec<String> = open.collect();
    if !open.is_empty() {
        return format!("waits for {}", open.join(", "));
    }
    let before = before_its_batch(run, &task.id);
    match before.as_slice() {
        [] => "nothing it names keeps it; it waits for a slot, its epic or files others hold".to_owned(),
        [one] => format!("waits for the batch before its own, of which {one} is not over"),
        [one, rest @ ..] => {
            format!(
                "waits for the batches before its own, of which {one} and {} more are not over",
                rest.len()
            )
        }
    }
}

fn waits_for(task: &Task) -> String {
    task.dependencies.iter().map(|on| on.id.as_str()).collect::<Vec<_>>().join(", ")
}

fn work(task: &Task) -> String {
    match &task.work {
        Work::Prompt(prompt) => format!("a prompt of {}", counted(prompt.split_whitespace().count(), "word")),
        Work::Run(command) => {
            let more =
                if task.outlives_its_coordinator() { ", which goes on when conductor is gone" } else { "" };
            format!("the command {}{more}", one_line(&command.to_string()))
        }
    }
}

fn agent(subject: &Subject) -> String {
    let shown = |agent: &str| match subject.absent.iter().any(|absent| absent == agent) {
        true => format!("{agent} (not there)"),
        false => agent.to_owned(),
    };
    if let Some(race) = subject.task().race() {
        let by = |id: &TaskId| format!("{id} ({})", subject.plan.task(id).map_or("", Task::agent_name));
        let wins = match race.wins {
            Wins::First => "the first to land wins",
            Wins::Best => "the best by score wins when all have ended",
        };
        let all: Vec<String> = race.entrants.iter().map(by).collect();
        return format!("{} race for it; {wins}", all.join(", "));
    }
    let chain: Vec<String> = subject.task().agents().map(shown).collect();
    let mut told = chain.join(", then ");
    if let Some(why) = &subject.undoable {
        told += &format!("\nno agent can do it: {why}");
    }
    if let Some(choice) = subject.agent_choice() {
        let model = choice.model.as_deref().map(|model| format!(" with {model}")).unwrap_or_default();
        let why = if choice.why.is_empty() { String::new() } else { format!(" ({})", choice.why) };
        told += &format!("\nlast done by {}{model}{why}", choice.agent);
    }
    told
}

fn model(subject: &Subject) -> String {
    let Some(chosen) = subject.model() else { return String::new() };
    let told = match &chosen.model {
        Some(model) => format!("{model} ({})", chosen.why),
        None => chosen.why.clone(),
    };
    let score = chosen.score.map(|score| format!("\n{}", parts(subject, &score))).unwrap_or_default();
    format!("{told}{score}")
}

fn parts(subject: &Subject, score: &Score) -> String {
    let built_in = Models::default();
    let weights = subject.plan.models.as_deref().unwrap_or(&built_in).weights;
    let part = |name: &str, part: f64, weight: f64| format!("{name} {part:.2} × {weight:.2}");
    [
        part("reasoning", score.reasoning, weights.reasoning),
        part("code", score.code, weights.code),
        part("domain", score.domain, weights.domain),
        part("context", score.context, weights.context),
    ]
    .join(", ")
}

fn specialist(subject: &Subject) -> String {
    let Some(one) = subject.plan.subagent(subject.task()) else { return "none".to_owned() };
    let words = words(subject.task());
    let why = match words.is_empty() {
        true => "the task says so".to_owned(),
        false => format!("called for by {}", words.join(", ")),
    };
    format!("{}: {why} ({})", one.name, one.from)
}

fn words(task: &Task) -> &[String] {
    task.preparation.as_ref().map_or(&[], |preparation| &preparation.subagent_words)
}

fn skills(subject: &Subject) -> String {
    let shown = subject.skills().map(|(name, skill)| match skill {
        Some(skill) => {
            let file = skill.file.strip_prefix(&subject.root).unwrap_or(&skill.file).display().to_string();
            format!("{name} ({file})")
        }
        None => format!("{name} (missing, would be passed over)"),
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn files(subject: &Subject) -> String {
    let task = subject.task();
    match (task.files.is_empty(), task.learned_files()) {
        (false, _) => format!("{} (the task says so)", task.files.join(", ")),
        (true, []) => "unknown; it runs beside any other task".to_owned(),
        (true, learned) => {
            let from =
                if named_in_words(task) { "named in its words" } else { "touched when it was last done" };
            format!("{} ({from})", learned.join(", "))
        }
    }
}

fn named_in_words(task: &Task) -> bool {
    let Work::Prompt(prompt) = &task.work else { return false };
    let words = format!("{}\n{prompt}", task.name);
    conductor_core::plan::mentions::files(&words, task.expected_deliverable.as_deref())
        == task.learned_files()
}

fn checks(task: &Task) -> String {
    match task.verify.is_empty() {
        true if task.review.is_some() => "none".to_owned(),
        true => "none: its work is merged unchecked".to_owned(),
        false => format!("{}; mended up to {}", task.verify.join("; "), counted(task.fix_rounds, "time")),
    }
}

fn review(task: &Task) -> String {
    let Some(review) = task.review.as_deref() else { return String::new() };
    format!("by {}, before it lands", review::reviewer(task, review).agent_name())
}

fn workspace(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Worktree => "a worktree of its own",
        Isolation::Clone => "a clone of its own",
        Isolation::None => "where you are",
    }
}

/// Which settings are written, and where; all others are built in.
fn written(subject: &Subject) -> String {
    let of = |of_config: bool| {
        let keys = subject.origins.iter().filter(|one| one.of_config == of_config);
        let place = |one: &Origin| match &one.file {
            Some(variable) if one.line == 0 => format!("{} ({variable})", one.key),
            Some(file) => format!("{} ({file}:{})", one.key, one.line),
            None => format!("{} (line {})", one.key, one.line),
        };
        keys.map(place).collect::<Vec<_>>().join(", ")
    };
    let [own, config] = [of(false), of(true)];
    let told =
        [("by the task", own), ("by the config", config)].into_iter().filter(|(_, keys)| !keys.is_empty());
    told.map(|(who, keys)| format!("{who}: {keys}")).collect::<Vec<_>>().join("\n")
}

pub(super) fn json(subject: &Subject) -> Value {
    let task = subject.task();
    let chosen = subject.model();
    let score = chosen.as_ref().and_then(|chosen| chosen.score).map(|score| {
        json!({
            "total": score.total,
            "reasoning": score.reasoning,
            "code": score.code,
            "domain": score.domain,
            "context": score.context,
        })
    });
    let agents: Vec<Value> = task
        .agents()
        .map(
            |agent| json!({ "name": agent, "present": !subject.absent.iter().any(|absent| absent == agent) }),
        )
        .collect();
    let skills: Vec<Value> = subject
        .skills()
        .map(|(name, skill)| json!({ "name": name, "file": skill.map(|skill| skill.file.display().to_string()) }))
        .collect();
    let specialist = subject
        .plan
        .subagent(task)
        .map(|one| json!({ "name": one.name, "from": one.from, "words": words(task) }));
    let origins: Vec<Value> = subject
        .origins
        .iter()
        .map(|one| json!({ "key": one.key, "by": if one.of_config { "config" } else { "task" }, "file": one.file, "line": Some(one.line).filter(|line| *line > 0) }))
        .collect();
    json!({
        "schema": "conductor.explanation/1",
        "task": task.id.as_str(),
        "name": task.name,
        "run": subject.found.as_ref().map(|found| found.found.stored.id.to_string()),
        "status": subject.found.as_ref().map(|found| found.progress().state.status().name()),
        "waits_for": task.dependencies.iter().map(|on| on.id.as_str()).collect::<Vec<_>>(),
        "live": subject.waits.is_some(),
        "waits": subject.waits.as_deref().map(crate::commands::status::reasons),
        "agents": agents,
        "agent": matches!(task.work, Work::Prompt(_)).then(|| subject.agent()),
        "model": chosen.as_ref().map(|chosen| json!({
            "name": chosen.model,
            "tier": chosen.tier.map(|tier| tier.name()),
            "why": chosen.why,
            "score": score,
        })),
        "specialist": specialist,
        "skills": skills,
        "files": { "declared": task.files, "learned": task.learned_files() },
        "verify": task.verify,
        "fix_rounds": task.fix_rounds,
        "isolation": match subject.isolation {
            Isolation::Worktree => "worktree",
            Isolation::Clone => "clone",
            Isolation::None => "none",
        },
        "limits": task.limits(),
        "recovery": task.recovery,
        "risks": recovery::risks(task).iter().map(|(risk, words)| json!({ "risk": risk.name(), "words": words })).collect::<Vec<_>>(),
        "decisions": decided_json(subject),
        "written": origins,
    })
}
