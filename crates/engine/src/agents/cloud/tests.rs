use conductor_core::run::event::Outcome;

use super::super::{Session, replay};
use super::*;

fn driven() -> Driven {
    let session = Session { id: "s".into(), begun: false };
    replay::asked("/work/a", session, |brief| Driven::new(brief, Cloud::default()))
}

fn ended(lines: &[&str], exit: Exit) -> String {
    let mut driven = driven();
    for line in lines {
        driven.on_line(line.as_bytes());
    }
    let ending = driven.finish(exit);
    match ending.outcome {
        Outcome::Failed(failure) => format!("{:?}: {} {:?}", failure.class, failure.message, ending.parked),
        _ => format!("ok: {:?}", ending.result),
    }
}

#[test]
fn only_a_good_result_is_success_and_a_driver_that_is_killed_after_it_harms_nothing() {
    let good = r#"{"type":"result","ok":true,"text":"done"}"#;
    let limit = r#"{"type":"result","ok":false,"class":"rate_limited","resets_at":17,"text":"no more"}"#;
    let all = [
        ended(&[good], Exit::Code(0)),
        ended(&[good], Exit::Signal(9)),
        ended(&[r#"{"type":"text","text":"all is well"}"#], Exit::Code(0)),
        ended(&[limit], Exit::Code(0)),
        ended(&[r#"{"type":"result","ok":false,"class":"rate_limited","text":"soon"}"#], Exit::Code(0)),
        ended(&[r#"{"type":"result","ok":false,"class":"no_changes","text":"nothing"}"#], Exit::Code(0)),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    ok: Some("done")
    ok: Some("done")
    Unfinished: it ended without a final word (exit code 0) None
    RateLimited: no more Some(Some(17))
    RateLimited: soon None
    NoChanges: nothing None
    "#);
}

#[test]
fn a_submission_is_asked_for_once_and_what_is_no_line_does_no_harm() {
    let mut driven = driven();
    let question = r#"{"type":"question","kind":"submit","what":"submit again","why":"no answer"}"#;
    let reply: Value = serde_json::from_slice(&driven.on_line(question.as_bytes()).reply).unwrap();
    assert_eq!((&reply["allow"], &reply["later"]), (&json!(false), &json!(true)));
    assert_eq!(driven.questions.open().unwrap().tool, CLOUD_SUBMISSION);
    let used = driven.on_line(br#"{"type":"usage","cost":250000,"input":10,"output":2}"#);
    assert_eq!((used.used[0].total(), used.cost), (12, Some(Usd(250_000))));
    for line in replay::garbage() {
        driven.on_line(&line);
    }
}
