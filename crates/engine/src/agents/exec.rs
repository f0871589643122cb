//! Any program as an agent, by the template of a task file. No shell reads it.
//!
//! What it says is for people. What became of the work is told by its exit code and by texts that are looked for in its
//! output, its standard error included.

use std::path::Path;

use conductor_core::plan::{Program, Task};
use conductor_core::run::event::FailureClass;
use conductor_core::values::template;

use super::scratch::ScratchFile;
use super::talk::{Ending, Heard, Said, Translator, said};
use super::{Abilities, AgentError, Brief, Engagement, Keeps};
use crate::process::Exit;

impl super::Agent for Program {
    fn engage(&self, brief: &Brief<'_>) -> Result<Engagement, AgentError> {
        self.check(brief.task)?;
        let command = match self.abilities().resumes && brief.session.begun {
            true => &self.resume,
            false => &self.command,
        };
        let with = |name: &str| command.iter().any(|word| template::names(word, name));
        let file =
            with("prompt_file").then(|| ScratchFile::new(brief, "prompt", "md", &brief.words)).transpose();
        let file = file.map_err(|error| unfit(format!("its prompt cannot be written to a file: {error}")))?;
        let mut words = filled(command, brief, file.as_ref().map(|file| file.path()))?.into_iter();
        let program = words.next().ok_or_else(|| unfit("its command is empty".to_owned()))?;
        let keys: Vec<String> =
            self.env_pass.iter().flat_map(|pattern| brief.caller.matching(pattern)).collect();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let mut launch = brief.launch(&program, words.collect(), &keys, &[]);
        launch.together = true;
        let said_in_words = with("prompt") || with("prompt_file");
        let prompt = if said_in_words { Vec::new() } else { brief.words.clone().into_bytes() };
        Ok(Engagement { launch, translator: Box::new(Listener::new(self.clone(), prompt, file)) })
    }

    fn check(&self, task: &Task) -> Result<(), AgentError> {
        const REMEDY: &str = "its command is in the task file's config, under agents";
        let program = self.command.first().map(String::as_str).unwrap_or_default();
        match super::takes_prompts("exec", task, program, REMEDY) {
            // Where a relative path leads is known once there is a workspace.
            Err(AgentError::Missing { .. }) if program.contains('/') && !program.starts_with('/') => Ok(()),
            checked => checked,
        }
    }

    fn abilities(&self) -> Abilities {
        let chooses_model = self.command.iter().any(|word| template::names(word, "model"));
        Abilities { resumes: !self.resume.is_empty(), chooses_model, takes_tools: true, ..Abilities::NONE }
    }

    fn keeps(&self) -> Keeps {
        Keeps::Nothing("it is a program that does not ask, and Conductor does not see what it runs and edits")
    }
}

fn unfit(why: String) -> AgentError {
    AgentError::Unfit { agent: "exec", why }
}

/// The command's words. Where the task names no model, a word that is about it is left out, and the option right before
/// it too.
fn filled(command: &[String], brief: &Brief<'_>, file: Option<&Path>) -> Result<Vec<String>, AgentError> {
    let value = |name: &str| match name {
        "prompt" => Some(brief.words.clone()),
        "prompt_file" => file.map(|file| file.display().to_string()),
        "model" => Some(brief.task.model.clone().unwrap_or_default()),
        "session" => Some(brief.session.id.clone()),
        "directory" => Some(brief.workspace.directory.display().to_string()),
        _ => None,
    };
    let mut words: Vec<String> = Vec::new();
    for word in command {
        if brief.task.model.is_none() && template::names(word, "model") {
            if word == "{model}" && words.len() > 1 && words.last().is_some_and(|last| last.starts_with('-'))
            {
                words.pop();
            }
            continue;
        }
        let word =
            template::filled(word, value).map_err(|name| unfit(format!("it cannot fill in {name}")))?;
        words.push(word);
    }
    Ok(words)
}

struct Listener {
    program: Program,
    prompt: Vec<u8>,
    _file: Option<ScratchFile>,
    last: String,
    succeeded: bool,
    /// The line that says that it failed, or was made to wait.
    failed: Option<String>,
    limited: Option<String>,
}

impl Listener {
    fn new(program: Program, prompt: Vec<u8>, file: Option<ScratchFile>) -> Listener {
        let succeeded = program.success_text.is_empty();
        Listener { program, prompt, _file: file, last: String::new(), succeeded, failed: None, limited: None }
    }

    fn failure(&self, class: FailureClass, why: &str) -> Ending {
        match &self.limited {
            Some(line) => Ending::bad(FailureClass::RateLimited, line.clone()),
            None => Ending::bad(class, why),
        }
    }
}

impl Translator for Listener {
    fn opening(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.prompt)
    }

    fn converses(&self) -> bool {
        false
    }

    fn on_line(&mut self, line: &[u8]) -> Heard {
        let line = String::from_utf8_lossy(line).trim_end().to_owned();
        let has = |texts: &[String]| texts.iter().any(|text| line.contains(text.as_str()));
        self.succeeded |= has(&self.program.success_text);
        if has(&self.program.failure_text) {
            self.failed.get_or_insert_with(|| line.clone());
        }
        if has(&self.program.rate_limit_text) {
            self.limited.get_or_insert_with(|| line.clone());
        }
        if !line.is_empty() {
            self.last.clone_from(&line);
        }
        said(Said::Text(line))
    }

    fn finish(&mut self, exit: Exit) -> Ending {
        let ended_well = matches!(exit, Exit::Code(code) if self.program.exit_codes.contains(&code));
        match (exit, &self.failed) {
            (Exit::Signal(signal), _) => {
                Ending::bad(FailureClass::Killed, format!("killed by signal {signal}"))
            }
            (Exit::Code(code), _) if !ended_well => {
                let last = if self.last.is_empty() { String::new() } else { format!(": {}", self.last) };
                self.failure(FailureClass::Exit, &format!("exit code {code}{last}"))
            }
            (_, Some(line)) => self.failure(FailureClass::Exit, line),
            _ if !self.succeeded => {
                self.failure(FailureClass::Unfinished, "it ended without the text that tells of its success")
            }
            _ => Ending::good(Some(std::mem::take(&mut self.last)).filter(|last| !last.is_empty())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use conductor_core::run::event::Outcome;

    use super::super::{Agent as _, Session, replay};
    use super::*;

    fn program(command: &[&str]) -> Program {
        Program {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            exit_codes: vec![0],
            ..Program::default()
        }
    }

    /// What is started, and what is said to it.
    fn called(program: &Program, begun: bool, model: Option<&str>) -> (Vec<String>, String) {
        let session = Session { id: "s-1".into(), begun };
        replay::asked("/work", session, |brief| {
            let mut task = brief.task.clone();
            task.model = model.map(str::to_owned);
            let brief = Brief { task: &task, words: brief.words.clone(), anew: None, ..*brief };
            let Engagement { launch, mut translator } = program.engage(&brief).unwrap();
            let mut words = vec![launch.program.display().to_string()];
            words.extend(launch.args.iter().map(|word| word.display().to_string()));
            (words, String::from_utf8(translator.opening()).unwrap())
        })
    }

    #[test]
    fn a_template_is_filled_in_word_by_word() {
        let mut tool =
            program(&["sh", "--model", "{model}", "-C{directory}", "{{{session}}}", "$(id) {prompt}"]);
        let (words, said) = called(&tool, false, Some("m"));
        assert_eq!(words, ["sh", "--model", "m", "-C/work", "{s-1}", "$(id) do it"]);
        assert_eq!(said, "");
        let (words, _) = called(&tool, true, None);
        assert_eq!(words, ["sh", "-C/work", "{s-1}", "$(id) do it"], "no model, and nothing to go on with");
        tool.resume = vec!["sh".into(), "--continue".into(), "{session}".into()];
        let (words, said) = called(&tool, true, None);
        assert_eq!((words, said.as_str()), (["sh", "--continue", "s-1"].map(str::to_owned).into(), "do it"));
        let can = Abilities { resumes: true, chooses_model: true, takes_tools: true, ..Abilities::NONE };
        assert_eq!(tool.abilities(), can);
    }

    #[test]
    fn a_prompt_file_is_there_until_the_work_is_done() {
        let tool = program(&["sh", "{prompt_file}"]);
        replay::asked("/work", Session { id: "s".into(), begun: false }, |brief| {
            let engagement = tool.engage(brief).unwrap();
            let path = PathBuf::from(&engagement.launch.args[0]);
            assert_eq!(fs::read_to_string(&path).unwrap(), "do it");
            drop(engagement);
            assert!(!path.exists());
        });
    }

    #[test]
    fn its_exit_and_its_words_tell_how_it_ended() {
        let ended = |lines: &[&str], exit: Exit| {
            let tool = Program {
                exit_codes: vec![0, 3],
                success_text: vec!["all done".into()],
                failure_text: vec!["gave up".into()],
                rate_limit_text: vec!["429".into()],
                ..program(&["x"])
            };
            let mut listener = Listener::new(tool, Vec::new(), None);
            for line in lines {
                listener.on_line(line.as_bytes());
            }
            let ending = listener.finish(exit);
            match ending.outcome {
                Outcome::Failed(failure) => format!("{:?}: {}", failure.class, failure.message),
                _ => format!("ok: {:?}", ending.result),
            }
        };
        let all = [
            ended(&["first", "all done here", ""], Exit::Code(3)),
            ended(&["first"], Exit::Code(0)),
            ended(&["all done", "no, gave up: why", "x"], Exit::Code(0)),
            ended(&["got 429", "all done"], Exit::Code(0)),
            ended(&["got 429"], Exit::Code(1)),
            ended(&["all done", "oh"], Exit::Code(1)),
            ended(&[], Exit::Code(1)),
            ended(&["all done"], Exit::Signal(9)),
        ];
        insta::assert_snapshot!(all.join("\n"), @r#"
        ok: Some("all done here")
        Unfinished: it ended without the text that tells of its success
        Exit: no, gave up: why
        ok: Some("all done")
        RateLimited: got 429
        Exit: exit code 1: oh
        Exit: exit code 1
        Killed: killed by signal 9
        "#);
    }
}
