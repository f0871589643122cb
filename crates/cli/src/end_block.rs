//! What a run came to: first what failed tasks said, then what is done, and last, where the eye is, what failed, the verdict
//! and the exact next command.

mod failures;
mod page;
mod stats;

use std::collections::BTreeSet;
use std::path::Path;

use conductor_core::plan::Task;
use conductor_core::plan::graph::Graph;
use conductor_core::report::groups::only_blocked;
use conductor_core::report::ledger::Ledger;
use conductor_core::report::{self, Summary};
use conductor_core::run::costs;
use conductor_core::run::event::{DrainReason, FailureClass, RunOutcome, Touched, Usage};
use conductor_core::run::{Run, Stage, Status, TaskState};
use conductor_core::values::counted::counted;
use conductor_core::values::ids::RunId;
use conductor_core::values::units::Usd;
use conductor_engine::git::InTheWay;
use conductor_engine::git::merge::Ending;

pub(crate) use conductor_engine::process::transcript::one_line;

use crate::output::style::{GREEN, PLAIN, RED, YELLOW};
use crate::output::width::{self, Room, cut, width_of};
use page::{INDENT, Page};

/// How many lines of a screen are left for everything but the tasks.
const REST: usize = 12;
/// How many tasks have a line of their own where there is no screen to fill.
const UNSEEN: usize = 40;
/// Of those that landed or were skipped, whatever else there is.
const LEAST: usize = 3;
/// How many commands that put git's configuration back.
const UNDONE: usize = 8;
/// How many files that would be overwritten are named.
const IN_THE_WAY: usize = 5;
/// How much of a task's name stands beside its id, and what is too little of it to be worth a column.
const WIDEST_NAME: usize = 40;
const NARROWEST_NAME: usize = 12;

/// All that is told at the end of a run.
pub(crate) struct Block<'a> {
    pub(crate) id: &'a RunId,
    pub(crate) run: &'a Run,
    pub(crate) graph: &'a Graph,
    /// Where the run's files are.
    pub(crate) directory: &'a Path,
    pub(crate) ending: Option<&'a Ending>,
    pub(crate) ledger: Option<&'a Ledger>,
    /// With where the time and the money went.
    pub(crate) stats: bool,
    /// Nothing of the run is there any more when this is read, so no folder, branch or command is named.
    pub(crate) gone: bool,
}

impl Block<'_> {
    /// As wide as the terminal on standard output, with as many tasks as it shows at once.
    pub(crate) fn text(&self) -> String {
        self.fitted(width::room())
    }

    fn fitted(&self, room: Option<Room>) -> String {
        let summary = Summary::of(self.run, self.graph);
        let mut page = Page::new(room.unwrap_or(width::USUAL).columns);
        let rows = room.map_or(UNSEEN, |room| room.rows.saturating_sub(REST).max(REST));
        failures::outputs(&mut page, self);
        if self.stats {
            stats::all(&mut page, self, &summary);
        }
        let failed = failures::count(self.run);
        let skipped = self.run.count(Status::Skipped) as usize;
        let skips = rows.saturating_sub(failed).max(LEAST);
        self.landed(&mut page, rows.saturating_sub(failed + skipped).max(LEAST));
        self.skipped(&mut page, skips);
        self.facts(&mut page, &summary);
        page.gap();
        self.questions(&mut page);
        self.reviews(&mut page);
        failures::list(&mut page, self, rows);
        let words = format!(
            "{}: {}; took {}",
            report::outcome_name(self.run.stage()),
            counts(&summary),
            summary.elapsed
        );
        page.line(
            self.color(),
            &width::wrapped(&format!("run {} {words}", self.id), page.columns()).join("\n"),
        );
        if !self.gone {
            self.next(&mut page, &summary);
        }
        page.into_text()
    }

    fn color(&self) -> &'static str {
        match self.run.stage() {
            Stage::Finished(RunOutcome::Completed) => GREEN,
            Stage::Finished(RunOutcome::Failed) | Stage::Stopped(DrainReason::FailFast) => RED,
            _ => YELLOW,
        }
    }

    /// What is on the run's branch now.
    fn landed(&self, page: &mut Page, rows: usize) {
        let all =
            self.run.asked().filter_map(|(_, task, progress)| Some((task, progress.landed.as_deref()?)));
        let lines: Vec<_> =
            all.clone().take(rows).map(|(task, landed)| (task, changed(&landed.touched))).collect();
        let widest = |width: fn(&(&Task, String)) -> usize| lines.iter().map(width).max().unwrap_or(0);
        let (ids, changes) =
            (widest(|(task, _)| width_of(task.id.as_str())), widest(|(_, change)| width_of(change)));
        // A long id gives way to names; where there are none it has room.
        let room = match lines.iter().any(|(task, _)| name(task).is_some()) {
            true => page.columns() * 2 / 5,
            false => page.room().saturating_sub(changes + 2).max(NARROWEST_NAME),
        };
        let ids = ids.min(room);
        let names = page.columns().saturating_sub(INDENT + ids + 2 + changes + 2).min(2 * WIDEST_NAME);
        for (task, change) in &lines {
            let name = name(task).filter(|_| names >= NARROWEST_NAME);
            let name = name.map(|name| cut(&name, names, "…")).unwrap_or_default();
            let id = cut(task.id.as_str(), ids, "…");
            page.styled_line(GREEN, "landed", &format!("{id:<ids$}  {change:<changes$}  {name}"));
        }
        let rest = all.count() - lines.len();
        if rest > 0 {
            page.say("", &format!("and {rest} more: git log {}", self.branch()));
        }
    }

    fn branch(&self) -> String {
        match self.ending {
            Some(Ending::Left { branch, .. } | Ending::Merged { branch, .. }) => branch.clone(),
            _ => format!("conductor/{}", self.id),
        }
    }

    fn skipped(&self, page: &mut Page, rows: usize) {
        let skipped = self.run.asked().filter(|(_, _, progress)| progress.state.status() == Status::Skipped);
        for (_, task, progress) in skipped.clone().take(rows) {
            let why = report::note(self.run.plan(), task, &progress.state);
            let words = cut(&format!("{}: {}", called(task), one_line(&why)), page.room() - 1, "…");
            page.styled_line(YELLOW, "skipped", &words);
        }
        let rest = skipped.count().saturating_sub(rows);
        if rest > 0 {
            page.say("", &format!("and {rest} more skipped"));
        }
    }

    /// What has to be known whatever the run came to.
    fn facts(&self, page: &mut Page, summary: &Summary) {
        page.gap();
        settings(page, self.run);
        if let Some(ledger) = self.ledger {
            truth(page, ledger);
        }
        cost(page, self.run, summary);
        if !self.gone {
            page.line(PLAIN, &format!("files  {}", self.directory.display()));
        }
        if let Some(ending) = self.ending {
            self.result(page, ending);
        }
    }

    fn result(&self, page: &mut Page, ending: &Ending) {
        let landed = self.run.asked().filter(|(_, _, progress)| progress.landed.is_some()).count();
        let landed = counted(landed, "task");
        match ending {
            Ending::Unchanged => page.say("result", "nothing was changed"),
            Ending::Merged { branch, into } => {
                page.say("result", &format!("{landed} landed on {branch}, and {into} holds it"));
            }
            Ending::Left { branch, why, in_the_way } => {
                page.say("result", &format!("{landed} landed on {branch}"));
                if let Some(why) = why {
                    page.say("", &format!("({why})"));
                }
                warn_of(page, in_the_way);
            }
        }
    }

    /// What agents ask, with how to answer.
    fn questions(&self, page: &mut Page) {
        for (task, progress) in self.run.tasks() {
            if let TaskState::Asking { question, .. } = &progress.state {
                page.styled(
                    YELLOW,
                    "asks",
                    &format!("{}: {}", called(task), one_line(&question.to_string())),
                );
                page.command(&format!("conductor task approve {} --run {}   or deny", task.id, self.id));
            }
        }
    }

    /// What waits for a person's review.
    fn reviews(&self, page: &mut Page) {
        for (task, progress) in self.run.tasks() {
            if let TaskState::InReview { .. } = &progress.state {
                let change = progress.state.landing().map(|landing| changed(&landing.change.touched));
                let words = format!("{} waits for your review  {}", called(task), change.unwrap_or_default());
                page.styled(YELLOW, "review", words.trim_end());
            }
        }
    }

    fn next(&self, page: &mut Page, summary: &Summary) {
        if let Some(Ending::Left { branch, .. }) = self.ending {
            page.next(&format!("git merge {branch}"));
        }
        if let Some(command) = resumed(self.id, self.run, summary) {
            page.next(&command);
        }
    }
}

/// A task's id, with its name where that is another.
fn called(task: &Task) -> String {
    match name(task) {
        Some(name) => format!("{} ({})", task.id, cut(&name, WIDEST_NAME, "…")),
        None => task.id.to_string(),
    }
}

fn name(task: &Task) -> Option<String> {
    Some(one_line(&task.name)).filter(|name| !name.is_empty() && name != task.id.as_str())
}

fn changed(touched: &Touched) -> String {
    let Touched { added, removed, .. } = touched;
    match touched.count() {
        0 => String::new(),
        count => format!("+{added} -{removed} in {}", counted(count, "file")),
    }
}

/// What it cost, and what to do about a model without a price.
fn cost(page: &mut Page, run: &Run, summary: &Summary) {
    if summary.spent.tokens == 0 && summary.spent.cost.0 == 0 {
        return;
    }
    let cap = run.options().limits.max_cost.map(|cap| format!(" of {cap}")).unwrap_or_default();
    page.say("cost", &format!("{}{cap}", costs::words(summary.spent)));
    for planning in run.planning() {
        let (total, words) = (planning.total(), "part of what the run cost");
        page.say(
            "",
            &format!("planning: {}, {}; {words}", counted(total.tokens, "token"), costs::words(total)),
        );
    }
    if summary.spent.unpriced > 0 {
        let tokens = counted(summary.spent.unpriced, "token");
        page.say("", &format!("no price for {tokens}: give it one under `prices:` in the file's config"));
    }
}

/// What is not as it should be, and what is kept for the user.
fn truth(page: &mut Page, ledger: &Ledger) {
    if !ledger.is_clean() {
        page.styled(RED, "ledger", &stats::counts(ledger));
    }
    for (word, list) in [("LOST", &ledger.lost), ("LEAKED", &ledger.leaked), ("in use", &ledger.parked)] {
        for entry in list {
            page.say("", &format!("{word}: {entry}"));
        }
    }
    for task in &ledger.unproven {
        page.say("", &format!("the checks of {task} prove nothing: they pass on damaged work too"));
    }
    if let Some(first) = ledger.rescued.first() {
        let more = match ledger.rescued.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more; conductor worktree list"),
        };
        page.say("kept", &format!("{first}{more}"));
    }
}

/// What the user's own git would go by from now on, before any git command is recommended.
fn settings(page: &mut Page, run: &Run) {
    for touched in run.settings() {
        page.styled(YELLOW, "git", &one_line(&touched.words()));
    }
    let undo: BTreeSet<&String> = run.settings().iter().flat_map(|touched| &touched.undo).collect();
    if !undo.is_empty() {
        page.say("", "look at it before you use git here; as it was when the run started:");
        for command in undo.iter().take(UNDONE) {
            page.line(PLAIN, &format!("         {}", one_line(command)));
        }
    }
}

/// Git overwrites what it was told to ignore without a word.
fn warn_of(page: &mut Page, in_the_way: &InTheWay) {
    for (files, words) in [
        (
            &in_the_way.untracked,
            "a merge overwrites what stands there and is not tracked; move it away first:",
        ),
        (
            &in_the_way.changed,
            "git refuses the merge while you have uncommitted changes there; commit or stash them first:",
        ),
    ] {
        let named: Vec<String> = files.iter().take(IN_THE_WAY).map(|name| one_line(name)).collect();
        let more = match files.len().saturating_sub(IN_THE_WAY) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        if !named.is_empty() {
            page.styled(YELLOW, "WARN", &format!("{words} {}{more}", named.join(", ")));
        }
    }
}

fn counts(summary: &Summary) -> String {
    let mut parts = vec![format!("{} of {} completed", summary.completed, summary.total)];
    for (count, word) in [
        (summary.failed, "failed"),
        (summary.skipped, "skipped"),
        (summary.cancelled, "cancelled"),
        (summary.open, "not done"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    parts.join(", ")
}

/// The command that takes the run up again, where there is anything left to do.
fn resumed(id: &RunId, run: &Run, summary: &Summary) -> Option<String> {
    match run.stage() {
        Stage::Stopped(DrainReason::Person) if in_review(run) => Some(format!("conductor review {id}")),
        Stage::Stopped(DrainReason::Budget) => Some(format!("conductor run --resume {id} {}", higher(run))),
        Stage::Stopped(DrainReason::Unauthorized) => {
            Some(format!("conductor run --resume {id} --retry-failed   (when its agent is logged in)"))
        }
        Stage::Stopped(DrainReason::FailFast) => Some(format!("conductor run --resume {id} --retry-failed")),
        Stage::Stopped(DrainReason::Person) if in_review(run) => Some(format!("conductor review {id}")),
        Stage::Stopped(_) => Some(format!("conductor run --resume {id}")),
        _ if only_blocked(run) => {
            Some("conductor group execute once more, when what blocks it is done".to_owned())
        }
        _ if own_caps(run) => Some(format!(
            "conductor run --resume {id} --retry-failed   (with higher caps in the file, they go on where they were)"
        )),
        _ if summary.failed + summary.skipped + summary.cancelled > 0 => {
            Some(format!("conductor run --resume {id} --retry-failed"))
        }
        _ => None,
    }
}

fn in_review(run: &Run) -> bool {
    run.tasks().any(|(_, progress)| matches!(progress.state, TaskState::InReview { .. }))
}

/// The flag that lets a run go on which has used all it may.
fn higher(run: &Run) -> String {
    let (limits, spent) = (&run.options().limits, run.spent());
    let money = |cost: Usd| costs::words(Usage { cost, ..Usage::default() });
    if let Some(cap) = limits.max_cost.filter(|cap| spent.cost >= *cap) {
        return format!("--max-cost USD   (it was {})", money(cap));
    }
    if let Some(cap) = limits.max_tokens.filter(|cap| spent.tokens >= *cap) {
        return format!("--max-tokens N   (it was {cap})");
    }
    if let Some(cap) = limits.max_attempts.filter(|cap| run.attempts() >= *cap) {
        return format!("--max-attempts N   (it was {cap})");
    }
    match limits.max_time {
        Some(cap) => format!("--max-time TIME   (it was {cap})"),
        None => "  (with a higher limit)".to_owned(),
    }
}

/// Whether what failed did so by caps of its own.
fn own_caps(run: &Run) -> bool {
    let mut failures = run.tasks().filter_map(|(_, progress)| match &progress.state {
        TaskState::Failed(failure) => Some(failure.class),
        _ => None,
    });
    let first = failures.next();
    first.is_some_and(|class| class == FailureClass::Budget)
        && failures.all(|class| class == FailureClass::Budget)
}
