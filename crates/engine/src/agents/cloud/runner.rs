//! Sessions that `claude` starts on a pool of runners, by the user's own login.
//!
//! The program answers with the session's id and is over; it can say more to a session and cannot watch one.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use conductor_core::run::event::FailureClass;
use serde_json::Value;

use super::super::talk::class_of;
use super::routine::text;
use super::transport::{Assignment, Observed, Refusal, SessionName, State, Transport};

/// How long it may take to start a session.
const LONGEST: Duration = Duration::from_secs(300);

/// One argument of a program is no longer than this, in bytes.
const LONGEST_ARGUMENT: usize = 120 << 10;

const SHOWN: usize = 300;

pub(super) struct Runner {
    environment: String,
}

impl Runner {
    pub(super) fn new(settings: &conductor_core::plan::Cloud) -> Runner {
        Runner { environment: settings.environment.clone().unwrap_or_default() }
    }
}

impl Transport for Runner {
    fn create(&mut self, assignment: &Assignment<'_>) -> Result<SessionName, Refusal> {
        let environment = &self.environment;
        let args = ["--environment", environment, "--ref", assignment.branch];
        let answer = said(assignment.prompt, &args)?;
        match text(&answer["session_id"]) {
            Some(id) => Ok(SessionName::new(id, text(&answer["url"]))),
            None => Err(Refusal::Unsure(format!("claude named no session: {}", cut(&answer.to_string())))),
        }
    }

    fn send(&mut self, session: &SessionName, words: &str) -> Result<(), Refusal> {
        let answer = said(words, &["--cloud", &session.id])?;
        match answer["ok"] == true {
            true => Ok(()),
            false => Err(Refusal::refused(
                FailureClass::Rejected,
                format!("it was not passed on: {}", cut(&answer.to_string())),
            )),
        }
    }

    fn observe(&mut self, _: &SessionName, patience: Duration) -> Result<Observed, Refusal> {
        std::thread::sleep(patience);
        Ok(Observed::state(State::Working))
    }

    fn stop(&mut self, _: &SessionName) -> Result<(), Refusal> {
        Err(Refusal::Unable("a session on a runner can only be stopped in its web page"))
    }
}

/// What `claude -p` answers. Once it was started, only its own word says that nothing was done.
fn said(prompt: &str, args: &[&str]) -> Result<Value, Refusal> {
    if prompt.len() > LONGEST_ARGUMENT {
        let message =
            format!("the prompt has {} bytes, and claude takes at most {LONGEST_ARGUMENT}", prompt.len());
        return Err(Refusal::refused(FailureClass::TooLong, message));
    }
    let mut command = Command::new("claude");
    command.args(["-p", prompt, "--output-format", "json"]).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| {
        let message = format!("claude cannot be started: {error}; see that it is on PATH");
        Refusal::refused(FailureClass::Unstartable, message)
    })?;
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        out.as_mut().map(|out| out.read_to_string(&mut text));
        text
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        err.as_mut().map(|err| err.read_to_string(&mut text));
        text
    });
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < LONGEST => std::thread::sleep(Duration::from_millis(20)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Refusal::Unsure(format!("claude did not answer within {} s", LONGEST.as_secs())));
            }
        }
    };
    let (out, err) = (reader.join().unwrap_or_default(), errors.join().unwrap_or_default());
    let answer = serde_json::from_str::<Value>(out.trim()).ok();
    match answer {
        Some(answer) if answer["is_error"] == true || answer["ok"] == false => Err(refused(&answer)),
        Some(answer) if status.success() => Ok(answer),
        _ => Err(Refusal::Unsure(format!("claude ended with {status}: {}", cut(&format!("{out}{err}"))))),
    }
}

fn refused(answer: &Value) -> Refusal {
    let words = ["result", "error", "message"].iter().find_map(|key| text(&answer[*key])).unwrap_or_default();
    let status = answer["api_error_status"].as_u64();
    Refusal::refused(class_of(status, &words), format!("claude says: {}", cut(&words)))
}

fn cut(text: &str) -> String {
    text.trim().chars().take(SHOWN).collect()
}
