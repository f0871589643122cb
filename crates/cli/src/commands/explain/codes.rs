//! What exit codes, failure classes and findings in task files mean, and what to do about them.

use conductor_core::file::{self};
use conductor_core::run::event::FailureClass;
use conductor_core::values::suggest::did_you_mean;
use serde_json::{Value, json};

use crate::error::Exit;

const CLASSES: [FailureClass; 27] = [
    FailureClass::Exit,
    FailureClass::Killed,
    FailureClass::TimedOut,
    FailureClass::Unstartable,
    FailureClass::Budget,
    FailureClass::OutOfMemory,
    FailureClass::LimitReached,
    FailureClass::Runaway,
    FailureClass::NoChanges,
    FailureClass::Unwanted,
    FailureClass::Unverified,
    FailureClass::FailsOnBase,
    FailureClass::Conflict,
    FailureClass::Diverged,
    FailureClass::SentBack,
    FailureClass::HeldBack,
    FailureClass::Unfinished,
    FailureClass::Unauthorized,
    FailureClass::UnknownModel,
    FailureClass::RateLimited,
    FailureClass::Overloaded,
    FailureClass::UsageLimit,
    FailureClass::Billing,
    FailureClass::TooLong,
    FailureClass::Rejected,
    FailureClass::Provider,
    FailureClass::Internal,
];

pub(super) struct Code {
    kind: &'static str,
    name: String,
    cause: &'static str,
    /// Nothing where the cause says it.
    remedy: Option<&'static str>,
}

impl Code {
    pub(super) fn text(&self) -> String {
        let remedy = self.remedy.map(|remedy| format!("\n{remedy}")).unwrap_or_default();
        format!("{} {}\n{}{remedy}\n", self.kind, self.name, self.cause)
    }

    pub(super) fn json(&self) -> Value {
        let kind = self.kind.replace(' ', "_");
        let (name, cause, remedy) = (&self.name, self.cause, self.remedy);
        json!({ "schema": "conductor.code/1", "kind": kind, "code": name, "cause": cause, "remedy": remedy })
    }
}

/// By its number or its name, however it is written.
pub(super) fn find(word: &str) -> Option<Code> {
    let plain = |word: &str| word.to_lowercase().replace(['-', '_', ' '], "");
    all().find(|code| plain(&code.name) == plain(word))
}

/// The code the user most likely meant.
pub(super) fn near(word: &str) -> Option<String> {
    let names: Vec<String> = all().map(|code| code.name).collect();
    did_you_mean(word, names.iter().map(String::as_str)).map(str::to_owned)
}

fn all() -> impl Iterator<Item = Code> {
    let exits = Exit::ALL.iter().map(|exit| {
        let (cause, remedy) = of_exit(*exit);
        Code { kind: "exit code", name: (*exit as u8).to_string(), cause, remedy: Some(remedy) }
    });
    let classes = CLASSES.iter().map(|class| {
        let (cause, remedy) = of_class(*class);
        Code { kind: "failure class", name: name(*class), cause, remedy: Some(remedy) }
    });
    let findings = file::CODES.iter().map(|(code, about)| Code {
        kind: "finding",
        name: (*code).to_owned(),
        cause: about,
        remedy: None,
    });
    exits.chain(classes).chain(findings)
}

fn name(class: FailureClass) -> String {
    serde_json::to_value(class).ok().and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default()
}

fn of_exit(exit: Exit) -> (&'static str, &'static str) {
    match exit {
        Exit::Done => {
            ("Everything that was asked for is done; of a run, every task landed.", "There is nothing to do.")
        }
        Exit::Unexpected => (
            "Something happened that should not: a file or the store cannot be used, git failed, or work is not where \
             the log says.",
            "The message names place and remedy. Nothing is lost: `conductor run --resume` goes on.",
        ),
        Exit::Usage => (
            "The command line asks for something that does not exist or does not fit together.",
            "See `conductor help` and the verb's own --help.",
        ),
        Exit::InvalidFile => (
            "The task file has errors; nothing was started.",
            "Every error is shown with its place; `conductor validate FILE` shows them again.",
        ),
        Exit::NothingToDo => (
            "There is nothing of that kind to do or to show: no such run here, nothing left to do in it.",
            "Start something with `conductor run FILE`, or do failed tasks again with --retry-failed.",
        ),
        Exit::Asked => (
            "All that is left of the run waits for a person's answer.",
            "`conductor task approve TASK` or `conductor task deny TASK`, then `conductor run --resume`.",
        ),
        Exit::BudgetReached => (
            "A cap of the run was reached: cost, tokens, attempts or time. What was at work was cut short and kept.",
            "Raise it and go on: `conductor run --resume --max-cost USD` (or --max-time, --max-attempts).",
        ),
        Exit::AgentMissing => (
            "An agent or another plugin that a task needs is not installed, not trusted or changed; nothing was started.",
            "Install or accept it as the message says, name another in `agent:`, or add one to `fallback_agents:`.",
        ),
        Exit::StillRunning => {
            ("Another process works on this run.", "Wait for it to end, or stop it, and try again.")
        }
        Exit::Cancelled => (
            "Tasks were cancelled by the user; nothing failed, and what needs them was skipped.",
            "Do them after all with `conductor run --resume --retry-failed`.",
        ),
        Exit::Internal => (
            "Conductor itself failed: a mistake in the program, not in your file. Everything it had started was ended.",
            "Nothing is lost: `conductor run --resume` goes on. Report what it said on standard error, with the output \
             of `conductor version`.",
        ),
        Exit::TaskFailed => (
            "At least one task failed; everything that does not need it went on.",
            "The end block names each with its last lines; `conductor explain TASK` tells more. Do them again with \
             `conductor run --resume --retry-failed`.",
        ),
        Exit::ConflictLeft => (
            "All that failed is that some work does not merge with what landed before it. That work is kept.",
            "`conductor worktree resolve TASK` lays the conflict out to be solved.",
        ),
        Exit::Interrupted => (
            "You stopped it (Ctrl-C). What was at work was cut short and kept.",
            "`conductor run --resume` goes on where it was.",
        ),
        Exit::Terminated => (
            "It was told to end (SIGTERM). What was at work was cut short and kept.",
            "`conductor run --resume` goes on where it was.",
        ),
    }
}

fn of_class(class: FailureClass) -> (&'static str, &'static str) {
    use FailureClass as C;
    match class {
        C::Exit => (
            "A command, or the task's setup, ended with an exit code that is not 0. It is tried again as the retry policy says.",
            "See its transcript for what it said last; run it by hand in `conductor worktree path TASK`.",
        ),
        C::Killed => (
            "Something outside ended its process: a signal, or the system when memory ran out. It is tried again.",
            "See whether the machine is short of memory; `resources: { memory: … }` keeps tasks apart that need much, and limits them.",
        ),
        C::TimedOut => (
            "An attempt took longer than the task's `timeout`. It is tried again.",
            "Raise `timeout`, or make the task smaller.",
        ),
        C::Unstartable => (
            "It could not even be started: a program, a directory or a permission is missing. It is not tried again.",
            "The message names what; an agent's is fixed by installing it, a template's by mending .conductor/prompt.md.j2.",
        ),
        C::Budget => (
            "The task's own cap was reached: `max_cost`, `max_tokens` or `max_turns`. It is not tried again.",
            "Raise the cap, or make the task smaller.",
        ),
        C::OutOfMemory => (
            "Its processes used more memory together than its `resources: { memory: … }` allow, and all of them were ended. \
             It is not tried again: it would need as much the next time.",
            "Raise that, or have it do less at once; `recovery: { permanent: [retry] }` has it tried again all the same.",
        ),
        C::LimitReached => (
            "It reached a limit of its `resources:` (processes, disk or open_files), which the message names. It is not \
             tried again: it would need as much the next time.",
            "Raise that limit; `recovery: { permanent: [retry] }` has it tried again all the same.",
        ),
        C::Runaway => (
            "The agent did the same over and over without getting anywhere, and was stopped.",
            "Say in the prompt what it could not find out, or allow it with `permissions: { repetition: true }`.",
        ),
        C::NoChanges => (
            "It succeeded but made no changes (changes are required). It is tried again.",
            "Say `changes: optional` where none may be needed, or say in the prompt which files are meant.",
        ),
        C::Unwanted => (
            "It changed files, where `changes: forbidden` allows none. It is tried again.",
            "See `conductor diff TASK`; allow changes, or say in the prompt that it should only look.",
        ),
        C::Unverified => (
            "A `verify:` command failed, in its own workspace or on the combined tree, also after `fix_rounds` of mending.",
            "Its last lines are in the end block; raise `fix_rounds`, or see whether the check itself is right.",
        ),
        C::FailsOnBase => (
            "A `verify:` command failed after the work exactly as it fails on the untouched base, also after a round of \
             mending, or `verify: auto` found nothing to run before and after it. It is not tried again: the check, or \
             what it needs, is what is wrong.",
            "Run the command in a fresh clone. Where it is right and fixing it is the task, say so in the prompt; \
             `check_base: false` leaves the base alone.",
        ),
        C::Conflict => (
            "Its work does not merge with what landed meanwhile, and mending did not help. The work is kept.",
            "`conductor worktree resolve TASK`; `files:` keeps tasks apart that touch the same, `on_conflict:` decides by rule.",
        ),
        C::Diverged => (
            "The agent moved its HEAD to a history that does not hold what had landed before it (a reset, an orphan branch, a \
             checkout of something else), and what it did cannot be told from what it left out. Nothing of it landed; the work \
             is kept under the rescue ref that the message names. It is tried again.",
            "See `git show REF`; bring in what is of use by hand, or let it be done again. Say in the prompt to stay on the \
             branch that is checked out.",
        ),
        C::SentBack => (
            "A person reviewed the work (`land: approve`) and sent it back with comments. The agent goes on with the work in the \
             same conversation.",
            "See `conductor review`.",
        ),
        C::HeldBack => (
            "The work is good, and the epic that it belongs to (`isolation_scope: epic`) lands as a whole or not at all: another of its \
             tasks has failed, was cancelled or was skipped. The work is kept under a rescue ref.",
            "Retry the task that the message names: an agent then goes on with what it had. With `epic_landing: what_succeeded`, what is \
             good lands without the rest.",
        ),
        C::Unfinished => (
            "The agent's process was over before its final word, whatever its exit code. It is tried again.",
            "See the end of its transcript; a crash of the agent itself is worth a report to its makers.",
        ),
        C::Unauthorized => (
            "The provider refused the login or the key. It is not tried again with this agent.",
            "Log in with the agent's own program, or check its key; only the keys it needs reach it.",
        ),
        C::UnknownModel => (
            "The provider has no such model, or not for this account.",
            "Correct `model:`, or the agent's `tiers` in `config: models:`.",
        ),
        C::RateLimited => (
            "Too many requests in too short a time. It is tried again after a while.",
            "Fewer at once: `limits: { agents: { NAME: 2 } }`; `fallback_agents:` lets others help out.",
        ),
        C::Overloaded => (
            "The provider has too much to do. It is tried again after a while.",
            "Wait, or let another agent help out: `fallback_agents:`.",
        ),
        C::UsageLimit => (
            "The allowance is used up until the provider renews it. The run waits for that and goes on by itself.",
            "Wait, or let another agent help out: `fallback_agents:`.",
        ),
        C::Billing => (
            "There is no money left with the provider. It is not tried again with this agent.",
            "Add credit, or let another agent help out: `fallback_agents:`.",
        ),
        C::TooLong => (
            "The conversation is longer than the model can read. It is not tried again with this agent.",
            "Make the task smaller, or name a model that reads more.",
        ),
        C::Rejected => (
            "The provider refused the request for another reason, which the message tells. It is not tried again.",
            "Act on the message; a content filter may need other words in the prompt.",
        ),
        C::Provider => (
            "The provider failed, or cannot be reached. It is tried again.",
            "Check the network and the provider's status page.",
        ),
        C::Internal => (
            "Conductor itself failed while it worked on the attempt: a mistake in the program, not in your file. It is \
             not tried again.",
            "Report what it said on standard error; do it again with `conductor run --resume --retry-failed`.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_code_is_there_once_and_has_a_cause_and_a_remedy() {
        let names: Vec<String> = all().map(|code| code.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "no word means two things");
        for code in all() {
            assert!(code.cause.ends_with('.'), "{}: {}", code.name, code.cause);
            assert!(code.remedy.is_none_or(|remedy| remedy.ends_with(['.', ')'])), "{}", code.name);
        }
        // A new class or code must be in the lists: every number and name a log can hold is found.
        for class in CLASSES {
            assert!(find(&name(class)).is_some_and(|code| code.kind == "failure class"));
        }
    }

    #[test]
    fn codes_are_found_however_they_are_written_and_near_ones_are_offered() {
        for word in ["timed_out", "timed-out", "TimedOut"] {
            assert_eq!(find(word).unwrap().name, "timed_out");
        }
        assert_eq!(find("101").unwrap().kind, "exit code");
        assert_eq!(find("unknown-key").unwrap().kind, "finding");
        assert!(find("99").is_none());
        assert_eq!(near("unverifed").as_deref(), Some("unverified"));
    }
}
