//! The arguments as typed. What they mean is resolved in the commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use conductor_core::units::Millis;

/// Runs many coding agents in parallel, and can prove what it did.
#[derive(Debug, Parser)]
#[command(name = "conductor", version, about, max_term_width = 100, propagate_version = false)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the tasks of a file, or take up a run that was left
    Run(Box<Run>),
    /// See a whole run in a minute, free: a stand-in plays the model
    Demo(Demo),
    #[command(hide = true)]
    DemoAgent(DemoAgent),
    #[command(hide = true)]
    Keeper(Keeper),
    /// Check a task file and show everything that is wrong with it
    Validate(Validate),
    /// Show the graph of a task file
    Graph(Graph),
    /// Tell how long a run will take and what it will cost, with how many at once; starts nothing
    Rehearse(Rehearse),
    /// Tell what will be done with a task and why, or what a code means
    Explain(Explain),
    /// Show what a task has changed, as a patch
    Diff(Diff),
    /// Show what a run is doing: what is at work, what waits and on what, what comes next
    Status(Status),
    /// Show what a task's agent or command said
    Logs(Logs),
    /// Print what happened in a run, one event a line
    Events(Events),
    /// Wait for a run to end, and exit as it does
    Wait(Wait),
    /// Start nothing new in a run until it is resumed; what is at work goes on
    Pause(OfRun),
    /// Go on with a run that was paused
    Resume(OfRun),
    /// Stop a task, a group of tasks or everything, and do not do it
    Cancel(Cancel),
    /// Change how many tasks of a run are at work at once
    Parallel(Parallel),
    /// List the runs there were, look at one, and take old ones away
    #[command(subcommand)]
    Runs(Runs),
    /// Show what runs have used and cost
    Cost(Cost),
    /// Show what models are taken to cost, and who says so
    Prices(Prices),
    /// Look at workspaces and kept work, bring in what did not merge, clear up
    #[command(subcommand)]
    Worktree(Worktree),
    /// Remember where a branch is, and set it back
    #[command(subcommand)]
    Checkpoint(Checkpoint),
    /// Answer what a task's agent asks, tell it something, have it done again or not at all
    #[command(subcommand)]
    Task(Task),
    /// See which agents there are, and put them to the test
    #[command(subcommand)]
    Agents(Agents),
    /// See every setting that counts, and who says so
    #[command(subcommand)]
    Config(Config),
    /// Write a task file and a config to begin with, by what the project is
    Init(Init),
    /// Look whether everything a run needs is there and in order
    Doctor(Doctor),
    /// Make task files from templates
    #[command(subcommand)]
    Template(Template),
    /// Print what a shell needs to complete our commands
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
    /// Print the JSON Schema of task files, for editors
    Schema(Schema),
    /// Print the version
    Version(Version),
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The task file (YAML or JSON); `-` reads it from standard input
    pub(crate) file: Option<PathBuf>,

    /// How many tasks run at once
    #[arg(short, long, alias = "max-concurrency", env = "CONDUCTOR_PARALLEL", hide_env_values = true, value_name = "N",
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) parallel: Option<u32>,

    /// How long an agent's question waits for you before it counts as denied; ten minutes where nobody is at a
    /// terminal, for ever where somebody is
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_ANSWER_WITHIN", hide_env_values = true)]
    pub(crate) answer_within: Option<Millis>,

    /// Leave the run, with exit code 5, when nothing but questions is left
    #[arg(long)]
    pub(crate) leave_unanswered: bool,

    /// Only these tasks: ids, `test-*`, `group:G`, `epic:E`; `+api` with what it needs, `api+` with what needs it
    #[arg(long, value_name = "EXPR")]
    pub(crate) only: Option<String>,

    /// Take up a run that was left: the newest of this directory, or the one named
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,

    /// Take up a run and do again what failed, was skipped or cancelled
    #[arg(long)]
    pub(crate) retry_failed: bool,

    /// Start nothing new after the first failure
    #[arg(long, overrides_with = "keep_going")]
    pub(crate) fail_fast: bool,

    /// Go on with everything that does not need what failed (the default)
    #[arg(long, overrides_with = "fail_fast")]
    pub(crate) keep_going: bool,

    /// How tasks follow each other beyond their dependencies
    #[arg(long, value_enum, value_name = "HOW", env = "CONDUCTOR_STRATEGY", hide_env_values = true)]
    pub(crate) strategy: Option<Strategy>,

    /// Let tasks run side by side even where they name the same files
    #[arg(long)]
    pub(crate) allow_overlap: bool,

    /// Where tasks work that do not say it (in a git repository: worktree)
    #[arg(long, value_enum, value_name = "WHERE", env = "CONDUCTOR_ISOLATION", hide_env_values = true)]
    pub(crate) isolation: Option<Isolation>,

    /// What to do with the run's branch at the end
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Merge::None,
          env = "CONDUCTOR_MERGE", hide_env_values = true)]
    pub(crate) merge: Merge,

    /// Make an empty first commit where the repository has none
    #[arg(long)]
    pub(crate) first_commit: bool,

    /// How often to look for conflicts ahead and for writes into your checkout; 0 is never
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_LOOKOUT",
          hide_env_values = true, default_value = "15s")]
    pub(crate) lookout: Millis,

    /// Start nothing new once this much has been spent
    #[arg(long, value_name = "USD", value_parser = dollars, env = "CONDUCTOR_MAX_COST", hide_env_values = true)]
    pub(crate) max_cost: Option<f64>,

    /// Stop after this time, such as 90m
    #[arg(long, value_name = "TIME", value_parser = duration, env = "CONDUCTOR_MAX_TIME", hide_env_values = true)]
    pub(crate) max_time: Option<Millis>,

    /// Start no more attempts than this, all tasks together
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..),
          env = "CONDUCTOR_MAX_ATTEMPTS", hide_env_values = true)]
    pub(crate) max_attempts: Option<u32>,

    /// Show what would run, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Leave the run going in the background, and return as soon as it is there
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) detach: bool,

    /// This is the one that was left in the background
    #[arg(long, hide = true)]
    pub(crate) detached: bool,

    /// How progress is shown
    #[arg(long, value_enum, default_value_t = Ui::Auto, value_name = "HOW", env = "CONDUCTOR_UI",
          hide_env_values = true)]
    pub(crate) ui: Ui,

    /// How often a line says what is running, where progress is shown in plain lines; 0 for never
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) heartbeat: Millis,

    /// One event a line on standard output (same as --ui json)
    #[arg(long)]
    pub(crate) json: bool,

    /// Where transcripts and reports go
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

/// A run, by name.
#[derive(Debug, Args)]
pub(crate) struct OfRun {
    /// The run, or the beginning of its name; the newest live one here where absent
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Status {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    pub(crate) run: Option<String>,
    /// Show it again and again until the run ends
    #[arg(short, long)]
    pub(crate) watch: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Go on until the task ends, through all its attempts
    #[arg(short, long, conflicts_with = "attempt")]
    pub(crate) follow: bool,
    /// Which attempt; the newest where absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) attempt: Option<u32>,
    /// What its agent said to us, word by word
    #[arg(long)]
    pub(crate) stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Events {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    pub(crate) run: Option<String>,
    /// Go on until the run ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only those after the event of this number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub(crate) since: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Wait {
    /// The run, or the beginning of its name; the newest live one here where absent, or the newest
    pub(crate) run: Option<String>,
    /// What to wait for
    #[arg(long = "for", value_enum, value_name = "WHAT", default_value_t = Awaited::Done)]
    pub(crate) what: Awaited,
    /// How long at the most; after that the exit code is 8
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub(crate) timeout: Option<Millis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Awaited {
    /// The end of the run
    Done,
    /// The end of any task, whichever is first
    Any,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("which").required(true)))]
pub(crate) struct Cancel {
    /// The task's id
    #[arg(group = "which")]
    pub(crate) task: Option<String>,
    /// Every task of this group that has not ended
    #[arg(long, value_name = "GROUP", group = "which")]
    pub(crate) group: Option<String>,
    /// Every task that has not ended
    #[arg(long, group = "which")]
    pub(crate) all: bool,
    /// The run, or the beginning of its name; the newest live one here where absent
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Parallel {
    /// How many tasks are at work at once
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) slots: u32,
    /// The run, or the beginning of its name; the newest live one here where absent
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Runs {
    /// Every run, newest first
    List(RunsList),
    /// What a run came to, or what it is doing
    Show(RunsShow),
    /// Take away what old runs have left: their folders and their records. Shows what would go; --yes does it
    Prune(RunsPrune),
}

#[derive(Debug, Args)]
pub(crate) struct RunsList {
    /// Only those of the repository you are in
    #[arg(long)]
    pub(crate) here: bool,
    /// How many at the most; 0 is all
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20)]
    pub(crate) last: usize,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShow {
    /// The run, or the beginning of its name; the newest one here where absent
    pub(crate) run: Option<String>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPrune {
    /// Those that were started longer ago than this, such as 30d or 12h
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub(crate) older_than: Option<Millis>,
    /// All but the newest so many
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// Only those of the repository you are in
    #[arg(long)]
    pub(crate) here: bool,
    /// The work they kept and the checkpoints they made in their repositories as well
    #[arg(long)]
    pub(crate) refs: bool,
    /// Those too that could be resumed, or have work in them that is kept nowhere else
    #[arg(long)]
    pub(crate) force: bool,
    /// Do it
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// A task starts the moment its own dependencies are done
    Queue,
    /// A level starts when the whole level before it has ended
    Batch,
    /// One after the other, in file order
    Sequential,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Isolation {
    /// Each in a worktree of its own
    Worktree,
    /// Each in a private clone that shares the repository's objects, for work that is not trusted with it
    Clone,
    /// Here
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Merge {
    /// Leave it for you to look at and merge
    None,
    /// Bring the branch you started from forward, if nothing else moved it and its checkout is clean
    Branch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Ui {
    /// Inline on a terminal, else plain; what GitHub shows well where it runs
    Auto,
    /// Lines that stay, and below them a small block that tells what is going on
    Inline,
    /// A line for each start and end
    Plain,
    /// One event a line on standard output
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Who plays the agent: claude, codex, gemini, opencode or builtin; the first that is installed where absent
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Leave the project, the run's branch and its files to be looked at
    #[arg(long)]
    pub(crate) keep: bool,
}

/// The agent of the demonstration, for whoever has no other.
#[derive(Debug, Args)]
pub(crate) struct Keeper {
    pub(crate) run: String,
}

#[derive(Debug, Args)]
pub(crate) struct DemoAgent {
    /// Where the stand-in listens
    pub(crate) model: std::net::SocketAddr,
    /// Where conversations are kept
    pub(crate) memory: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// The task file; `-` reads it from standard input
    pub(crate) file: PathBuf,
    /// The findings as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The task file; `-` reads it from standard input
    pub(crate) file: PathBuf,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these tasks, as for `run`
    #[arg(long, value_name = "EXPR")]
    pub(crate) only: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Mermaid,
    Dot,
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct Cost {
    /// The run, or the beginning of its name; the newest one here where absent
    pub(crate) run: Option<String>,
    /// What the lines are by
    #[arg(long, value_enum, default_value_t = CostBy::Task, value_name = "WHAT")]
    pub(crate) by: CostBy,
    /// All runs of this repository together
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CostBy {
    Task,
    Epic,
    Model,
    Agent,
    Day,
    Run,
}

#[derive(Debug, Args)]
pub(crate) struct Prices {
    /// Models by name; all of them where absent
    pub(crate) models: Vec<String>,
    /// A task file whose own prices come first
    #[arg(short, long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Rehearse {
    /// The task file; `-` reads it from standard input
    pub(crate) file: PathBuf,
    /// With so many tasks at once; with as many as there is use for where absent
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) parallel: Option<u32>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A task's id; or an exit code, a failure class, or a finding's code
    pub(crate) what: String,
    /// The task file the task is in; otherwise it is a task of a run
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    pub(crate) file: Option<PathBuf>,
    /// The run, or the beginning of its name; the newest one here that has the task where absent
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Print what the agent would be told, word for word
    #[arg(long, conflicts_with = "json")]
    pub(crate) prompt: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Every setting: what counts of variables, config files and what is built in
    Show(ConfigShow),
    /// Where config files are looked for, the strongest first
    Path(ConfigPath),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigShow {
    /// A task file whose config comes before those of the config files
    pub(crate) file: Option<PathBuf>,
    /// And who says it: a variable, a file and its line, or nobody
    #[arg(long)]
    pub(crate) origin: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConfigPath {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Init {
    /// Ask what to write
    #[arg(long)]
    pub(crate) wizard: bool,
    /// Write over files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Mend what can be mended without a risk, and tell what was done
    #[arg(long)]
    pub(crate) fix: bool,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Template {
    /// Every template: your own, the repository's and those that come with us
    List(TemplateList),
    /// Fill a template in and write it as a task file
    New(TemplateNew),
}

#[derive(Debug, Args)]
pub(crate) struct TemplateList {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TemplateNew {
    /// Which template
    pub(crate) name: String,
    /// A variable of the template and its value; may be given often
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub(crate) variables: Vec<(String, String)>,
    /// Where to write it; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "tasks.yaml")]
    pub(crate) output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of config files instead
    #[arg(long)]
    pub(crate) config: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Version {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// Only the names of the files, and how many lines changed
    #[arg(long)]
    pub(crate) stat: bool,
}

/// A task of a run.
#[derive(Debug, Args)]
pub(crate) struct OfTask {
    /// The task's id
    pub(crate) task: String,
    /// The run, or the beginning of its name; the newest one here that fits where absent
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Allow what its agent asks to do
    Approve(Answered),
    /// Do not allow what its agent asks to do
    Deny(Answered),
    /// Say something to the agent that works on it, now or when it next begins
    Send(Send),
    /// Do it again, with its tries counted anew, and what was skipped because of it
    Retry(OfTask),
    /// Do not do it
    Skip(OfTask),
    /// Stop it and do not do it
    Cancel(OfTask),
}

#[derive(Debug, Args)]
pub(crate) struct Answered {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// What the agent is told with it
    #[arg(short, long, value_name = "WORDS")]
    pub(crate) message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Send {
    #[command(flatten)]
    pub(crate) of: OfTask,
    /// What to say
    pub(crate) words: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Worktree {
    /// Every workspace there is, and all work that is kept and has not landed
    List(WorktreeList),
    /// Print the folder a task works in
    Path(OfTask),
    /// Take away workspaces that nobody needs any more; what is in them is saved first
    Clean(WorktreeClean),
    /// Try again to bring a failed task's work onto the run's branch
    Merge(OfTask),
    /// Solve the conflict of a failed task
    Resolve(WorktreeResolve),
    /// Merge the branch you are on into the run's branch
    Sync(WorktreeSync),
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeList {
    /// Only of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeClean {
    /// The run; all finished ones of this repository where absent
    pub(crate) run: Option<String>,
    /// Those of runs that could be resumed as well
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeResolve {
    #[command(flatten)]
    pub(crate) of: OfTask,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Without any of these, the conflict is laid out in a folder to be solved there.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct How {
    /// What has landed wins wherever both changed the same lines
    #[arg(long)]
    pub(crate) ours: bool,
    /// The task wins wherever both changed the same lines
    #[arg(long)]
    pub(crate) theirs: bool,
    /// It is solved: check it and land it
    #[arg(long = "continue")]
    pub(crate) proceed: bool,
    /// Give it up; the task's work stays kept
    #[arg(long)]
    pub(crate) abort: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WorktreeSync {
    /// The run, or the beginning of its name; the newest one here that has a branch where absent
    pub(crate) run: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    /// Every agent: whether it is installed and logged in, and what it can do
    List(AgentsList),
    /// Have agents write one word into a file of a repository made for that; this costs a little
    Test(AgentsTest),
}

#[derive(Debug, Args)]
pub(crate) struct AgentsList {
    /// A task file whose own agents count too
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct AgentsTest {
    /// Who; everybody who is installed where absent
    pub(crate) names: Vec<String>,
    /// A task file whose own agents count too
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// With this model instead of their own choice
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// How long each may take
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub(crate) timeout: Millis,
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Checkpoint {
    /// Remember where the branch you are on is, or a run's
    Create(CheckpointCreate),
    /// Every checkpoint, newest first
    List(CheckpointList),
    /// Set a branch back; where it is a run's, what had landed since is to be done again
    Rollback(CheckpointRollback),
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointCreate {
    /// What to call it
    pub(crate) name: Option<String>,
    /// The run whose branch is meant
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// What it is for
    #[arg(short, long, value_name = "TEXT", default_value = "made by hand")]
    pub(crate) message: String,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointList {
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointRollback {
    pub(crate) name: String,
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(amount) if amount.is_finite() && amount > 0.0 => Ok(amount),
        _ => Err("expected an amount above 0, such as 2.50".to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name, = and a value, such as target=src/parser".to_owned()),
    }
}

fn duration(text: &str) -> Result<Millis, String> {
    conductor_core::spec::parse_duration(text).map_err(|error| error.to_string())
}

/// As a duration, and days.
fn days(text: &str) -> Result<Millis, String> {
    match text.strip_suffix('d').map(str::parse::<u64>) {
        Some(Ok(days)) => Ok(Millis::from_secs(days.saturating_mul(24 * 60 * 60))),
        Some(Err(_)) => Err("expected a time such as 30d or 12h".to_owned()),
        None => duration(text),
    }
}
