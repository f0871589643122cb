//! A command, as the task wrote it. Success is exit 0.

use std::ffi::OsString;

use conductor_core::plan::{Command, Task, Work};
use conductor_core::run::event::FailureClass;

use super::{Agent, AgentError, Brief, Caller, Ending, Engagement, Heard, Translator};
use crate::git::workspaces::Workspace;
use crate::process::limits::Limits;
use crate::process::{Exit, Launch};

pub(super) struct Shell;

impl Agent for Shell {
    fn abilities(&self) -> super::Abilities {
        super::Abilities::NONE
    }

    /// Rules are for agents; a command is the user's own.
    fn keeps(&self) -> super::Keeps {
        super::Keeps::Everything
    }

    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        let Work::Run(command) = &brief.task.work else { return Err(unfit()) };
        let launch = launch(command, brief.task, brief.workspace, brief.caller);
        Ok(Engagement { launch, translator: Box::new(Listener) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        match task.work {
            Work::Run(_) => Ok(()),
            Work::Prompt(_) => Err(unfit()),
        }
    }
}

fn unfit() -> AgentError {
    AgentError::Unfit { agent: "shell", why: "it runs commands, not prompts".into() }
}

/// A command speaks to people, not to us: only its exit counts.
struct Listener;

impl Translator for Listener {
    fn on_line(&mut self, _: &[u8]) -> Heard {
        Heard::default()
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        match exit {
            Exit::Code(0) => Ending::good(None),
            Exit::Code(code) => Ending::bad(FailureClass::Exit, format!("exit code {code}")),
            Exit::Signal(signal) => Ending::bad(FailureClass::Killed, format!("killed by signal {signal}")),
        }
    }
}

/// A command in a task's place and environment.
pub(super) fn launch(command: &Command, task: &Task, workspace: &Workspace, caller: &Caller) -> Launch {
    let mut argv = argv(command).into_iter();
    Launch {
        program: argv.next().unwrap_or_default(),
        args: argv.collect(),
        env: caller.environment(task, workspace),
        directory: workspace.directory.clone(),
        limits: limits(task, workspace),
        converses: false,
        together: false,
    }
}

/// Of a task, and the folders it writes to.
pub(super) fn limits(task: &Task, workspace: &Workspace) -> Limits {
    let temporary = workspace.env.iter().filter(|(name, _)| name == "TMPDIR").map(|(_, path)| path.into());
    let folders = std::iter::once(workspace.directory.clone()).chain(temporary).collect();
    Limits { of: task.limits(), folders }
}

/// Words that only a shell understands, as the first of a command.
const BUILTINS: [&str; 32] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "eval", "exec", "exit", "export",
    "fg", "for", "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return", "set", "shift",
    "source", "trap", "type", "ulimit", "umask", "unset", "while",
];

/// A plain command is started directly; anything a shell would read differently goes to one.
fn argv(command: &Command) -> Vec<OsString> {
    match command {
        Command::Argv(argv) => argv.iter().map(OsString::from).collect(),
        Command::Line(line) => match plain_words(line) {
            Some(words) => words.iter().map(OsString::from).collect(),
            None => ["/bin/sh", "-c", line].map(OsString::from).to_vec(),
        },
    }
}

fn plain_words(line: &str) -> Option<Vec<&str>> {
    const SYNTAX: &[char] = &[
        '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~', '!', '{',
        '}', '%', '^', '\n', '\r',
    ];
    if line.trim().contains(SYNTAX) {
        return None;
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let first = words.first()?;
    (!first.contains('=') && !BUILTINS.contains(first)).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let argv = argv(&Command::Line(line.into()));
        argv.iter().map(|word| word.display().to_string()).collect::<Vec<_>>().join("|")
    }

    #[test]
    fn plain_commands_need_no_shell() {
        assert_eq!(shown("true"), "true");
        assert_eq!(shown("  cargo test  -p api --quiet\n"), "cargo|test|-p|api|--quiet");
        assert_eq!(shown("make A=1"), "make|A=1");
    }

    #[test]
    fn shell_syntax_goes_to_a_shell_untouched() {
        for line in
            ["a | b", "echo $HOME", "FOO=1 make", "cd x", "echo 'a b'", "ls *.rs", "a\nb", "exit 3", ": "]
        {
            assert_eq!(shown(line), format!("/bin/sh|-c|{line}"));
        }
    }

    #[test]
    fn a_list_of_words_is_never_read_by_a_shell() {
        let argv = argv(&Command::Argv(vec!["echo".into(), "$(id)".into()]));
        assert_eq!(argv, ["echo", "$(id)"]);
    }

    #[test]
    fn only_exit_zero_is_success() {
        use conductor_core::run::event::Outcome;
        assert_eq!(Listener.finish(Exit::Code(0)).outcome, Outcome::Succeeded);
        let failed = |exit| match Listener.finish(exit).outcome {
            Outcome::Failed(failure) => (failure.class, failure.message),
            other => panic!("{other:?}"),
        };
        assert_eq!(failed(Exit::Code(3)), (FailureClass::Exit, "exit code 3".into()));
        assert_eq!(failed(Exit::Signal(9)).0, FailureClass::Killed);
    }
}
