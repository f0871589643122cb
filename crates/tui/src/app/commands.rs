//! What is typed after a colon: a name of the table of keys, a few words of its own, or any command of the program.

use crossterm::event::{KeyCode, KeyEvent};

use conductor_core::values::ids::TaskId;

use super::input::Input;
use super::{App, Effect, Mode, Purpose, Screen};
use crate::keys::{self, Act};
use crate::theme::{self, Theme};
use crate::{KnownCommand, NamesRun};

/// Those that take more than a task.
const OWN: [&str; 5] = ["filter", "open", "parallel", "theme", "start"];

impl App {
    pub(super) fn type_command(&mut self, key: &KeyEvent, mut input: Input) -> Vec<Effect> {
        match key.code {
            KeyCode::Enter => {
                let line = input.text().trim().to_owned();
                if line.is_empty() {
                    return Vec::new();
                }
                self.typed.push(line.clone());
                self.recalled = 0;
                return self.command(&line);
            }
            KeyCode::Tab => {
                let (completed, others) = self.completed(&input.before());
                if others.len() > 1 {
                    self.say(others.join("  "));
                }
                input = Input::of(&completed);
            }
            KeyCode::Up | KeyCode::Down => input = self.recall(key.code == KeyCode::Up),
            _ => {
                input.edit(key);
            }
        }
        self.mode = Mode::Command(input);
        Vec::new()
    }

    fn recall(&mut self, earlier: bool) -> Input {
        self.recalled = match earlier {
            true => (self.recalled + 1).min(self.typed.len()),
            false => self.recalled.saturating_sub(1),
        };
        let at = self.typed.len().checked_sub(self.recalled);
        Input::of(at.and_then(|at| self.typed.get(at)).map_or("", String::as_str))
    }

    /// The line with its last word completed as far as it is certain, and what it could become.
    pub(crate) fn completed(&self, line: &str) -> (String, Vec<String>) {
        let start = line.rfind(' ').map_or(0, |at| at + 1);
        let (before, begun) = line.split_at(start);
        let mut fitting: Vec<String> = self.candidates(before.trim());
        fitting.retain(|word| word.starts_with(begun));
        fitting.sort();
        fitting.dedup();
        let common =
            fitting.iter().skip(1).fold(fitting.first().cloned().unwrap_or_default(), |common, word| {
                common
                    .chars()
                    .zip(word.chars())
                    .take_while(|(one, two)| one == two)
                    .map(|(one, _)| one)
                    .collect()
            });
        let end = if fitting.len() == 1 { " " } else { "" };
        match fitting.is_empty() {
            true => (line.to_owned(), fitting),
            false => (format!("{before}{common}{end}"), fitting),
        }
    }

    /// What the next word could be.
    fn candidates(&self, before: &str) -> Vec<String> {
        let tasks = || -> Vec<String> {
            let plan = self.watched.iter().flat_map(|watched| &watched.run().plan().tasks);
            plan.map(|task| task.id.to_string()).collect()
        };
        match before.split_whitespace().next() {
            None => {
                let names = keys::KEYS.iter().map(|binding| binding.name).filter(|name| !name.is_empty());
                let own = names.chain(OWN).map(str::to_owned);
                own.chain(self.following(&[])).collect()
            }
            Some("theme") => theme::NAMES.map(str::to_owned).to_vec(),
            Some("open") => self.board.runs.iter().map(|run| run.id.to_string()).collect(),
            Some(_) => {
                let words: Vec<&str> = before.split_whitespace().collect();
                match self.following(&words) {
                    verbs if verbs.is_empty() => tasks(),
                    verbs => verbs,
                }
            }
        }
    }

    /// What can follow these words of a command of the program.
    fn following(&self, words: &[&str]) -> Vec<String> {
        let fits = |known: &&KnownCommand| known.words.iter().zip(words).all(|(one, two)| one == two);
        let fitting = self.commands.iter().filter(fits).filter_map(|known| known.words.get(words.len()));
        fitting.cloned().collect()
    }

    fn command(&mut self, line: &str) -> Vec<Effect> {
        let (name, rest) = line.split_once(' ').map_or((line, ""), |(name, rest)| (name, rest.trim()));
        match (name, rest) {
            ("q" | "q!" | "wq" | "exit", "") => vec![Effect::Leave],
            ("theme", _) => self.set_theme(rest),
            ("filter", _) => {
                self.filter(rest);
                Vec::new()
            }
            ("open", _) if !rest.is_empty() => self.open(rest),
            ("start", "") => {
                self.screen = Screen::Board;
                self.act(Act::Enter)
            }
            ("parallel", _) if rest.parse::<u32>().is_ok_and(|slots| slots > 0) && self.watched.is_some() => {
                self.set_slots(rest.parse().unwrap_or(1))
            }
            ("send", _) if !rest.is_empty() => self.send_words(rest),
            ("deny", _) if self.task_named(rest).is_none() && !rest.is_empty() => self.deny_with(rest),
            _ => match keys::named(name) {
                Some(act) if rest.is_empty() => self.act(act),
                Some(act) if self.select_named(rest) => self.act(act),
                _ => self.program(line),
            },
        }
    }

    fn set_theme(&mut self, name: &str) -> Vec<Effect> {
        if !theme::NAMES.contains(&name) {
            self.complain(format!("themes: {}", theme::NAMES.join(", ")));
            return Vec::new();
        }
        self.theme = Theme::named(name, self.theme.depth());
        vec![Effect::Remember]
    }

    fn open(&mut self, name: &str) -> Vec<Effect> {
        match self.board.runs.iter().find(|run| run.id.as_str().starts_with(name)) {
            Some(run) => vec![Effect::Open(run.id.clone())],
            None => {
                self.complain(format!("there is no run '{name}' here"));
                Vec::new()
            }
        }
    }

    fn selected_task(&mut self) -> Option<TaskId> {
        let task = self.watched.as_ref().and_then(|watched| watched.selected()).map(|(_, task)| task.clone());
        if task.is_none() {
            self.complain("select a task first");
        }
        task
    }

    fn send_words(&mut self, rest: &str) -> Vec<Effect> {
        match self.selected_task() {
            Some(task) => self.send(&task, rest),
            None => Vec::new(),
        }
    }

    fn deny_with(&mut self, message: &str) -> Vec<Effect> {
        match self.selected_task() {
            Some(task) => self.answer(&task, false, Some(message.to_owned())),
            None => Vec::new(),
        }
    }

    fn task_named(&self, name: &str) -> Option<usize> {
        let id = TaskId::parse(name).ok()?;
        self.watched.as_ref()?.run().place(&id)
    }

    fn select_named(&mut self, name: &str) -> bool {
        let (place, glyphs) = (self.task_named(name), self.glyphs);
        let (Some(place), Some(watched)) = (place, &mut self.watched) else { return false };
        watched.tree.show(watched.course.run(), place);
        watched.attempt = None;
        watched.refresh(glyphs);
        self.screen = Screen::Run;
        true
    }

    /// As typed in a shell, without the program's name.
    fn program(&mut self, line: &str) -> Vec<Effect> {
        let mut words = split(line);
        let known = |known: &&KnownCommand| words.starts_with(&known.words);
        let Some(known) = self.commands.iter().find(known).cloned() else {
            let first = words.first().cloned().unwrap_or_default();
            let mut verbs = self.following(&[&first]);
            verbs.sort();
            self.complain(match verbs.is_empty() {
                true => format!("there is no command '{first}'; Tab completes, ? has all keys"),
                false => format!("'{first}' is followed by {}", verbs.join(", ")),
            });
            return Vec::new();
        };
        let first = &known.words[0];
        if matches!(first.as_str(), "tui" | "serve" | "mcp") {
            self.complain(format!("'{first}' needs a terminal of its own"));
            return Vec::new();
        }
        words.extend(self.run_for(&known, &words));
        let title = format!("conductor {}", words.join(" "));
        vec![Effect::Program { words, purpose: Purpose::Show(title) }]
    }
}

impl App {
    /// The words that name the run that is looked at, where a command needs one and was given none.
    fn run_for(&self, known: &KnownCommand, words: &[String]) -> Vec<String> {
        let Some(watched) = self.watched.as_ref().filter(|_| self.screen == Screen::Run) else {
            return Vec::new();
        };
        let is_named = words.iter().any(|word| word == "--run" || word.starts_with("--run="));
        let has_word = words[known.words.len()..].iter().any(|word| !word.starts_with('-'));
        match known.names_run {
            NamesRun::ByOption if !is_named => vec!["--run".to_owned(), watched.id().to_string()],
            NamesRun::ByWord if !has_word => vec![watched.id().to_string()],
            _ => Vec::new(),
        }
    }
}

/// Words, with quotes around those that have spaces in them.
fn split(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut is_word) = (Vec::new(), String::new(), None, false);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => (quote, is_word) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            _ => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_in_a_shell() {
        assert_eq!(split("logs api  --run r"), ["logs", "api", "--run", "r"]);
        assert_eq!(split("task send a \"it's fine\" ''"), ["task", "send", "a", "it's fine", ""]);
    }
}
