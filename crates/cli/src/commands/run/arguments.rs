//! What was typed after `run`, with second meanings settled and defaults filled in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use conductor_core::plan::graph;
use conductor_core::plan::select::{SelectError, select, without};
use conductor_core::plan::{
    Fingerprint, Isolation, LONGEST_UNBOUNDED_GRACE, Land, Limits, Plan, Sandbox, SandboxMode, Work,
};
use conductor_core::run::event::{BringHome, Options, Selection};
use conductor_core::values::ids::TaskId;
use conductor_core::values::units::{Millis, Usd};
use conductor_engine::process::{Capacity, capacity};
use conductor_engine::runs::done::Unmerged;

use super::{full_name, metrics, reaching, skipping};
use crate::args::{self, Arguments, Command, Strategy, Ui};
use crate::commands::{block_on, talk};
use crate::error::{CliError, Exit};
use crate::settings::diagnostics;
use crate::settings::taskfile;
use crate::settings::variables;

/// How long an agent's question waits without a user at a terminal.
const UNATTENDED: Millis = Millis::from_secs(10 * 60);

/// How long an outage of a provider is waited out.
const PATIENCE: Millis = Millis::from_secs(60 * 60);

/// Said where the number is only the built-in one.
const ONE_AT_A_TIME: &str = "tasks run one at a time; -p N runs N at once";

/// Whether a user sits at a terminal.
fn attended() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The arguments, with their second meanings settled.
pub(super) struct Resolved<'a> {
    pub(super) typed: &'a args::Run,
    pub(super) file: Option<PathBuf>,
    pub(super) resume: Option<String>,
    pub(super) directory: PathBuf,
    /// What `--skip-done` has left out: what is done, and what waits for a review.
    done: BTreeMap<TaskId, Fingerprint>,
    in_review: BTreeMap<TaskId, Fingerprint>,
    /// What of that is needed and not merged yet.
    pub(super) unmerged: Option<Unmerged>,
    pub(super) metrics_file: Option<PathBuf>,
    /// How often coming conflicts and writes into the checkout are looked for; 0 is never.
    pub(super) conflict_monitor: Millis,
}

impl<'a> Resolved<'a> {
    pub(super) fn new(typed: &'a args::Run) -> Result<Resolved<'a>, CliError> {
        let directory = std::env::current_dir().map_err(|error| {
            CliError::new(Exit::Unexpected, format!("the current directory cannot be used: {error}"))
        })?;
        let metrics_file = typed.metrics_file.as_deref().map(metrics::resolve).transpose()?;
        let mut resolved = Resolved {
            typed,
            file: typed.file.clone(),
            resume: typed.resume.clone(),
            directory,
            done: BTreeMap::new(),
            in_review: BTreeMap::new(),
            unmerged: None,
            metrics_file,
            conflict_monitor: conflict_monitor(typed)?,
        };
        resolved.settle_file();
        if typed.retry_failed && resolved.resume.is_none() {
            resolved.resume = Some(String::new());
        }
        if typed.watch && resolved.file.as_deref() == Some(Path::new("-")) {
            return Err(CliError::new(Exit::Usage, "--watch needs a task file to look at")
                .help("name a file that stays there while the run goes on"));
        }
        if resolved.file.is_none() && resolved.resume.is_none() && typed.from.is_none() {
            resolved.file = Some(taskfile::meant(None)?);
        }
        Ok(resolved)
    }

    /// In `run --resume tasks.yaml` the word after `--resume` is the file, not a run.
    fn settle_file(&mut self) {
        if let Some(word) = self.resume.as_deref().filter(|word| !word.is_empty())
            && self.file.is_none()
            && (word.contains(['.', '/']) || Path::new(word).is_file())
        {
            self.file = Some(PathBuf::from(word));
            self.resume = Some(String::new());
        }
    }

    pub(super) fn is_new(&self) -> bool {
        self.resume.is_none()
    }

    /// What a run of this file is known by; nothing where none is named.
    pub(super) fn source(&self) -> String {
        self.file.as_ref().map(|file| full_name(&self.directory, file)).unwrap_or_default()
    }

    pub(super) fn plan(&mut self) -> Result<Plan, CliError> {
        let file = self.file.clone().unwrap_or_default();
        let (whole, chosen) = (diagnostics::load(&file)?, Chosen::of(self.typed, None));
        if !self.typed.skip_done {
            return Ok(chosen.of_plan(whole)?);
        }
        let chosen = chosen.of_plan(whole.clone())?;
        let left = block_on(skipping::remaining(self, &whole, &chosen))?;
        (self.done, self.in_review, self.unmerged) = (left.done, left.in_review, left.unmerged);
        Ok(left.plan)
    }

    /// What decides which tasks of the file a new run has.
    pub(super) fn selection(&self) -> Selection {
        let Chosen(selection) = Chosen::of(self.typed, None);
        Selection { done: self.done.clone(), in_review: self.in_review.clone(), ..selection }
    }

    /// What the flags say, over what was so before, over what the config files say, over what is built in.
    pub(super) fn options(&self, plan: &Plan, before: Option<&Options>) -> Result<Options, CliError> {
        let typed = self.typed;
        let mut options = match before {
            Some(before) => before.clone(),
            None => Options::of_plan(plan),
        };
        options.slots = typed.parallel.unwrap_or(options.slots);
        options.strategy = typed.strategy.map_or(options.strategy, Into::into);
        options.fail_fast = (options.fail_fast || typed.fail_fast) && !typed.keep_going;
        options.allow_overlap |= typed.allow_overlap;
        options.isolation = typed.isolation.map(Into::into).or(options.isolation);
        options.land = typed.land.map(Into::into).or(options.land);
        options.merge = typed.merge.map_or(options.merge, bring_home);
        options.answer_within =
            typed.answer_within.or_else(|| (typed.detached || !attended()).then_some(UNATTENDED));
        options.leave_unanswered = typed.leave_unanswered;
        options.by = typed.by.clone();
        options.workers_at = reaching::reached(typed, before)?.and_then(|reached| reached.kept());
        let limits = &mut options.limits;
        limits.max_cost = typed.max_cost.map(Usd::from_dollars).or(limits.max_cost);
        limits.max_tokens = typed.max_tokens.or(limits.max_tokens);
        limits.max_time = typed.max_time.or(limits.max_time);
        limits.max_attempts = typed.max_attempts.or(limits.max_attempts);
        limits.orphan_grace = typed.orphan_grace.or(limits.orphan_grace);
        // One that was started with it can always be gone on with.
        if before.is_none() {
            check_grace(limits)?;
        }
        limits.outage_patience = typed.outage_patience.or(limits.outage_patience).or(Some(PATIENCE));
        for (name, amount) in machine() {
            limits.resources.entry(name).or_insert(amount);
        }
        options.fits = fitting(plan, options.slots);
        if let Some(output) = &typed.output {
            options.output = Some(std::path::absolute(output)?.display().to_string());
        }
        Ok(options)
    }

    /// How to have more at once, where tasks run one after the other and nothing was said of that.
    pub(super) fn hint(&self, plan: &Plan, options: &Options) -> Option<&'static str> {
        let unsaid = self.typed.parallel.is_none() && plan.parallel.is_none();
        let in_turn = options.slots == 1 && options.strategy != graph::Strategy::Sequential;
        let several = plan.asked().nth(1).is_some();
        (unsaid && in_turn && several && self.ui() != Ui::Json).then_some(ONE_AT_A_TIME)
    }

    pub(super) fn ui(&self) -> Ui {
        match self.typed.ui {
            _ if self.typed.json => Ui::Json,
            ui => ui,
        }
    }
}

/// As a run goes on that is left to a process without a terminal.
pub(super) fn unattended(before: Options) -> Options {
    Options { answer_within: before.answer_within.or(Some(UNATTENDED)), ..before }
}

/// As a run went on so far, but for what its file has been edited to say of limits since.
pub(super) fn limited(before: &Options, written: &Limits, edited: Option<&Limits>) -> Options {
    let mut options = before.clone();
    let Some(edited) = edited else { return options };
    let limits = &mut options.limits;
    if edited.max_cost != written.max_cost {
        limits.max_cost = edited.max_cost;
    }
    if edited.max_tokens != written.max_tokens {
        limits.max_tokens = edited.max_tokens;
    }
    if edited.max_time != written.max_time {
        limits.max_time = edited.max_time;
    }
    if edited.max_attempts != written.max_attempts {
        limits.max_attempts = edited.max_attempts;
    }
    if edited.on_budget != written.on_budget {
        limits.on_budget = edited.on_budget;
    }
    options
}

/// Arguments of `run` made by another command; the last of them are what the user typed after `--`.
pub(crate) fn typed(words: Vec<OsString>) -> Result<Box<args::Run>, CliError> {
    match Arguments::read(words) {
        Ok(arguments) if !arguments.global.is_untouched() => {
            let message = "-C, --quiet, --verbose and --color belong before `--`";
            Err(CliError::new(Exit::Usage, message))
        }
        Ok(Arguments { command: Some(Command::Run(run)), .. }) => Ok(run),
        Ok(_) => Err(CliError::new(Exit::Usage, "what follows `--` is not for `run`")),
        Err(error) => {
            let told = error.to_string();
            let told = told.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Err(CliError::new(Exit::Usage, format!("after `--`: {told}")).help("see `conductor run --help`"))
        }
    }
}

/// By option or variable, else by the variable's name from before.
fn conflict_monitor(typed: &args::Run) -> Result<Millis, CliError> {
    const USUAL: Millis = Millis::from_secs(15);
    let [(_, before)] = variables::BEFORE;
    match (typed.conflict_monitor, variables::standard(before)) {
        (Some(every), _) => Ok(every),
        (None, None) => Ok(USUAL),
        (None, Some(value)) => args::duration(&value).map_err(|error| {
            CliError::new(Exit::Usage, format!("{before} is '{value}': {error}")).help(
                "its name is CONDUCTOR_CONFLICT_MONITOR by now; give it a time such as 15s, or 0 for never",
            )
        }),
    }
}

/// What was typed that decides which tasks of a file there are, and how they are.
pub(super) struct Chosen(Selection);

impl Chosen {
    /// What was typed now, else what was when the run began.
    pub(super) fn of(typed: &args::Run, before: Option<&Options>) -> Chosen {
        let before = before.and_then(|before| before.selection.clone()).unwrap_or_default();
        let only = typed.only.clone().or(before.only.clone());
        let isolated = typed.isolation.is_some() || before.isolated;
        let (agent, model) =
            (typed.agent.clone().or(before.agent.clone()), typed.model.clone().or(before.model.clone()));
        let repository = typed.repository.clone().or(before.repository.clone());
        let sandbox = typed.sandbox.map(Into::into).or(before.sandbox);
        let network = typed.network.clone().or(before.network.clone());
        Chosen(Selection { only, isolated, agent, model, repository, sandbox, network, ..before })
    }

    pub(super) fn of_plan(&self, mut plan: Plan) -> Result<Plan, SelectError> {
        if self.0.isolated {
            // The run's own counts where its tasks say nothing.
            plan.tasks.iter_mut().for_each(|task| task.isolation = None);
        }
        let Selection { only, done, in_review, .. } = &self.0;
        if let Some(only) = only {
            plan = select(&plan, only)?;
        }
        if !done.is_empty() || !in_review.is_empty() {
            let was = |task: &TaskId| done.get(task).or_else(|| in_review.get(task));
            plan = without(&plan, |task| was(&task.id) == Some(&task.fingerprint()));
        }
        for task in plan.tasks.iter_mut().filter(|task| matches!(task.work, Work::Prompt(_))) {
            task.agent = task.agent.take().or_else(|| self.0.agent.clone());
            task.model = task.model.take().or_else(|| self.0.model.clone());
            task.repository = task.repository.take().or_else(|| self.0.repository.clone());
            if let Some(mode) = self.0.sandbox {
                task.sandbox.get_or_insert_with(|| Box::new(Sandbox::of(mode))).mode = mode;
            }
            if let Some(network) = &self.0.network {
                task.network = Some(Box::new(network.clone()));
            }
        }
        Ok(plan)
    }
}

/// A plan as a run that is started now would have it, by the user's environment, and the isolation where that is said.
pub(crate) fn as_started(plan: Plan) -> Result<(Plan, Option<Isolation>), CliError> {
    let typed = typed(["conductor", "run"].map(OsString::from).to_vec())?;
    let isolation = typed.isolation.map(Into::into);
    Ok((Chosen::of(&typed, None).of_plan(plan)?, isolation))
}

impl From<args::Sandbox> for SandboxMode {
    fn from(sandbox: args::Sandbox) -> SandboxMode {
        match sandbox {
            args::Sandbox::Require => SandboxMode::Require,
            args::Sandbox::Prefer => SandboxMode::Prefer,
            args::Sandbox::Off => SandboxMode::Off,
        }
    }
}

impl From<args::Isolation> for Isolation {
    fn from(isolation: args::Isolation) -> Isolation {
        match isolation {
            args::Isolation::Worktree => Isolation::Worktree,
            args::Isolation::Clone => Isolation::Clone,
            args::Isolation::None => Isolation::None,
        }
    }
}

fn bring_home(merge: args::Merge) -> Option<BringHome> {
    match merge {
        args::Merge::None => None,
        args::Merge::Branch => Some(BringHome::Branch),
        args::Merge::Pr => Some(BringHome::Pr),
        args::Merge::PrPerTask => Some(BringHome::PrPerTask),
    }
}

impl From<args::Land> for Land {
    fn from(land: args::Land) -> Land {
        match land {
            args::Land::Auto => Land::Auto,
            args::Land::Approve => Land::Approve,
        }
    }
}

impl From<Strategy> for graph::Strategy {
    fn from(strategy: Strategy) -> graph::Strategy {
        match strategy {
            Strategy::Queue => graph::Strategy::Queue,
            Strategy::Batch => graph::Strategy::Batch,
            Strategy::Sequential => graph::Strategy::Sequential,
        }
    }
}

/// Agents that go on for days alone could spend for days.
fn check_grace(limits: &Limits) -> Result<(), CliError> {
    if !limits.leaves_without_bounds() {
        return Ok(());
    }
    let (grace, longest) = (limits.orphan_grace(), LONGEST_UNBOUNDED_GRACE);
    let message = format!("orphan_grace is {grace}: beyond {longest} it needs a cap and a deadline");
    let help = "set --max-cost or --max-tokens, and --max-time; or a shorter --orphan-grace";
    Err(CliError::new(Exit::Usage, message).help(help))
}

/// With room for more than this, how many fit is not worth knowing.
const PLENTY: u32 = 1000;

/// How many tasks at once the limits of this process allow; a notice says so where more are wanted.
fn fitting(plan: &Plan, wanted: u32) -> Option<u32> {
    let with_agents = plan.tasks.iter().any(|task| matches!(task.work, Work::Prompt(_)));
    let Capacity { attempts, limit } = capacity(with_agents).filter(|found| found.attempts < PLENTY)?;
    if attempts < wanted {
        talk(format!("{limit} leave room for {attempts} at a time, not for {wanted}"));
    }
    Some(attempts)
}

/// What this machine has of cpu and memory.
pub(crate) fn machine() -> Vec<(String, u64)> {
    let cpus = std::thread::available_parallelism().map(|count| ("cpu".to_owned(), count.get() as u64));
    let memory = conductor_engine::process::machine_memory().map(|bytes| ("memory".to_owned(), bytes));
    cpus.ok().into_iter().chain(memory).collect()
}
