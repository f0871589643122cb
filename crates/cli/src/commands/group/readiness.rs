//! What of a group can be done now: what has landed before need not be, and what waits for something that is neither
//! landed nor closed cannot.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use conductor_core::plan::groups::{Chosen, Circumstances, SEQUENTIAL};
use conductor_core::plan::subagents::{Known, assign};
use conductor_core::plan::{Dependency, Done, Plan, Task};
use conductor_core::run::Run;
use conductor_core::values::ids::{RunId, TaskId};
use conductor_engine::agents::subagents;
use conductor_engine::host::home::Home;
use conductor_engine::records::beads::{self, Claims, Inquiry, Issue};
use conductor_engine::records::groups::{self, Former};
use conductor_engine::stores::{self, EarlierRuns, LogReader};

use crate::archive::patiently;
use crate::args::GroupExecute;
use crate::commands::import::Tracker;
use crate::commands::run::issues::claimed;
use crate::commands::talk;
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;

/// What is to be done, and why some of it cannot be.
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) circumstances: Circumstances,
    /// Held until the run is in the store, so that no other process begins the same tasks.
    pub(super) turn: File,
}

pub(super) async fn of(
    mut chosen: Chosen,
    source: &str,
    directory: &Path,
    args: &GroupExecute,
    only_looks: bool,
) -> Result<Ready, CliError> {
    let home = Home::open()?;
    let turn = beads::turn(&home)?;
    let store = patiently(|| stores::open_to_look(&home)).await?;
    if !only_looks {
        refuse_twice(&*store, directory, &chosen).await?;
    }
    let beads = Beads::read(directory, &home, &*store, only_looks).await?;
    let sources = [source.to_owned(), beads::source(directory), beads::export_source(directory)];
    let mut earlier = EarlierRuns::of(&*store);
    let landed = groups::landed(&mut earlier, &sources, directory, |_, _| true).await?;
    let same = |run: &Run, task: &Task| {
        run.plan().execution.is_some()
            && chosen.plan.task(&task.id).is_some_and(|known| known.work == task.work)
    };
    let before = match args.again {
        true => BTreeMap::new(),
        false => groups::landed(&mut earlier, &sources[..1], directory, same).await?,
    };
    earlier.notice().into_iter().for_each(talk);
    let done: Vec<Done> = chosen.plan.asked().filter_map(|task| beads.done(task, &before)).collect();
    if args.group_id.is_none() {
        refuse_unmerged(&done, &before)?;
    }
    leave_out(&mut chosen, &done)?;
    let mut blocked = beads.enrich(&mut chosen, directory)?;
    for (task, outside) in &chosen.outside {
        let why = outside.iter().find_map(|on| beads.objection(on, landed.get(on)));
        if let Some(why) = why {
            blocked.entry(task.clone()).or_insert(why);
        }
    }
    for (task, why) in &blocked {
        talk(format!("{task} is blocked: {why}"));
    }
    let issues = beads.issues(&chosen.plan);
    let outside = chosen.outside.into_iter().filter(|(_, on)| !on.is_empty()).collect::<BTreeMap<_, _>>();
    let may_change = !beads.all.is_empty() || !outside.is_empty();
    let circumstances = Circumstances { blocked, done, issues, outside, may_change };
    Ok(Ready { plan: chosen.plan, circumstances, turn })
}

async fn refuse_twice(store: &dyn LogReader, directory: &Path, chosen: &Chosen) -> Result<(), CliError> {
    let named = chosen.plan.tasks.iter().filter_map(|task| task.group.as_deref());
    let mut ids: Vec<&str> = named.map(|group| chosen.plan.group_id(group)).collect();
    ids.dedup();
    match groups::under_way(&mut EarlierRuns::of(store), directory, &ids).await? {
        None => Ok(()),
        Some((run, group)) => {
            let message = format!("group {group} is being carried out in run {run}, or was left in it");
            Err(CliError::new(Exit::StillRunning, message).help(format!(
                "wait for it: conductor group wait --group-id {group}; resume it: conductor run --resume {run}; give \
                 it up: conductor cancel --all --run {run}"
            )))
        }
    }
}

/// A group that follows others begins with their work.
fn refuse_unmerged(done: &[Done], before: &BTreeMap<String, Former>) -> Result<(), CliError> {
    let objection = |done: &Done| {
        let task = done.task.as_str();
        before.get(task).and_then(|former| former.objection(task))
    };
    match done.iter().find_map(objection) {
        Some(why) => Err(CliError::new(Exit::NothingToDo, format!("what follows cannot begin: {why}"))
            .help("merge it first; or do all of it anew with --again")),
        None => Ok(()),
    }
}

fn leave_out(chosen: &mut Chosen, done: &[Done]) -> Result<(), CliError> {
    if done.is_empty() {
        return Ok(());
    }
    let names = done.iter().map(|done| done.task.as_str()).collect::<Vec<_>>().join(", ");
    if done.len() == chosen.plan.asked().count() {
        return Err(CliError::new(Exit::NothingToDo, format!("all of it has been done before: {names}"))
            .help("--again does again what has landed; what is closed in beads is opened there"));
    }
    talk(format!("done before, and not done again: {names}"));
    chosen.leave_out(&done.iter().map(|done| done.task.clone()).collect());
    Ok(())
}

/// What beads knows, where it is used here.
pub(super) struct Beads {
    pub(super) all: Vec<Issue>,
    pub(super) claims: Claims,
    /// Whether what lands can be closed.
    closes: bool,
}

impl Beads {
    async fn read(
        directory: &Path,
        home: &Home,
        store: &dyn LogReader,
        only_looks: bool,
    ) -> Result<Beads, CliError> {
        if !beads::is_here(directory) {
            return Ok(Beads { all: Vec::new(), claims: Claims::default(), closes: false });
        }
        let tracker = Tracker::find(directory, home)?;
        let (all, bd) = match &tracker {
            Tracker::Bd(bd) => (bd.all()?, Some(bd)),
            Tracker::Export(path) => {
                let all =
                    beads::read_export(path).map_err(|error| CliError::new(Exit::InvalidFile, error))?;
                (all, None)
            }
        };
        let claims = claimed(bd.filter(|_| !only_looks), home, store, directory, None).await?;
        Ok(Beads { all, claims, closes: bd.is_some() })
    }

    /// As it is while a run is under way: what that one claims is free for it.
    pub(super) async fn others(
        directory: &Path,
        home: &Home,
        store: &dyn LogReader,
        own: &RunId,
    ) -> Result<Beads, CliError> {
        if !beads::is_here(directory) {
            return Ok(Beads { all: Vec::new(), claims: Claims::default(), closes: false });
        }
        let all = match &Tracker::find(directory, home)? {
            Tracker::Bd(bd) => bd.all()?,
            Tracker::Export(path) => {
                beads::read_export(path).map_err(|error| CliError::new(Exit::InvalidFile, error))?
            }
        };
        let claims = claimed(None, home, store, directory, Some(own)).await?;
        Ok(Beads { all, claims, closes: false })
    }

    fn issue(&self, id: &str) -> Option<&Issue> {
        self.all.iter().find(|issue| issue.id == id)
    }

    fn open(&self, id: &str) -> Option<&Issue> {
        self.issue(id).filter(|issue| !issue.is_closed())
    }

    /// Closed here, or landed before; what beads says counts, where it knows the task.
    fn done(&self, task: &Task, before: &BTreeMap<String, Former>) -> Option<Done> {
        let former = before.get(task.id.as_str());
        match self.issue(task.id.as_str()) {
            Some(issue) if !issue.is_closed() => return None,
            None if former.is_none() => return None,
            _ => {}
        }
        Some(Done {
            group: task.group.clone().unwrap_or_else(|| SEQUENTIAL.to_owned()),
            task: task.id.clone(),
            landed: former.is_some_and(|former| former.landed),
            subagent: former.and_then(|former| former.subagent.clone()),
            started: former.and_then(|former| former.started),
            ended: former.and_then(|former| former.ended),
        })
    }

    fn issues(&self, plan: &Plan) -> BTreeSet<TaskId> {
        let ids = plan.tasks.iter().map(|task| &task.id).filter(|_| self.closes);
        ids.filter(|id| self.open(id.as_str()).is_some()).cloned().collect()
    }

    /// Why a task that waits for something outside the plan cannot begin, where that is so.
    pub(super) fn objection(&self, on: &str, landed: Option<&Former>) -> Option<String> {
        match (self.issue(on), landed) {
            (Some(issue), _) if issue.is_closed() => None,
            (_, Some(former)) => former.objection(on),
            (Some(issue), None) => Some(format!("{on} is {} in beads", issue.status)),
            (None, None) => Some(format!("{on} has not landed")),
        }
    }

    /// Who does what, and what waits for what, as beads says it; which of them cannot be done now.
    fn enrich(&self, chosen: &mut Chosen, directory: &Path) -> Result<BTreeMap<TaskId, String>, CliError> {
        let mut blocked = BTreeMap::new();
        if self.all.is_empty() {
            return Ok(blocked);
        }
        let config = diagnostics::without_file()?.subagents;
        let known = Known::new(&config, &subagents::found(directory));
        let inquiry = Inquiry::of(&self.all);
        let ids: BTreeSet<String> = chosen.plan.tasks.iter().map(|task| task.id.to_string()).collect();
        for place in 0..chosen.plan.tasks.len() {
            let id = chosen.plan.tasks[place].id.clone();
            let Some(issue) = self.open(id.as_str()) else { continue };
            if let Some(why) = self.claims.taken.get(id.as_str()) {
                blocked.insert(id.clone(), format!("it {why}"));
            }
            match inquiry.held_by(issue) {
                Err(why) => drop(blocked.entry(id.clone()).or_insert(why)),
                Ok(on) => {
                    for on in on {
                        match ids.contains(on) {
                            true => wait_for(&mut chosen.plan, place, on),
                            false => {
                                chosen.outside.entry(id.clone()).or_default().insert(on.to_owned());
                            }
                        }
                    }
                }
            }
            let draft = inquiry.as_task(issue, &known);
            let task = &mut chosen.plan.tasks[place];
            if task.applicable_skills.is_empty() {
                task.applicable_skills = draft.applicable_skills;
            }
            if task.model.is_none() {
                task.model = draft.model;
            }
            if let Some(name) = draft.subagent_type {
                assign(&mut chosen.plan, place, &name, &draft.fallback_agents, &known).map_err(|name| {
                    CliError::new(
                        Exit::InvalidFile,
                        format!("issue {id} is for {name}, and there is no such subagent"),
                    )
                    .help("describe it in .claude/agents, or name another in fallback_agents")
                })?;
            }
            tell_entrants(&mut chosen.plan, place);
        }
        Ok(blocked)
    }
}

/// Those who race for a task do it with the same specialist and skills.
fn tell_entrants(plan: &mut Plan, place: usize) {
    let task = plan.tasks[place].clone();
    for entrant in plan.tasks.iter_mut().filter(|other| other.entrant_of() == Some(&task.id)) {
        entrant.subagent_type.clone_from(&task.subagent_type);
        entrant.applicable_skills.clone_from(&task.applicable_skills);
        entrant.preparation.clone_from(&task.preparation);
    }
}

fn wait_for(plan: &mut Plan, place: usize, on: &str) {
    let task = &mut plan.tasks[place];
    if let Ok(on) = TaskId::parse(on)
        && !task.dependencies.iter().any(|known| known.id == on)
    {
        task.dependencies.push(Dependency::on(on));
    }
}
