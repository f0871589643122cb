//! Random graphs, random ends, random orders, crashes anywhere: what must hold whatever happens.

mod random;
mod tally;

use std::collections::{BTreeMap, HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::plan::file_sets::FileSet;
use crate::plan::{Amendment, Land, Scope, Wins};
use crate::run::event::RECOVERY;
use crate::run::event::{Answerer, Capped, Comment, ReviewVerdict};
use crate::schedule::losing::MOST_LOST;
use crate::values::ids::WorkerId;
use random::{random_options, random_plan};

fn stops(state: &TaskState) -> bool {
    matches!(state, TaskState::Running(running) if running.stopping.is_some())
}

/// Drives one run and checks every decision against rules written down a second time, from the plan alone.
struct Checked {
    script: Script,
    options: Options,
    /// Every attempt that was started and not yet reported.
    live: Vec<(TaskId, Attempt)>,
    /// Those of them before which the branch is to be remembered.
    risky: Vec<(TaskId, Attempt)>,
    /// Those whose work is being checked.
    handed_in: HashSet<(TaskId, Attempt)>,
    /// The merge that was asked for and not yet answered; at most one.
    merge: Option<Action>,
    /// What the run's branch holds: survives every crash.
    branch: HashSet<String>,
    /// What the next move of the branch brings along.
    stacked: Vec<String>,
    completed: HashMap<TaskId, u32>,
    /// Commits that a person has approved.
    approved: HashSet<String>,
    finished: bool,
}

impl Checked {
    fn start(plan: Plan, options: Options) -> Checked {
        let (run, created) = Run::create(plan, now(0));
        let (scheduler, decision) = Scheduler::start(run, options.clone(), now(0)).unwrap();
        let script = Script { scheduler, log: vec![created], actions: Vec::new(), secs: 0 };
        let mut checked = Checked {
            script,
            options,
            live: Vec::new(),
            risky: Vec::new(),
            handed_in: HashSet::new(),
            merge: None,
            branch: HashSet::new(),
            stacked: Vec::new(),
            completed: HashMap::new(),
            approved: HashSet::new(),
            finished: false,
        };
        checked.take(decision);
        checked
    }

    fn input(&mut self, input: Input) {
        let decision = self.script.scheduler.handle(now(self.script.secs), input);
        self.take(decision);
    }

    fn take(&mut self, decision: Decision) {
        let log: Vec<String> = self.script.log.iter().filter_map(|record| tell(&record.event)).collect();
        assert_eq!(decision.illegal, None, "{}", log.join(", "));
        for record in &decision.records {
            self.note_approval(&record.event);
            if let Event::TaskCompleted { task, commit } = &record.event {
                *self.completed.entry(task.clone()).or_default() += 1;
                assert!(
                    commit.as_ref().is_none_or(|commit| self.branch.contains(commit)),
                    "done means landed: {task} {commit:?}: {}",
                    log.join(", ")
                );
            }
        }
        self.script.log.extend(decision.records);
        let mut started = false;
        for action in decision.actions {
            match action {
                Action::Start { task, attempt, start_from, .. } => {
                    started = true;
                    self.risky.extend(start_from.and_then(|one| one.secure).map(|_| (task.clone(), attempt)));
                    self.check_start(&task);
                    self.live.push((task, attempt));
                }
                Action::Reattach { task, attempt } => {
                    // Its new coordinator does not know that.
                    self.handed_in.remove(&(task.clone(), attempt));
                    assert!(self.live.contains(&(task, attempt)), "only what lives is gone on with");
                }
                Action::Stop { task, attempt, why } => {
                    if why == StopReason::Preempted {
                        self.check_preemption(&task, attempt);
                    }
                    assert!(self.live.contains(&(task, attempt)))
                }
                // What is lost is reported like everything else that is live.
                Action::Say { task, attempt, .. } | Action::Reclaim { task, attempt, .. } => {
                    assert!(self.live.contains(&(task, attempt)))
                }
                Action::Integrate { .. } | Action::MoveBranch { .. } => {
                    assert!(self.merge.replace(action).is_none(), "one merge at a time");
                }
                Action::Examine { stage } => panic!("no plan here has a stage to be examined: {stage}"),
                Action::Finish => self.finished = true,
            }
        }
        self.check_caps(started);
        self.check_races();
    }

    /// Only an agent at work is stopped for others, only for something more urgent that wants it, and not for ever.
    fn check_preemption(&self, task: &TaskId, attempt: Attempt) {
        let run = self.script.scheduler.run();
        let place = run.place(task).unwrap();
        let (stopped, _) = run.task(place);
        assert!(matches!(stopped.work, Work::Prompt(_)));
        assert!(!self.handed_in.contains(&(task.clone(), attempt)), "{task} had handed in its work");
        assert!(run.repeats(place).unwrap().preempted <= 2);
        let is_for = |(at, (other, _)): (usize, (&Task, _))| {
            other.preempt && run.priority(at) < run.priority(run.raced_by(place).unwrap_or(place))
        };
        assert!(run.tasks().enumerate().any(is_for), "for whom?");
    }

    /// What a person is to approve is on its way to the branch only by that very commit.
    fn note_approval(&mut self, event: &Event) {
        match event {
            Event::ReviewGiven { verdict: ReviewVerdict::Approved { commit }, .. } => {
                self.approved.insert(commit.clone());
            }
            Event::ReviewGiven { verdict: ReviewVerdict::Edited { change }, .. } => {
                self.approved.insert(change.commit.clone());
            }
            Event::MergeIntended { task, to, .. } => {
                let run = self.script.scheduler.run();
                let (planned, _) = run.task(run.place(task).unwrap());
                let commit = to.split('+').next().unwrap();
                assert!(
                    planned.land == Land::Auto || self.approved.contains(commit),
                    "{task} lands as {commit}, which was not approved"
                );
                for below in self.began_on(task).keys() {
                    assert_eq!(self.state(below), Status::Completed, "{task} lands before {below}");
                }
            }
            _ => {}
        }
    }

    fn state(&self, task: &TaskId) -> Status {
        let run = self.script.scheduler.run();
        run.progress(run.place(task).unwrap()).state.status()
    }

    /// Work that had not landed when its last attempt began on it.
    fn began_on(&self, task: &TaskId) -> BTreeMap<TaskId, String> {
        let on = |record: &Record| match &record.event {
            Event::AttemptStarted { task: whose, on, .. } if whose == task => Some(on.clone()),
            _ => None,
        };
        self.script.log.iter().rev().find_map(on).unwrap_or_default()
    }

    /// What it builds on has neither landed nor changed, and is all that it needs and that has not landed.
    fn check_ground(&self, task: &Task) {
        let run = self.script.scheduler.run();
        let on = self.began_on(&task.id);
        for (below, commit) in &on {
            assert!(task.speculate, "{} began on {below}", task.id);
            let landing = run.progress(run.place(below).unwrap()).state.landing();
            assert_eq!(landing.map(|landing| &landing.change.commit), Some(commit), "{} on {below}", task.id);
        }
        let shares = self.is_in_shared_epic(task) || task.is_entrant();
        let needed = task.dependencies.iter().filter(|on| (on.kind, on.when) == (Kind::Hard, When::Landed));
        for dependency in needed.filter(|_| task.speculate && !shares) {
            let landed = self.state(&dependency.id) == Status::Completed;
            let log: Vec<String> = self.script.log.iter().filter_map(|record| tell(&record.event)).collect();
            assert!(
                landed || on.contains_key(&dependency.id),
                "{} without {}: {}",
                task.id,
                dependency.id,
                log.join(", ")
            );
        }
    }

    fn check_start(&self, task: &TaskId) {
        let run = self.script.scheduler.run();
        let cap = run.options().limits.max_cost;
        assert!(cap.is_none_or(|cap| run.spent().cost < cap), "{task} started with nothing left to spend");
        assert!(!self.completed.contains_key(task), "{task} started after it had completed");
        let (planned, progress) = run.task(run.place(task).unwrap());
        self.check_ground(planned);
        let on = self.began_on(task);
        // What has begun has its dependencies behind it, even where a person sets one of them back later.
        let again = run.repeats(run.place(task).unwrap()).is_some();
        if progress.tried > 0 || progress.interruptions > 0 || again {
            return;
        }
        for dependency in &planned.dependencies {
            let status = self.state(&dependency.id);
            if !status.is_end() && self.builds_on(planned, &dependency.id, dependency) {
                continue;
            }
            if on.contains_key(&dependency.id) {
                continue;
            }
            let fits = match (dependency.kind, dependency.when) {
                (Kind::Hard, When::Landed) => status == Status::Completed,
                (Kind::Hard, When::Finished) => matches!(status, Status::Completed | Status::Failed),
                (Kind::Soft, _) => status.is_end(),
            };
            assert!(fits, "{task} started while {} is {status}", dependency.id);
        }
    }

    /// Within an epic that lands as one, a task builds on what is aboard; what only orders does not wait for landings.
    fn builds_on(&self, task: &Task, on: &TaskId, dependency: &Dependency) -> bool {
        let run = self.script.scheduler.run();
        let (other, progress) = run.task(run.place(on).unwrap());
        let orders = dependency.kind == Kind::Soft || dependency.when == When::Finished;
        self.is_aboard(other, progress) && (orders || other.epic == task.epic)
    }

    fn is_aboard(&self, task: &Task, progress: &crate::run::Progress) -> bool {
        progress.state.landing().is_some() && self.is_in_shared_epic(task)
    }

    fn is_in_shared_epic(&self, task: &Task) -> bool {
        let epics = &self.script.scheduler.run().plan().epics;
        let shared = |epic: &String| {
            epics.iter().any(|known| known.id == *epic && known.isolation_scope == Scope::Epic)
        };
        task.epic.as_ref().is_some_and(shared)
    }

    /// No two of a race are on the train together, and none of them lands beside another.
    fn check_races(&self) {
        let run = self.script.scheduler.run();
        for race in run.races() {
            let entrants = run.entrants(race);
            let at = |wanted: &dyn Fn(&TaskState) -> bool| {
                entrants.iter().filter(|&&entrant| wanted(&run.progress(entrant).state)).count()
            };
            let intended = at(&|state| {
                matches!(state, TaskState::Running(running)
                    if running.landing.as_ref().is_some_and(|landing| landing.intent.is_some()))
            });
            let landed = at(&|state| *state == TaskState::Completed);
            assert!(intended + landed <= 1, "{} of a race land", intended + landed);
            let umbrella = &run.progress(race).state;
            assert_eq!(landed == 1, *umbrella == TaskState::Completed, "a task is done by its winner");
            assert!(!matches!(umbrella, TaskState::Running(_)), "what others race for is not started");
            if umbrella.status().is_end() {
                let open = at(&|state| !state.status().is_end() && !stops(state));
                let log: Vec<String> =
                    self.script.log.iter().filter_map(|record| tell(&record.event)).collect();
                assert_eq!(open, 0, "beaten entrants stop ({}): {}", run.task(race).0.id, log.join(", "));
            }
        }
    }

    fn check_caps(&self, started: bool) {
        let run = self.script.scheduler.run();
        let held = |ended: bool| {
            run.tasks()
                .filter(move |(_, p)| matches!(&p.state, TaskState::Running(r) if ended || !r.ended))
                .filter(|(task, p)| !self.is_aboard(task, p))
                .map(|(task, _)| task)
                .collect::<Vec<&Task>>()
        };
        let agent = |task: &Task| match run.agent_choice(run.place(&task.id).unwrap()) {
            Some(choice) => Some(choice.agent.clone()),
            None => task.agent.clone(),
        };
        let (running, touching) = (held(false), held(true));
        let mut used: BTreeMap<String, u64> = BTreeMap::new();
        for task in &running {
            *used.entry(format!("group {:?}", task.group)).or_default() += 1;
            *used.entry(format!("agent {:?}", agent(task))).or_default() += 1;
            for (name, amount) in &task.resources {
                *used.entry(name.clone()).or_default() += amount;
            }
        }
        let cap = |name: &str, limit: u64| assert!(used.get(name).copied().unwrap_or(0) <= limit, "{name}");
        if started {
            assert!(running.len() as u32 <= run.options().slots);
        }
        for group in &run.plan().groups {
            cap(&format!("group {:?}", Some(&group.name)), group.max_parallel.unwrap().into());
        }
        cap("agent Some(\"agent0\")", self.options.limits.agents["agent0"].into());
        if used.get("r0").copied().unwrap_or(0) > self.options.limits.resources["r0"] {
            let alone = running.iter().filter(|task| task.resources.contains_key("r0")).count();
            assert_eq!(alone, 1, "more than the machine has is held by one task alone");
        }
        for (at, a) in touching.iter().enumerate() {
            for b in &touching[at + 1..] {
                // What stands by, waits for a review or for what it is built on, gives up its files and takes them again when it boards.
                let gave_up = |one: &&Task| {
                    let at_work = running.iter().any(|at| at.id == one.id);
                    !at_work && (one.is_entrant() || one.land == Land::Approve || one.speculate)
                };
                if gave_up(a) || gave_up(b) {
                    continue;
                }
                let rivals = a.entrant_of().is_some() && a.entrant_of() == b.entrant_of();
                let meet = FileSet::new(&a.files).meets(&FileSet::new(&b.files));
                assert!(rivals || !meet, "{} meets {}", a.id, b.id);
            }
        }
    }

    /// One thing that happens, chosen by two bytes.
    fn happen(&mut self, what: u8, whom: u8) {
        let pick = |len: usize| whom as usize % len.max(1);
        if what > 200 {
            return self.answer_merge(whom);
        }
        if what > 180 {
            return self.agents_happen(what, whom);
        }
        if what > 168 {
            return self.workers_happen(what, whom);
        }
        if what > 160 {
            return self.user_changes(what, whom);
        }
        match what % 16 {
            0..=6 => self.report(pick(self.live.len()), Outcome::Succeeded, whom.is_multiple_of(5)),
            7..=9 => {
                let class =
                    if whom.is_multiple_of(3) { FailureClass::Overloaded } else { FailureClass::Exit };
                let failure = Failure::new(class, "no");
                self.report(pick(self.live.len()), Outcome::Failed(failure), whom.is_multiple_of(5));
            }
            10 | 11 => self.pass_time(u64::from(whom)),
            12 => self.crash(),
            13 => self.input(Input::Asked(Request::SetSlots(1 + u32::from(whom % 5)))),
            14 => self.input(Input::Asked(if whom < 128 { Request::Pause } else { Request::Continue })),
            _ => {
                let count = self.script.scheduler.graph().len();
                let task = self.script.scheduler.graph().id(pick(count) as Node).clone();
                let request = match whom % 3 {
                    0 => Request::Cancel(task),
                    1 => Request::Retry(task),
                    _ => Request::Skip(task),
                };
                if !self.finished {
                    self.input(Input::Asked(request));
                }
            }
        }
    }

    /// The user raises or lowers a cap of the run, or changes how urgent a task is. What runs goes on or is told to stop;
    /// the caps hold for the next start.
    fn user_changes(&mut self, what: u8, whom: u8) {
        if self.finished {
            return;
        }
        let request = match what % 4 {
            0 => Request::SetCaps([(Capped::Cost, u64::from(whom) * 4)].into()),
            1 => Request::SetCaps([(Capped::Attempts, 1 + u64::from(whom % 32))].into()),
            _ => {
                let graph = self.script.scheduler.graph();
                let task = graph.id(u32::from(whom) % graph.len() as u32).clone();
                Request::SetPriority { task, priority: Priority(whom % 6) }
            }
        };
        self.input(Input::Asked(request));
    }

    /// A run that was left for a cap is taken up again when that was raised, as it stands in the log.
    fn raise_left(&mut self) {
        let request = Request::SetCaps([(Capped::Cost, u64::MAX), (Capped::Attempts, u64::MAX)].into());
        self.ask_left(request);
    }

    /// Workers take attempts, are heard of and are lost; what they were at is reported all the same, too late.
    fn workers_happen(&mut self, what: u8, whom: u8) {
        let worker = WorkerId::parse(&format!("w{}", whom % 3)).unwrap();
        if what.is_multiple_of(3) {
            self.input(Input::WorkerLost { worker: worker.clone() });
            let run = self.script.scheduler.run();
            let holds = |state: &TaskState| match state {
                TaskState::Running(running) => {
                    !running.ended && !running.lost && running.worker.as_ref() == Some(&worker)
                }
                _ => false,
            };
            let held: Vec<&TaskId> = run
                .tasks()
                .filter(|(_, progress)| holds(&progress.state))
                .map(|(task, _)| &task.id)
                .collect();
            assert!(held.is_empty(), "{held:?} are with {worker}, and it is gone");
        } else if let Some((task, attempt)) = self.live.get(whom as usize % self.live.len().max(1)).cloned() {
            match whom.is_multiple_of(2) {
                true => self.input(Input::LeaseRenewed { task, attempt, worker }),
                false => self.lose_shim(task, attempt),
            }
        }
    }

    /// The process that holds an agent is ended. That interrupts the attempt; time and again, it fails it.
    fn lose_shim(&mut self, task: TaskId, attempt: Attempt) {
        self.input(Input::ShimLost { task: task.clone(), attempt });
        let run = self.script.scheduler.run();
        let place = run.place(&task).unwrap();
        let is_lost = matches!(&run.progress(place).state, TaskState::Running(running)
            if running.attempt == attempt && running.lost && running.worker.is_none() && running.stopping.is_none());
        let times = run.repeats(place).map_or(0, |repeats| repeats.lost_shims);
        let at = self.live.iter().position(|live| *live == (task.clone(), attempt)).unwrap();
        self.report(at, Outcome::Interrupted, false);
        let outcome = self.script.log.iter().rev().find_map(|record| match &record.event {
            Event::AttemptEnded { task: ended, attempt: of, outcome, .. }
                if (ended, of) == (&task, &attempt) =>
            {
                Some(outcome.clone())
            }
            _ => None,
        });
        match outcome {
            Some(Outcome::Failed(failure)) if is_lost => {
                assert!(failure.class != FailureClass::Killed || times >= MOST_LOST, "{failure:?}");
            }
            Some(outcome) if is_lost => {
                assert!(times < MOST_LOST || outcome == Outcome::Cancelled, "{outcome:?}")
            }
            _ => {}
        }
    }

    /// What only agents do: they are parked, use something up, ask, are answered and told.
    fn agents_happen(&mut self, what: u8, whom: u8) {
        let agent = format!("agent{}", whom % 3);
        let first = self.live.first().cloned();
        match (what % 6, first) {
            (0, _) => {
                let until = now(self.script.secs + u64::from(whom)).at;
                self.input(Input::ProviderParked { agent, until });
            }
            (1, Some((task, attempt))) => self.report_usage(task, attempt, whom),
            (2, Some(_)) => {
                let question = Question { tool: "Bash".into(), what: "deploy".into(), why: String::new() };
                self.report(0, Outcome::Asked(Box::new(question)), whom.is_multiple_of(5));
            }
            (5, Some((task, attempt))) if self.handed_in.contains(&(task.clone(), attempt)) => {
                self.handed_in.remove(&(task.clone(), attempt));
                self.input(Input::WorkGivenBack { task, attempt });
            }
            (5, Some((task, attempt))) if whom.is_multiple_of(2) => {
                self.handed_in.insert((task.clone(), attempt));
                self.input(Input::WorkHandedIn { task, attempt });
            }
            (4, _) if !self.finished => self.amend(whom),
            (3, Some((task, _))) if !self.finished => {
                self.input(Input::Asked(Request::Tell { task, words: "mind the gap".into() }));
            }
            _ if whom.is_multiple_of(3) => self.answer(whom.is_multiple_of(2)),
            _ => self.review(whom),
        }
    }

    /// An agent says what it used, and sometimes that a part of what it said before was too much.
    fn report_usage(&mut self, task: TaskId, attempt: Attempt, how: u8) {
        let run = self.script.scheduler.run();
        let place = run.place(&task).unwrap();
        if run.agent_choice(place).is_none() {
            return;
        }
        let model: Option<Box<str>> = (!how.is_multiple_of(3)).then(|| format!("m{}", how % 3).into());
        let said = run.used_in_attempt(place).iter().find(|used| used.model == model);
        let said = said.map(|used| used.usage).unwrap_or_default();
        let taken_back = match how.is_multiple_of(2) {
            true => Usage { cost: Usd(said.cost.0 / 2), tokens: said.tokens / 2, ..Usage::default() },
            false => Usage::default(),
        };
        let amount = u64::from(how);
        let usage = Usage { cost: Usd(amount), tokens: 2 * amount, turns: 1, ..Usage::default() };
        self.input(Input::UsageReported { task, attempt, usage, model, taken_back });
    }

    /// A person reviews the first that waits for it, if the run is active.
    fn review(&mut self, how: u8) {
        let Some((request, outdated)) = self.verdict(how).filter(|_| !self.finished) else { return };
        let decision = self.script.scheduler.handle(now(self.script.secs), Input::Asked(request));
        assert!(!outdated || decision.refused.is_some(), "an approval of another commit");
        self.take(decision);
    }

    /// Whether it names another commit than the one that waits is said with it.
    fn verdict(&self, how: u8) -> Option<(Request, bool)> {
        let run = self.script.scheduler.run();
        let mut waiting = run.tasks().filter(|(_, p)| matches!(p.state, TaskState::InReview { .. }));
        let (task, progress) = waiting.next()?;
        let change = &progress.state.landing().unwrap().change;
        let commit = change.commit.clone();
        let verdict = match how % 5 {
            0 => ReviewVerdict::Approved { commit },
            1 => ReviewVerdict::Approved { commit: "another".into() },
            2 => ReviewVerdict::SentBack { comments: vec![Comment::parse("not like this", |_| false)] },
            3 => {
                let change = Change { commit: format!("{commit}-edited"), ..change.clone() };
                ReviewVerdict::Edited { change: Box::new(change) }
            }
            _ => ReviewVerdict::Dropped,
        };
        Some((Request::Review { task: task.id.clone(), verdict }, how % 5 == 1))
    }

    /// A run that was left for its reviews is taken up again when one was given.
    fn review_left(&mut self) {
        let approved_or_edited = if self.script.log.len().is_multiple_of(2) { 0 } else { 3 };
        let (request, _) = self.verdict(approved_or_edited).unwrap();
        self.ask_left(request);
    }

    fn ask_left(&mut self, request: Request) {
        let run = self.script.scheduler.run();
        for event in Scheduler::ask_left(run, request, now(self.script.secs)).unwrap() {
            self.note_approval(&event);
            let seq = self.script.log.last().unwrap().seq + 1;
            let Now { at, tick, .. } = now(self.script.secs);
            self.script.log.push(Record { seq, at, tick, event });
        }
        self.take_up();
    }

    /// Adds a task, changes one, or asks for what cannot be; then nothing has happened.
    fn amend(&mut self, how: u8) {
        let run = self.script.scheduler.run();
        let count = run.plan().tasks.len();
        let asked: Vec<&Task> = run.plan().asked().collect();
        let other = asked[how as usize % asked.len()].clone();
        let mut new = other.clone();
        new.id = id(&format!("n{count}"));
        // Otherwise it claims what others race for, which is refused.
        new.racing = new.racing.filter(|_| how.is_multiple_of(3));
        let kind = if how.is_multiple_of(2) { Kind::Hard } else { Kind::Soft };
        let on = |id: TaskId| Dependency { id, when: When::Landed, kind };
        new.dependencies.push(on(other.id.clone()));
        let mut changed = Task { priority: Priority(how % 5), ..other };
        let tasks = match how % 5 {
            0 => vec![changed],
            1 => {
                changed.dependencies.push(on(new.id.clone()));
                vec![changed, new]
            }
            _ if count < 40 => vec![new],
            _ => return,
        };
        let before = run.seq();
        let request = match self.live.first().filter(|_| how % 5 > 2) {
            Some((by, attempt)) => Request::Propose { by: by.clone(), attempt: *attempt, tasks },
            None => Request::Amend(Box::new(Amendment { tasks, ..Amendment::default() })),
        };
        let request = Input::Asked(request);
        let decision = self.script.scheduler.handle(now(self.script.secs), request);
        let amended = decision.records.iter().any(|record| matches!(record.event, Event::PlanAmended { .. }));
        assert_ne!(amended, decision.refused.is_some());
        assert!(amended || self.script.scheduler.run().seq() == before);
        assert!(how % 5 != 1 || !amended, "a circle");
        self.take(decision);
    }

    /// Answers the first task that asks, if any does.
    fn answer(&mut self, allow: bool) {
        let run = self.script.scheduler.run();
        let asking = run.tasks().find(|(_, progress)| matches!(progress.state, TaskState::Asking { .. }));
        if let Some(task) = asking.map(|(task, _)| task.id.clone()) {
            let answer = Answer { allow, words: None, by: Answerer::Person };
            self.input(Input::Asked(Request::Answer { task, answer }));
        }
    }

    /// The merge under way goes well, badly, or is overtaken by another process that moves the branch.
    fn answer_merge(&mut self, how: u8) {
        match self.merge.take() {
            Some(Action::Integrate { cars }) => {
                let (stacked, failed) = self.stack(cars, how);
                self.stacked = stacked.iter().map(|car| car.to.clone()).collect();
                self.input(Input::MergesPrepared { from: "tip".into(), stacked, failed });
            }
            Some(Action::MoveBranch { to, .. }) => {
                let moved = self.branch.contains(&to) || how >= 40;
                if moved {
                    self.branch.insert(to.clone());
                    self.branch.extend(self.stacked.drain(..));
                }
                // Sometimes the branch is moved and the coordinator dies before it records that.
                match how % 7 {
                    0 => self.crash(),
                    _ => self.input(Input::BranchMoved { to, moved }),
                }
            }
            _ => {}
        }
    }

    /// Some fit up to the first that does not; who stands behind that one is not looked at.
    fn stack(&self, cars: Vec<Car>, how: u8) -> (Vec<Stacked>, Vec<LeftBehind>) {
        let (mut stacked, mut failed) = (Vec::new(), Vec::new());
        for (at, Car { task, attempt, change, .. }) in cars.into_iter().enumerate() {
            if how < 60 && at == how as usize % 4 {
                let failure = Failure::new(FailureClass::Conflict, "both changed it");
                failed.push(LeftBehind { task, attempt, failure });
                break;
            }
            let to = format!("{}+{}", change.commit, self.branch.len());
            stacked.push(Stacked { task, attempt, to });
        }
        (stacked, failed)
    }

    /// An attempt reports its end; sometimes the report comes twice.
    fn report(&mut self, which: usize, outcome: Outcome, twice: bool) {
        if self.live.is_empty() {
            return;
        }
        let (task, attempt) = self.live.swap_remove(which);
        if let Some(at) = self.risky.iter().position(|one| *one == (task.clone(), attempt)) {
            self.risky.remove(at);
            let (commit, name, reason) = ("c".to_owned(), "n".to_owned(), "push".to_owned());
            self.input(Input::CheckpointMade { task: task.clone(), attempt, commit, name, reason });
        }
        let leaves_work = task.as_str().ends_with(['0', '2', '4', '6', '8', '3']);
        let commit = format!("{task}#{attempt}");
        let change = leaves_work.then(|| Box::new(Change::new("base", commit)));
        let report = Input::AttemptEnded { task, attempt, outcome, change, phases: None };
        if twice {
            self.input(report.clone());
        }
        self.input(report);
    }

    fn pass_time(&mut self, secs: u64) {
        self.script.secs += secs;
        self.input(Input::TimerDue);
    }

    /// Everything in memory is lost; reports of the old attempts may still arrive.
    fn crash(&mut self) {
        let run = Run::replay(&self.script.log).unwrap();
        assert_eq!(&run, self.script.scheduler.run(), "replay equals live");
        self.take_up();
    }

    /// Some of those at work whose agents live on when their coordinator dies.
    fn outliving(&self, run: &Run) -> BTreeMap<TaskId, Attached> {
        let at_work = run.tasks().filter_map(|(task, progress)| match &progress.state {
            TaskState::Running(running) if can_be_reattached(running) => {
                Some((task.id.clone(), running.attempt))
            }
            _ => None,
        });
        let chosen = at_work.enumerate().filter(|(at, _)| (at + self.script.log.len()).is_multiple_of(2));
        let worked = Millis::from_secs(self.script.secs % 7);
        chosen.map(|(_, (task, attempt))| (task, Attached { attempt, worked })).collect()
    }

    fn take_up(&mut self) {
        let run = Run::replay(&self.script.log).unwrap();
        let mut options = self.options.clone();
        // What a user said last of caps counts for the next coordinator, too.
        options.limits = run.options().limits.clone();
        let resume_state = ResumeState { attached: self.outliving(&run), ..ResumeState::default() };
        let before: HashMap<TaskId, u32> =
            run.tasks().map(|(task, progress)| (task.id.clone(), progress.last_attempt)).collect();
        let (scheduler, decision) =
            Scheduler::take_up(run, options, now(self.script.secs), resume_state.clone()).unwrap();
        for (task, Attached { attempt, .. }) in &resume_state.attached {
            let place = scheduler.run().place(task).unwrap();
            let progress = scheduler.run().progress(place);
            assert_eq!(progress.last_attempt, before[task], "{task} was not started again");
            assert!(
                matches!(&progress.state, TaskState::Running(running) if running.attempt == *attempt),
                "{task} is at work as before"
            );
        }
        self.script.scheduler = scheduler;
        self.merge = None;
        self.finished = false;
        self.take(decision);
    }

    /// From here on every agent behaves: the run must come to its end in a bounded number of steps.
    fn run_out(&mut self) {
        self.input(Input::Asked(Request::Continue));
        if !self.finished {
            let caps = [(Capped::Cost, u64::MAX), (Capped::Attempts, u64::MAX)];
            self.input(Input::Asked(Request::SetCaps(caps.into())));
        }
        let bound = 100 + 100 * self.script.scheduler.graph().len();
        for _ in 0..bound {
            match self.script.scheduler.run().stage() {
                Stage::Stopped(DrainReason::Person) if self.finished => {
                    self.review_left();
                    continue;
                }
                Stage::Stopped(DrainReason::Budget) if self.finished => {
                    self.raise_left();
                    continue;
                }
                _ if self.finished => return,
                _ => {}
            }
            match (&self.merge, self.live.is_empty()) {
                (Some(_), _) => self.answer_merge(100),
                (None, false) => self.report(0, Outcome::Succeeded, false),
                (None, true) => {
                    self.answer(true);
                    self.review(0);
                    // Where a task begins with the answer, no time passes: it would time out.
                    if self.live.is_empty() {
                        self.pass_time(1000);
                    }
                }
            }
        }
        let run = self.script.scheduler.run();
        let open: Vec<String> = run
            .tasks()
            .filter(|(_, progress)| !progress.state.status().is_end())
            .map(|(task, progress)| format!("{} ({:?}) is {}", task.id, task.epic, progress.state.status()))
            .collect();
        let log: Vec<String> = self.script.log.iter().filter_map(|record| tell(&record.event)).collect();
        panic!("the run does not end ({:?}): {}\nlog: {}", run.stage(), open.join("\n"), log.join(", "));
    }
}

/// Right behind a failed attempt comes what is done about it, and nothing is retried or fails without that.
fn every_failure_is_decided(log: &[Record]) {
    let mut decided: HashMap<&TaskId, u32> = HashMap::new();
    for record in log {
        match &record.event {
            Event::RecoveryDecided { task, attempt, .. } => {
                decided.insert(task, attempt.0);
            }
            Event::AttemptStarted { task, .. } => {
                decided.remove(task);
            }
            Event::RetryScheduled { again: Again::SentBack(_), .. } => {}
            Event::RetryScheduled { task, .. } => {
                assert!(decided.contains_key(task), "{task} is tried again for no reason");
            }
            Event::ApprovalAsked { task, question } if question.tool == RECOVERY => {
                assert!(decided.contains_key(task), "{task} asks for no reason");
            }
            Event::TaskFailed { task, .. } => {
                assert!(decided.contains_key(task), "{task} failed for no reason");
            }
            _ => {}
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn rules_hold_and_every_run_ends(
        plan in random_plan(),
        options in random_options(),
        story in prop::collection::vec((any::<u8>(), any::<u8>()), 0..60),
    ) {
        let mut checked = Checked::start(plan, options);
        for (what, whom) in story {
            checked.happen(what, whom);
        }
        checked.run_out();
        let run = checked.script.scheduler.run();
        prop_assert_eq!(&Run::replay(&checked.script.log).unwrap(), run);
        for (task, times) in &checked.completed {
            prop_assert_eq!(*times, 1, "{} completed once", task);
        }
        every_failure_is_decided(&checked.script.log);
        for (task, progress) in run.tasks() {
            let a_person_wants_more = task.recovery.as_ref().is_some_and(|recovery| recovery.asks());
            prop_assert!(
                a_person_wants_more || progress.tried <= task.retry.max_attempts,
                "{} was tried {} times",
                task.id,
                progress.tried
            );
        }
        let fail_fast = matches!(run.stage(), Stage::Stopped(DrainReason::FailFast));
        prop_assert!(fail_fast || run.all_ended());
    }

    #[test]
    fn a_log_survives_being_written_down(
        plan in random_plan(),
        options in random_options(),
        story in prop::collection::vec((any::<u8>(), any::<u8>()), 0..40),
    ) {
        let mut checked = Checked::start(plan, options);
        for (what, whom) in story {
            checked.happen(what, whom);
        }
        let again: Vec<Record> = checked
            .script
            .log
            .iter()
            .map(|record| {
                let text = serde_json::to_string(&record.event).unwrap();
                Record { event: serde_json::from_str(&text).unwrap(), ..record.clone() }
            })
            .collect();
        prop_assert_eq!(&again, &checked.script.log);
        prop_assert_eq!(&Run::replay(&again).unwrap(), checked.script.scheduler.run());
    }

    #[test]
    fn with_no_failures_everything_completes_and_nothing_starts_twice(
        plan in random_plan(),
        options in random_options(),
    ) {
        let of = |wins: Wins| plan.tasks.iter().filter_map(Task::race).filter(move |race| race.wins == wins);
        let entrants = |wins: Wins| of(wins).map(|race| race.entrants.len()).sum::<usize>();
        let alone = plan.asked().filter(|task| task.race().is_none()).count();
        let least = alone + entrants(Wins::Best) + of(Wins::First).count();
        let most = alone + entrants(Wins::Best) + entrants(Wins::First);
        let rehearsal = crate::forecast::rehearse::rehearse(plan, options, |_| Millis::from_secs(1)).unwrap();
        let started = rehearsal.starts.len();
        prop_assert!(least <= started && started <= most, "{least} <= {started} <= {most}");
    }
}
