//! Walks a person through what waits, one after the other.

use std::io;

use conductor_core::run::event::ReviewVerdict;
use conductor_core::values::ids::RunId;

use super::waiting::{self, Waiting};
use super::{comment, editing, pager, record};
use crate::archive::Archive;
use crate::commands::left::{self, Asked};
use crate::commands::{block_on, run, talk};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::writing::{self, ask};

const CHOICES: &str = "[a]pprove, [s]end back, [e]dit, [d]rop, [v]iew again, [l]ater, [q]uit? ";

pub(super) fn walk(wanted: Option<&str>) -> Result<Exit, CliError> {
    let given = block_on(async {
        let archive = Archive::open().await?;
        let waiting = waiting::all(&archive, wanted).await?;
        if waiting.is_empty() {
            talk("nothing waits for a review");
        }
        let mut given: Vec<(RunId, Asked)> = Vec::new();
        for (at, one) in waiting.iter().enumerate() {
            console::say(format_args!("\n({} of {}) {}", at + 1, waiting.len(), one.about(&archive.home)));
            pager::show(&one.patch(&archive.home)?)?;
            match decided(&archive, one).await? {
                Decided::Given(asked) => given.push((one.run().clone(), asked)),
                Decided::Later => {}
                Decided::Quit => break,
            }
        }
        Ok(given)
    })?;
    go_on(given)
}

enum Decided {
    Given(Asked),
    Later,
    Quit,
}

/// What is refused is said, and the user chooses again: another person, or the run itself, may have been faster.
async fn decided(archive: &Archive, one: &Waiting) -> Result<Decided, CliError> {
    loop {
        let asked = match choose(archive, one)? {
            Choice::Verdict(verdict) => match editing::settle(archive, one) {
                Ok(()) => record(archive, one, verdict, false).await,
                Err(error) => Err(error),
            },
            Choice::Edited => editing::proceed(archive, one, false).await,
            Choice::Later => return Ok(Decided::Later),
            Choice::Quit => return Ok(Decided::Quit),
        };
        match asked {
            Ok(asked) => return Ok(Decided::Given(asked)),
            Err(error) => error.show(),
        }
    }
}

enum Choice {
    Verdict(ReviewVerdict),
    Edited,
    Later,
    Quit,
}

fn choose(archive: &Archive, one: &Waiting) -> Result<Choice, CliError> {
    loop {
        let answer = ask(&mut io::stdin().lock(), CHOICES)?;
        match answer.as_str() {
            "a" | "approve" => {
                let commit = one.change.commit.clone();
                return Ok(Choice::Verdict(ReviewVerdict::Approved { commit }));
            }
            "s" | "send back" | "send-back" => {
                if let Some(verdict) = comments(one)? {
                    return Ok(Choice::Verdict(verdict));
                }
            }
            "e" | "edit" => {
                if edited(archive, one)? {
                    return Ok(Choice::Edited);
                }
            }
            "d" | "drop" => return Ok(Choice::Verdict(ReviewVerdict::Dropped)),
            "v" | "view" => pager::show(&one.patch(&archive.home)?)?,
            "l" | "later" => return Ok(Choice::Later),
            "q" | "quit" => return Ok(Choice::Quit),
            // The end of the input is no verdict.
            "" if !writing::attended() => return Ok(Choice::Quit),
            _ => talk("a, s, e, d, v, l or q"),
        }
    }
}

/// Whether the user has edited the work, and wants it to land. Only a clear word takes the edits away.
fn edited(archive: &Archive, one: &Waiting) -> Result<bool, CliError> {
    editing::lay_out(archive, one, false)?;
    loop {
        let answer = ask(&mut io::stdin().lock(), "Enter when you are done, or g to give it up: ")?;
        match answer.as_str() {
            "" => return Ok(writing::attended()),
            "g" | "give up" => return editing::abort(archive, one).map(|()| false),
            _ => talk("Enter or g; your edits are as they were"),
        }
    }
}

/// One comment a line; an empty line ends them.
fn comments(one: &Waiting) -> Result<Option<ReviewVerdict>, CliError> {
    console::say("What is to be changed? FILE:LINE: before it names a place.");
    console::say("One comment a line; an empty line ends them.");
    let mut comments = Vec::new();
    loop {
        let text = ask(&mut io::stdin().lock(), "> ")?;
        if text.is_empty() {
            break;
        }
        comments.push(comment(one, &text));
    }
    if comments.is_empty() {
        talk("nothing was sent back");
        return Ok(None);
    }
    Ok(Some(ReviewVerdict::SentBack { comments }))
}

/// Runs that are not active go on, if the user wants it, with what was decided.
fn go_on(given: Vec<(RunId, Asked)>) -> Result<Exit, CliError> {
    let mut last: Vec<(RunId, Asked)> = Vec::new();
    for (run, asked) in given {
        last.retain(|(known, _)| *known != run);
        last.push((run, asked));
    }
    let mut exit = Exit::Done;
    for (id, asked) in last {
        if asked != Asked::Recorded {
            exit = left::follow_up(&id, asked)?;
            continue;
        }
        let answer = ask(&mut io::stdin().lock(), &format!("Go on with run {id} now? [Y/n] "))?;
        exit = match answer.to_lowercase().as_str() {
            "" | "y" | "yes" => run::resume(&id)?,
            _ => left::follow_up(&id, asked)?,
        };
    }
    Ok(exit)
}
