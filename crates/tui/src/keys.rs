//! Every key and what it does, in one table: what is pressed, the line of keys and the help all come from it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Down,
    Up,
    PageDown,
    PageUp,
    First,
    Last,
    Enter,
    Back,
    NextTab,
    PreviousTab,
    Tab(usize),
    Failed,
    NeedsYou,
    Running,
    Filter,
    Approve,
    Deny,
    Send,
    Retry,
    Skip,
    Cancel,
    Pause,
    MoreSlots,
    FewerSlots,
    Cap,
    Priority,
    Diff,
    Page,
    Copy,
    CopyName,
    Editor,
    PullRequest,
    EarlierAttempt,
    LaterAttempt,
    StepBack,
    StepForward,
    JumpBack,
    JumpForward,
    Mark,
    Board,
    Theme,
    Mouse,
    Command,
    Help,
    Suspend,
    Leave,
}

/// What has to be pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Press {
    Char(char),
    Ctrl(char),
    Key(KeyCode),
}

impl Press {
    fn is(self, key: &KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match self {
            Press::Char(c) => !ctrl && key.code == KeyCode::Char(c),
            Press::Ctrl(c) => ctrl && key.code == KeyCode::Char(c),
            Press::Key(code) => key.code == code,
        }
    }
}

pub(crate) struct Binding {
    pub(crate) act: Act,
    pub(crate) presses: &'static [Press],
    /// As it is written in help.
    pub(crate) keys: &'static str,
    /// By which `:` knows it; empty where typing it makes no sense.
    pub(crate) name: &'static str,
    /// In the line of keys.
    pub(crate) short: &'static str,
    pub(crate) about: &'static str,
}

const fn key(
    act: Act,
    presses: &'static [Press],
    keys: &'static str,
    (name, short): (&'static str, &'static str),
    about: &'static str,
) -> Binding {
    Binding { act, presses, keys, name, short, about }
}

use Press::{Char, Ctrl, Key};

pub(crate) const KEYS: &[Binding] = &[
    key(
        Act::Down,
        &[Char('j'), Key(KeyCode::Down)],
        "j ↓",
        ("", ""),
        "Move down, or scroll the text where that has the focus",
    ),
    key(Act::Up, &[Char('k'), Key(KeyCode::Up)], "k ↑", ("", ""), "Move up"),
    key(
        Act::PageDown,
        &[Key(KeyCode::PageDown), Ctrl('d'), Ctrl('f')],
        "PgDn",
        ("", ""),
        "Move down by a screen (also Ctrl-d)",
    ),
    key(
        Act::PageUp,
        &[Key(KeyCode::PageUp), Ctrl('u'), Ctrl('b')],
        "PgUp",
        ("", ""),
        "Move up by a screen (also Ctrl-u)",
    ),
    key(Act::First, &[Char('g'), Key(KeyCode::Home)], "g Home", ("first", ""), "Go to the first line"),
    key(
        Act::Last,
        &[Char('G'), Key(KeyCode::End)],
        "G End",
        ("last", ""),
        "Go to the last line, and stay at the end of a text that grows",
    ),
    key(
        Act::Enter,
        &[Key(KeyCode::Enter), Key(KeyCode::Right), Char('l')],
        "Enter →",
        ("", ""),
        "Go into the text, or fold and unfold a group; on the board: start, or open a run",
    ),
    key(
        Act::Back,
        &[Key(KeyCode::Esc), Key(KeyCode::Left), Char('h')],
        "Esc ←",
        ("", ""),
        "Back: from the text to the tasks, from the past to now, from a filter to all tasks",
    ),
    key(
        Act::NextTab,
        &[Key(KeyCode::Tab)],
        "Tab",
        ("", ""),
        "Show the next tab; on the board: the other list",
    ),
    key(Act::PreviousTab, &[Key(KeyCode::BackTab)], "Shift-Tab", ("", ""), "Show the tab before"),
    key(Act::Tab(0), &[Char('1')], "1", ("conversation", ""), "Show the conversation with the agent"),
    key(Act::Tab(1), &[Char('2')], "2", ("log", ""), "Show what the agent or the command wrote"),
    key(Act::Tab(2), &[Char('3')], "3", ("", ""), "Show what the task has changed"),
    key(
        Act::Tab(3),
        &[Char('4'), Char('w')],
        "4 w",
        ("why", "why"),
        "Show why the task is as it is, and what it waits for",
    ),
    key(Act::Tab(4), &[Char('5')], "5", ("attempts", ""), "Show the attempts"),
    key(Act::Tab(5), &[Char('6')], "6", ("graph", ""), "Show what the task needs and what needs it"),
    key(
        Act::Failed,
        &[Char('f')],
        "f",
        ("failed", "failed"),
        "Go to the next task that failed, with its last lines",
    ),
    key(Act::NeedsYou, &[Char('n')], "n", ("needs-you", "needs you"), "Go to the next task that needs you"),
    key(Act::Running, &[Char('r')], "r", ("running", "running"), "Go to the next task that is running"),
    key(
        Act::Filter,
        &[Char('/')],
        "/",
        ("", "filter"),
        "Show only tasks with these words in id, name, group, agent or state; in the text: search",
    ),
    key(
        Act::Approve,
        &[Char('a')],
        "a",
        ("approve", "allow"),
        "Allow what the agent asks to do, or approve the work that waits for review",
    ),
    key(
        Act::Deny,
        &[Char('D')],
        "D",
        ("deny", "deny"),
        "Deny what the agent asks to do, or send the work back with a comment",
    ),
    key(
        Act::Send,
        &[Char('s')],
        "s",
        ("send", "send"),
        "Send a message to the agent, now or with its next attempt",
    ),
    key(
        Act::Retry,
        &[Char('R')],
        "R",
        ("retry", "retry"),
        "Run the task again, with its attempts counted anew",
    ),
    key(Act::Skip, &[Char('S')], "S", ("skip", "skip"), "Skip a task that has not started"),
    key(
        Act::Cancel,
        &[Char('x')],
        "x",
        ("cancel", "cancel"),
        "Cancel the task, and stop it if it is running",
    ),
    key(
        Act::Pause,
        &[Char('p')],
        "p",
        ("pause", "pause"),
        "Pause the run or let it go on; take up a run that is not active",
    ),
    key(Act::MoreSlots, &[Char('+'), Char('=')], "+", ("", "slots"), "Let one more task run at once"),
    key(Act::FewerSlots, &[Char('-')], "-", ("", ""), "Let one task less run at once"),
    key(
        Act::Cap,
        &[Char('c')],
        "c",
        ("cap", "cap"),
        "Change what the run may cost at most; +5 adds 5 dollars to it",
    ),
    key(
        Act::Priority,
        &[Char('u')],
        "u",
        ("priority", "priority"),
        "Change how urgent the task is: critical, high, medium, low, backlog, or 0 to 4",
    ),
    key(Act::Diff, &[Char('d')], "d", ("diff", "diff"), "Show what the task has changed"),
    key(
        Act::Page,
        &[Char('L')],
        "L",
        ("pager", "log"),
        "Show the whole of the log in your pager, or the whole patch from the diff tab",
    ),
    key(Act::Copy, &[Char('y')], "y", ("copy", "copy"), "Copy the text of the tab to the clipboard (OSC 52)"),
    key(Act::CopyName, &[Char('Y')], "Y", ("copy-id", ""), "Copy the task's id to the clipboard"),
    key(
        Act::Editor,
        &[Char('o')],
        "o",
        ("edit", "editor"),
        "Open the task's workspace in your editor; its conflict, or its work in review, to solve or edit and land it",
    ),
    key(
        Act::PullRequest,
        &[Char('P')],
        "P",
        ("pr", "pull request"),
        "Push the run's branch and open a pull request with gh",
    ),
    key(Act::EarlierAttempt, &[Char('<')], "<", ("", ""), "Show the attempt before"),
    key(Act::LaterAttempt, &[Char('>')], ">", ("", ""), "Show the attempt after"),
    key(Act::StepBack, &[Char('[')], "[", ("back", "back"), "Go back in time by one event"),
    key(Act::StepForward, &[Char(']')], "]", ("forward", "forward"), "Go forward in time by one event"),
    key(Act::JumpBack, &[Char('{')], "{", ("", ""), "Go back in time by 5 % of the run"),
    key(Act::JumpForward, &[Char('}')], "}", ("", ""), "Go forward in time by 5 % of the run"),
    key(
        Act::Mark,
        &[Char(' ')],
        "Space",
        ("", "mark"),
        "On the board: mark a task, to start only marked ones",
    ),
    key(
        Act::Board,
        &[Char('b')],
        "b",
        ("board", "board"),
        "Show the board: the tasks of the project's file, and its runs",
    ),
    key(Act::Theme, &[Char('t')], "t", ("", "theme"), "Take the next theme; it is remembered"),
    key(
        Act::Mouse,
        &[Char('m')],
        "m",
        ("mouse", "mouse"),
        "Switch the mouse on or off; off, the terminal's own selection works",
    ),
    key(
        Act::Command,
        &[Char(':')],
        ":",
        ("", "command"),
        "Type a command: any name of this list, or any command of conductor",
    ),
    key(Act::Help, &[Char('?'), Key(KeyCode::F(1))], "?", ("help", "help"), "Show this help"),
    key(Act::Suspend, &[Ctrl('z')], "Ctrl-z", ("", ""), "Go back to the shell; fg returns"),
    key(
        Act::Leave,
        &[Char('q'), Ctrl('c')],
        "q",
        ("quit", "leave"),
        "Leave; a run goes on without this view",
    ),
];

/// What a key does.
pub(crate) fn act(key: &KeyEvent) -> Option<Act> {
    KEYS.iter().find(|binding| binding.presses.iter().any(|press| press.is(key))).map(|binding| binding.act)
}

pub(crate) fn binding(act: Act) -> Option<&'static Binding> {
    KEYS.iter().find(|binding| binding.act == act)
}

/// The act of that name.
pub(crate) fn named(name: &str) -> Option<Act> {
    KEYS.iter().find(|binding| !binding.name.is_empty() && binding.name == name).map(|binding| binding.act)
}

/// The keys of which every word is in what is said of them.
pub(crate) fn about(words: &str) -> Vec<&'static Binding> {
    let words: Vec<String> = words.split_whitespace().map(str::to_lowercase).collect();
    let is_meant = |binding: &&Binding| {
        let hay = format!("{} {} {}", binding.keys, binding.name, binding.about).to_lowercase();
        words.iter().all(|word| hay.contains(word.as_str()))
    };
    KEYS.iter().filter(is_meant).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_key_and_no_name_means_two_things() {
        let presses: Vec<String> =
            KEYS.iter().flat_map(|b| b.presses).map(|press| format!("{press:?}")).collect();
        assert_eq!(presses.iter().collect::<BTreeSet<_>>().len(), presses.len());
        let names: Vec<&str> = KEYS.iter().map(|b| b.name).filter(|name| !name.is_empty()).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    }

    #[test]
    fn help_is_searched_by_all_words() {
        let found = |words: &str| about(words).iter().map(|b| b.keys).collect::<Vec<_>>();
        assert_eq!(found("osc clipboard"), ["y"]);
        assert_eq!(found("pager"), ["L"]);
        assert_eq!(about("").len(), KEYS.len());
    }
}
