//! What a request is answered with: the script's turn that is due, or the fault that stands before it.
//!
//! It decides and does nothing else. It knows neither HTTP nor dialects; the only thing remembered between requests is
//! how often each fault was met, because a refused request leaves no trace in a conversation.

use std::collections::HashMap;

use crate::conversation::Conversation;
use crate::dialects::Reply;
use crate::faults::{Counted, Failure};
use crate::script::Usage;
use crate::tools;
use crate::turns::{Manner, Obstacle, Turn, Turns};

/// Said to questions beside the work, such as for a title.
const ASIDE: &str = "Scripted work";

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) manner: Manner,
    pub(crate) content: Content,
}

#[derive(Debug)]
pub(crate) enum Content {
    Given { reply: Box<Reply>, ending: Ending },
    Refused(Failure),
}

#[derive(Debug, PartialEq)]
pub(crate) enum Ending {
    Whole,
    Cut,
    /// It ends in its middle as if that were its end.
    Short,
    BrokenOff(Failure),
}

/// What becomes of a turn this time.
enum Course {
    Taken(Ending),
    /// Something else is said instead.
    Lied(String),
}

/// An answer, and which turn it is of; an aside is of none.
#[derive(Debug)]
pub(crate) struct Decision {
    pub(crate) place: Option<usize>,
    pub(crate) answer: Answer,
}

/// Who asks and when.
pub(crate) struct Asker<'a> {
    pub(crate) job: &'a str,
    pub(crate) conversation: &'a Conversation,
    /// Goes into the ids of the answer.
    pub(crate) unique: String,
    /// Seconds since 1970.
    pub(crate) now: u64,
}

/// How often each fault was met, and when first.
#[derive(Debug, Default)]
pub(crate) struct Met(HashMap<Key, Meeting>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    job: String,
    conversation: Option<String>,
    place: usize,
    obstacle: usize,
}

#[derive(Clone, Copy, Debug)]
struct Meeting {
    first: u64,
    times: u32,
}

pub(crate) fn decide(asker: &Asker<'_>, turns: &Turns, met: &mut Met) -> Decision {
    if is_aside(asker.conversation, turns) {
        let reply = reply(asker, Some(ASIDE.to_owned()), Usage::NONE);
        let content = Content::Given { reply: Box::new(reply), ending: Ending::Whole };
        return Decision { place: None, answer: Answer { manner: Manner::default(), content } };
    }
    let place = turns.place(asker.conversation.answers());
    let turn = turns.at(place);
    let content = match course(asker, place, turn, met) {
        Course::Taken(ending) => content(asker, turn, ending),
        Course::Lied(text) => {
            let reply = Box::new(reply(asker, Some(text), turn.manner.usage));
            Content::Given { reply, ending: Ending::Whole }
        }
    };
    let answer = Answer { manner: turn.manner.clone(), content };
    Decision { place: Some(place), answer }
}

/// A CLI that offers no tools while the script needs some asks something beside the work. Titles are asked for so too.
fn is_aside(conversation: &Conversation, turns: &Turns) -> bool {
    conversation.offered.is_empty() && (turns.has_deeds() || conversation.system.contains("title generator"))
}

fn content(asker: &Asker<'_>, turn: &Turn, ending: Ending) -> Content {
    match ending {
        Ending::BrokenOff(failure) if !failure.mid_stream || !asker.conversation.stream => {
            return Content::Refused(failure);
        }
        _ => {}
    }
    let mut reply = reply(asker, turn.text.clone(), turn.manner.usage);
    match turn.deed.as_ref().map(|deed| tools::call(deed, asker.conversation)).transpose() {
        Ok(call) => reply.call = call,
        Err(none) => return Content::Refused(Failure::refusal(none.to_string())),
    }
    // Words and figures belong to the deed, not to what comes before it.
    if reply.call.as_ref().is_some_and(|call| call.preparing) {
        reply.text = None;
        reply.usage = Usage::NONE;
    }
    Content::Given { reply: Box::new(reply), ending }
}

fn reply(asker: &Asker<'_>, text: Option<String>, usage: Usage) -> Reply {
    Reply { unique: asker.unique.clone(), model: asker.conversation.model.clone(), text, call: None, usage }
}

/// How the turn goes this time, by the first obstacle that is not used up.
fn course(asker: &Asker<'_>, place: usize, turn: &Turn, met: &mut Met) -> Course {
    for (number, obstacle) in turn.obstacles.iter().enumerate() {
        let key = |counted| Key {
            job: asker.job.to_owned(),
            conversation: (counted == Counted::Conversation).then(|| identity(asker.conversation)),
            place,
            obstacle: number,
        };
        match obstacle {
            Obstacle::Fault(fault) if met.again(key(fault.counted), fault.times, asker.now) => {
                return Course::Taken(Ending::BrokenOff(Failure::from_fault(fault)));
            }
            Obstacle::Cut(cut) if met.again(key(cut.counted), cut.times, asker.now) => {
                return Course::Taken(if cut.gently { Ending::Short } else { Ending::Cut });
            }
            Obstacle::Lie(lie) if met.again(key(lie.counted), lie.times, asker.now) => {
                return Course::Lied(lie.text.clone());
            }
            Obstacle::UsageLimit(limit) => {
                let ends = limit.ends(met.first(key(Counted::Job), asker.now));
                if asker.now < ends {
                    return Course::Taken(Ending::BrokenOff(Failure::used_up(ends, asker.now)));
                }
            }
            _ => {}
        }
    }
    Course::Taken(Ending::Whole)
}

/// What tells a conversation from others: its session, or else how it began.
fn identity(conversation: &Conversation) -> String {
    let first_prompt = || conversation.prompts().next().unwrap_or_default().to_owned();
    conversation.session.clone().unwrap_or_else(first_prompt)
}

impl Met {
    /// Meets an obstacle once more, unless it was met as often as it stands there.
    fn again(&mut self, key: Key, most: Option<u32>, now: u64) -> bool {
        let meeting = self.0.entry(key).or_insert(Meeting { first: now, times: 0 });
        let stands = most.is_none_or(|most| meeting.times < most);
        meeting.times += u32::from(stands);
        stands
    }

    fn first(&mut self, key: Key, now: u64) -> u64 {
        self.0.entry(key).or_insert(Meeting { first: now, times: 0 }).first
    }

    /// A job that is given another script begins anew.
    pub(crate) fn forget(&mut self, job: &str) {
        self.0.retain(|key, _| key.job != job);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::{Entry, Offered};
    use crate::faults::{Fault, Kind, UsageLimit};
    use crate::script::Script;
    use serde_json::Value;

    /// A server of one script, and the agents that ask it.
    struct Stage {
        turns: Turns,
        met: Met,
        now: u64,
    }

    fn stage(script: Script) -> Stage {
        Stage { turns: Turns::of(&script), met: Met::default(), now: 1000 }
    }

    impl Stage {
        /// What a conversation that stands at `place` is answered with, in short.
        fn ask(&mut self, session: &str, place: usize) -> String {
            let call = Entry::Called { id: "x".into(), name: "Bash".into(), input: Value::Null };
            let answered = (0..place).flat_map(|_| [call.clone(), Entry::Returned]);
            let conversation = Conversation {
                stream: true,
                session: Some(session.to_owned()),
                offered: vec![Offered { name: "Bash".into(), ..Offered::default() }],
                entries: std::iter::once(Entry::Prompt("do".into())).chain(answered).collect(),
                ..Conversation::default()
            };
            self.answer(&conversation)
        }

        fn answer(&mut self, conversation: &Conversation) -> String {
            let asker = Asker { job: "a", conversation, unique: "1".into(), now: self.now };
            let decision = decide(&asker, &self.turns, &mut self.met);
            let place = decision.place.map_or("-".to_owned(), |place| place.to_string());
            format!("{place} {}", in_short(&decision.answer))
        }
    }

    fn in_short(answer: &Answer) -> String {
        match &answer.content {
            Content::Refused(failure) => format!("{} {:?}", failure.status, failure.kind),
            Content::Given { reply, ending } => {
                let what = match (&reply.call, &reply.text) {
                    (Some(call), _) => call.name.clone(),
                    (None, text) => text.clone().unwrap_or_default(),
                };
                match ending {
                    Ending::Whole => what,
                    Ending::Cut => format!("cut {what}"),
                    Ending::Short => format!("short {what}"),
                    Ending::BrokenOff(failure) => format!("broken off {:?} {what}", failure.kind),
                }
            }
        }
    }

    #[test]
    fn the_turn_is_told_by_the_conversation_alone() {
        let mut stage = stage(Script::new().run("ls").run("pwd").finish("Done."));
        assert_eq!(stage.ask("one", 0), "0 Bash");
        assert_eq!(stage.ask("two", 0), "0 Bash");
        assert_eq!(stage.ask("one", 2), "2 Done.");
        assert_eq!(stage.ask("two", 1), "1 Bash");
        assert_eq!(stage.ask("two", 3), "3 Done.");
    }

    #[test]
    fn a_fault_stands_in_the_way_as_often_as_it_says() {
        let script = Script::new()
            .error(Fault::of(Kind::RateLimit).times(2))
            .error(Fault::status(500).times(1))
            .cut(1)
            .short(1)
            .finish("Done.");
        let mut stage = stage(script);
        let told: Vec<String> = (0..6).map(|_| stage.ask("one", 0)).collect();
        let expected =
            ["0 429 RateLimit", "0 429 RateLimit", "0 500 Server", "0 cut Done.", "0 short Done.", "0 Done."];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_fault_is_counted_by_job_or_by_conversation() {
        let mut by_job = stage(Script::new().error(Fault::status(529).times(1)).finish("Done."));
        assert_eq!(by_job.ask("one", 0), "0 529 Overloaded");
        assert_eq!(by_job.ask("two", 0), "0 Done.");
        let fault = Fault::status(529).times(1).in_each_conversation();
        let mut by_conversation = stage(Script::new().error(fault).finish("Done."));
        assert_eq!(by_conversation.ask("one", 0), "0 529 Overloaded");
        assert_eq!(by_conversation.ask("two", 0), "0 529 Overloaded");
        assert_eq!(by_conversation.ask("one", 0), "0 Done.");
    }

    #[test]
    fn a_lie_is_told_as_often_as_it_says_and_then_the_work_begins() {
        let mut stage = stage(Script::new().lie("All done.", 1).run("ls").finish("Done."));
        assert_eq!(stage.ask("one", 0), "0 All done.");
        assert_eq!(stage.ask("two", 0), "0 Bash");
        assert_eq!(stage.ask("two", 1), "1 Done.");
    }

    #[test]
    fn a_fault_without_a_number_is_for_ever() {
        let mut stage = stage(Script::new().error(Fault::of(Kind::Authentication)));
        for _ in 0..20 {
            assert_eq!(stage.ask("one", 0), "0 401 Authentication");
        }
    }

    #[test]
    fn a_usage_limit_lasts_until_its_moment() {
        let mut stage = stage(Script::new().usage_limit(UsageLimit::lasting(60)).finish("Done."));
        assert_eq!(stage.ask("one", 0), "0 429 RateLimit");
        stage.now += 59;
        assert_eq!(stage.ask("one", 0), "0 429 RateLimit");
        stage.now += 1;
        assert_eq!(stage.ask("one", 0), "0 Done.");
    }

    #[test]
    fn a_fault_inside_a_stream_begins_like_the_answer() {
        let fault = Fault::of(Kind::Overloaded).times(1).mid_stream();
        let mut stage = stage(Script::new().error(fault).finish("Done."));
        assert_eq!(stage.ask("one", 0), "0 broken off Overloaded Done.");
    }

    #[test]
    fn a_question_beside_the_work_uses_nothing_up() {
        let mut stage = stage(Script::new().error(Fault::status(500).times(1)).run("ls").finish("Done."));
        assert_eq!(stage.answer(&Conversation::default()), "- Scripted work");
        assert_eq!(stage.ask("one", 0), "0 500 Server");
    }

    #[test]
    fn words_alone_need_no_tools() {
        let mut stage = stage(Script::new().finish("Done."));
        assert_eq!(stage.answer(&Conversation::default()), "0 Done.");
        let title = Conversation { system: "You are a title generator.".into(), ..Conversation::default() };
        assert_eq!(stage.answer(&title), "- Scripted work");
    }

    #[test]
    fn a_deed_without_a_tool_for_it_is_refused_in_words() {
        let mut stage = stage(Script::new().write_file("a", "b"));
        assert_eq!(stage.ask("one", 0), "0 400 Invalid");
    }
}
