//! Plans and options as any user might write them.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::super::*;
use crate::plan::graph::Strategy as Mode;
use crate::plan::recovery::{Recovery, Strategy as Way};
use crate::plan::{Entrant, Epic, EpicLanding, Land, OnConflict, Scope, Wins};

#[derive(Debug, Clone)]
pub(super) struct RandomTask {
    before: Vec<(prop::sample::Index, u8)>,
    priority: u8,
    group: Option<u8>,
    agent: Option<(u8, bool, bool)>,
    resource: Option<(u8, u64)>,
    files: Option<u8>,
    max_attempts: u32,
    timeout: Option<u64>,
    fix_rounds: u32,
    on_conflict: u8,
    approve: bool,
    preempt: bool,
    speculate: bool,
    epic: Option<u8>,
    /// Ways out of failures, as numbers of `Strategy::NAMES`.
    recovery: Option<(Vec<u8>, Vec<u8>)>,
    risky: bool,
    race: Option<(u8, bool)>,
}

const FILES: [&str; 4] = ["src/**", "src/a.rs", "docs/*.md", "docs/a.md"];

pub(super) fn random_task() -> impl Strategy<Value = RandomTask> {
    (
        prop::collection::vec((any::<prop::sample::Index>(), 0u8..4), 0..4),
        0u8..5,
        prop::option::weighted(0.4, 0u8..2),
        prop::option::weighted(0.5, (0u8..2, any::<bool>(), any::<bool>())),
        prop::option::weighted(0.4, (0u8..2, 1u64..6)),
        prop::option::weighted(0.3, 0u8..4),
        1u32..4,
        prop::option::weighted(0.2, 1u64..50),
        (
            0u32..3,
            0u8..3,
            prop::option::weighted(0.4, 0u8..3),
            prop::bool::weighted(0.3),
            any::<(bool, bool)>(),
        ),
        (
            prop::option::weighted(
                0.5,
                (prop::collection::vec(0u8..7, 0..4), prop::collection::vec(0u8..7, 0..4)),
            ),
            any::<bool>(),
            prop::option::weighted(0.25, (2u8..5, any::<bool>())),
        ),
    )
        .prop_map(
            |(before, priority, group, agent, resource, files, max_attempts, timeout, merging, failing)| {
                let (fix_rounds, on_conflict, epic, approve, (preempt, speculate)) = merging;
                let (recovery, risky, race) = failing;
                RandomTask {
                    before,
                    priority,
                    group,
                    agent,
                    resource,
                    files,
                    max_attempts,
                    timeout,
                    fix_rounds,
                    on_conflict,
                    approve,
                    preempt,
                    speculate,
                    epic,
                    recovery,
                    risky,
                    race,
                }
            },
        )
}

pub(super) fn random_plan() -> impl Strategy<Value = Plan> {
    (prop::collection::vec(random_task(), 1..24), 1u32..3, any::<bool>()).prop_map(
        |(tasks, group_limit, whole)| {
            let limit = |name: &str| Group { max_parallel: Some(group_limit), ..Group::named(name) };
            untied(Plan {
                tasks: tasks
                    .iter()
                    .enumerate()
                    .flat_map(|(place, task)| raced(built(place, task), task))
                    .collect(),
                groups: vec![limit("g0"), limit("g1")],
                epics: ["e0", "e1", "e2"]
                    .map(|name| Epic { epic_landing: landing(whole), ..shared_epic(name) })
                    .into(),
                ..Plan::default()
            })
        },
    )
}

fn landing(whole: bool) -> EpicLanding {
    if whole { EpicLanding::All } else { EpicLanding::WhatSucceeded }
}

pub(super) fn shared_epic(name: &str) -> Epic {
    Epic {
        id: name.into(),
        name: None,
        dependencies: Vec::new(),
        isolation_scope: Scope::Epic,
        land: None,
        epic_landing: Default::default(),
    }
}

/// Epics that cannot land as one land task by task.
pub(super) fn untied(mut plan: Plan) -> Plan {
    let knot = |plan: &Plan| {
        let graphs = [Mode::Queue, Mode::Batch, Mode::Sequential].map(|mode| Graph::new(plan, mode));
        graphs.into_iter().find_map(|graph| match graph {
            Err(GraphError::SharedEpics(names)) => Some(names),
            _ => None,
        })
    };
    while let Some(names) = knot(&plan) {
        let tied = plan.epics.iter_mut().find(|epic| names.contains(&epic.id)).unwrap();
        tied.isolation_scope = Scope::Task;
    }
    plan
}

/// The task, and those who race for it where it is a prompt that lands by itself.
pub(super) fn raced(mut task: Task, random: &RandomTask) -> Vec<Task> {
    let (Some((count, first)), Work::Prompt(_), None) = (random.race, &task.work, &task.epic) else {
        return vec![task];
    };
    let entrants = vec![Entrant::default(); count.into()];
    let entrants = task.raced(&entrants, if first { Wins::First } else { Wins::Best }).unwrap();
    std::iter::once(task).chain(entrants).collect()
}

pub(super) fn built(place: usize, random: &RandomTask) -> Task {
    let work = match random.agent {
        Some((_, true, _)) => Work::Prompt("do it".into()),
        _ if random.risky => Work::Run(Command::Line("git push".into())),
        _ => Work::Run(Command::Line("true".into())),
    };
    let mut task = Task::new(id(&format!("t{place}")), work);
    task.priority = Priority(random.priority);
    task.group = random.group.map(|n| format!("g{n}"));
    task.agent = random.agent.map(|(n, _, _)| format!("agent{n}"));
    if let Some((n, true, true)) = random.agent {
        task.fallback_agents = vec![format!("agent{}", 1 - n), "agent2".into()];
    }
    task.resources = random.resource.iter().map(|&(n, amount)| (format!("r{n}"), amount)).collect();
    task.files = random.files.iter().map(|&n| FILES[n as usize].to_owned()).collect();
    task.retry = RetryPolicy { max_attempts: random.max_attempts, ..RetryPolicy::default() };
    task.timeout = random.timeout.map(Millis::from_secs);
    task.fix_rounds = random.fix_rounds;
    task.on_conflict =
        [OnConflict::Manual, OnConflict::Ours, OnConflict::RetryLater][random.on_conflict as usize];
    task.land = if random.approve { Land::Approve } else { Land::Auto };
    task.preempt = random.preempt;
    task.speculate = random.speculate;
    task.epic = random.epic.map(|n| format!("e{n}"));
    let ways = |numbers: &[u8]| numbers.iter().map(|&n| Way::NAMES[n as usize].1).collect();
    task.recovery = random.recovery.as_ref().map(|(transient, ambiguous)| {
        let (transient, ambiguous) = (ways(transient), ways(ambiguous));
        Box::new(Recovery { transient, ambiguous, ..Recovery::default() })
    });
    for (before, how) in random.before.iter().filter(|_| place > 0) {
        task.dependencies.push(Dependency {
            id: id(&format!("t{}", before.index(place))),
            when: if how % 2 == 0 { When::Landed } else { When::Finished },
            kind: if how / 2 == 0 { Kind::Hard } else { Kind::Soft },
        });
    }
    task
}

pub(super) fn random_options() -> impl Strategy<Value = Options> {
    (1u32..6, 0u8..3, any::<bool>(), 1u32..3, 3u64..6).prop_map(
        |(slots, strategy, fail_fast, agents, gpu)| {
            let mut options = Options::with_slots(slots);
            options.strategy = [Mode::Queue, Mode::Batch, Mode::Sequential][strategy as usize];
            options.fail_fast = fail_fast;
            options.limits.agents.insert("agent0".into(), agents);
            options.limits.resources.insert("r0".into(), gpu);
            options.limits.follow_ups = 10;
            options.limits.follow_ups_unasked = gpu == 3;
            options
        },
    )
}
