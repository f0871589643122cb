//! Conductor's own program, started for what a command of it does: so that a key means the same as the command.

use std::path::PathBuf;
use std::process::Stdio;

use conductor_core::values::ids::{RunId, TaskId};
use serde_json::Value;
use tokio::process::Command;

use super::Feed;
use crate::app::{Edit, Message, Purpose};
use crate::data::text::{Text, Tone, clean};

/// What a program printed, and whether it went well.
struct Printed {
    out: String,
    err: String,
    is_good: bool,
}

impl Printed {
    /// What it came to, on one line: the answer, else the last notice.
    fn brief(&self) -> String {
        let line = |text: &str| text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(clean);
        let first = |text: &str| text.lines().map(str::trim).find(|line| !line.is_empty()).map(clean);
        let words = match self.is_good {
            true => line(&self.out).or_else(|| line(&self.err)),
            // The first line of an error says what is wrong.
            false => first(&self.err).or_else(|| first(&self.out)),
        };
        words.unwrap_or_else(|| if self.is_good { "done".to_owned() } else { "it failed".to_owned() })
    }

    fn text(&self) -> Text {
        let mut text = Text::default();
        text.add(Tone::Plain, &self.out);
        text.add(Tone::Dim, &self.err);
        if text.0.is_empty() {
            text.add(Tone::Dim, "it printed nothing");
        }
        text
    }
}

impl Feed {
    pub(crate) fn command(&self, words: &[String]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.args(words).current_dir(&self.directory);
        command
    }

    async fn printed(&self, words: &[String]) -> Result<Printed, String> {
        let plain = [&["--color=never".to_owned()], words].concat();
        let mut command = Command::from(self.command(&plain));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output =
            command.output().await.map_err(|error| format!("conductor cannot be started: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Printed { out: text(&output.stdout), err: text(&output.stderr), is_good: output.status.success() })
    }

    /// What the command of these words says, on one line.
    pub(crate) async fn said_by(&self, words: Vec<String>) -> Result<String, String> {
        let printed = self.printed(&words).await?;
        if printed.is_good { Ok(printed.brief()) } else { Err(printed.brief()) }
    }

    /// The patch of a task, in its tones; below it what was said about it.
    pub(crate) async fn diff(&self, run: &RunId, task: &TaskId) -> Text {
        let words = ["diff", task.as_str(), "--run", run.as_str()].map(str::to_owned);
        let printed = match self.printed(&words).await {
            Ok(printed) => printed,
            Err(words) => return Text::one(Tone::Plain, words),
        };
        let mut text = Text::one(Tone::Dim, printed.err.replace("conductor: ", ""));
        text.gap();
        for line in printed.out.lines() {
            text.add(tone_of_patch(line), line);
        }
        text
    }

    /// Carries a command out for a purpose; what there is to say about it.
    pub(crate) async fn run(&self, words: Vec<String>, purpose: Purpose) -> Message {
        let printed = match self.printed(&words).await {
            Ok(printed) => printed,
            Err(words) => return Message::Said(Err(words)),
        };
        if let Purpose::Show(title) = purpose {
            return Message::Shown { title, text: printed.text() };
        }
        if !printed.is_good {
            return Message::Said(Err(printed.brief()));
        }
        let answer: Value = serde_json::from_str(&printed.out).unwrap_or_default();
        let said = || Message::Said(Ok(printed.brief()));
        match purpose {
            Purpose::Start => match answer["run"].as_str().and_then(RunId::parse) {
                Some(run) => Message::Started(run),
                None => said(),
            },
            Purpose::Resolve(task) => laid_out(&answer, &words, Some(task), true).unwrap_or_else(said),
            Purpose::EditWork(task) => laid_out(&answer, &words, Some(task), false).unwrap_or_else(said),
            Purpose::Folder => laid_out(&answer, &words, None, false).unwrap_or_else(said),
            Purpose::Say | Purpose::Show(_) => said(),
        }
    }
}

/// What is to be edited, and by which command it lands: the one that laid it out, with --continue.
fn laid_out(answer: &Value, words: &[String], task: Option<TaskId>, is_conflict: bool) -> Option<Message> {
    let folder = answer["folder"].as_str().or_else(|| answer["path"].as_str())?;
    let files = answer["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    let files = files.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect();
    let then = task.map(|task| {
        let land = words.iter().filter(|word| *word != "--json").cloned();
        (task, land.chain(["--continue".to_owned()]).collect())
    });
    Some(Message::LaidOut { edit: Edit { folder: PathBuf::from(folder), files, is_conflict, then } })
}

fn tone_of_patch(line: &str) -> Tone {
    match line {
        line if line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ") => {
            Tone::Strong
        }
        line if line.starts_with('+') => Tone::Added,
        line if line.starts_with('-') => Tone::Removed,
        line if line.starts_with("@@") => Tone::Accent,
        _ => Tone::Plain,
    }
}
