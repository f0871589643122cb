//! The help of the program as a whole: its commands by what they are for.

use clap::Command;

use crate::output::width::{room, wrapped};

/// Every command that is shown, under one heading each.
const HEADINGS: [(&str, &[&str]); 8] = [
    (
        "Start",
        &[
            "init",
            "run",
            "demo",
            "plan",
            "orchestrate",
            "validate",
            "graph",
            "rehearse",
            "group",
            "import",
            "template",
        ],
    ),
    ("Watch", &["status", "tui", "attach", "logs", "wait", "events", "runs"]),
    ("Steer", &["pause", "resume", "cancel", "parallel", "cap", "task", "handover"]),
    ("Review", &["review", "diff", "report", "explain", "expertise", "cost", "worktree", "checkpoint"]),
    (
        "Set up",
        &[
            "doctor",
            "agents",
            "browser",
            "plugin",
            "trust",
            "store",
            "config",
            "sync",
            "prices",
            "setup",
            "mcp",
            "completions",
        ],
    ),
    ("Serve", &["serve", "open", "project", "webhook", "user", "token"]),
    ("Other machines", &["worker", "workers"]),
    ("More", &["schema", "man", "version", "help"]),
];

/// Said of the command that clap adds itself.
const HELP: &str = "Print this help, or the help of a command";

/// As wide as clap makes its own help.
const WIDEST: usize = 100;

/// The command with its help under these headings.
pub(super) fn under_headings(command: Command) -> Command {
    let list = list(&command, room().map_or(WIDEST, |room| room.columns).min(WIDEST));
    let (bold, plain) = ("\x1b[1m\x1b[4m", "\x1b[0m");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{bold}Options:{plain}\n{{options}}\n\n\
         `conductor` alone prints an overview.\n`conductor COMMAND --help` lists a command's options.\n"
    ))
}

fn list(command: &Command, width: usize) -> String {
    let (head, name, plain) = ("\x1b[1m\x1b[4m", "\x1b[1m", "\x1b[0m");
    let longest = HEADINGS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let indent = longest + 4;
    let mut out = String::new();
    for (heading, names) in HEADINGS {
        out += &format!("{head}{heading}:{plain}\n");
        for one in names {
            let about = command.find_subcommand(one).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            let lines = wrapped(&about, width.saturating_sub(indent).max(20));
            let lines = lines.join(&format!("\n{:indent$}", ""));
            out += &format!("  {name}{one:<longest$}{plain}  {lines}\n");
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Arguments;

    #[test]
    fn every_command_that_is_shown_is_under_one_heading() {
        let command = Arguments::command();
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set()).map(Command::get_name);
        let shown: BTreeSet<&str> = shown.chain(["help"]).collect();
        let listed: Vec<&str> = HEADINGS.iter().flat_map(|(_, names)| *names).copied().collect();
        assert_eq!(listed.len(), shown.len(), "each once");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), shown);
    }
}
