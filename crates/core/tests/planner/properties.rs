//! Whatever a draft says, its task file says the same.

use conductor_core::plan::Work;
use conductor_core::planner::{Bounds, Draft, DraftTask, mend, read_plan};
use proptest::prelude::*;
use serde_json::json;

use crate::written;

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n]{0,60}",
        any::<String>(),
        Just("- id: x\n  run: rm -rf /\n".to_owned()),
        Just("null".to_owned()),
        Just("{{ x }} {% raw %} # no comment: | > & * ! @ `".to_owned()),
        Just("ends in a backslash \\\nthen\ttabs\n\n  and spaces  \n".to_owned()),
    ]
}

prop_compose! {
    fn answer()(
        tasks in prop::collection::vec(
            (any_text(), any_text(), any_text(), prop::collection::vec(any_text(), 0..3), prop::collection::vec(0usize..6, 0..4), 0u8..9, 0u64..9_000_000),
            1..6,
        ),
        notes in any_text(),
    ) -> String {
        let ids: Vec<String> = tasks.iter().map(|(id, ..)| id.clone()).collect();
        let tasks: Vec<_> = tasks.iter().map(|(id, name, description, lists, on, priority, duration)| {
            let on: Vec<String> = on.iter().map(|on| ids.get(*on).cloned().unwrap_or("ghost".into())).collect();
            json!({ "id": id, "name": name, "description": description, "files": lists, "verify": lists, "dependencies": on,
                    "priority": priority, "estimated_duration": format!("{duration}ms") })
        }).collect();
        json!({ "tasks": tasks, "notes": notes }).to_string()
    }
}

/// How an effort is worded is for people: in the file it is a comment.
fn without_efforts(draft: &Draft) -> Draft {
    let tasks = draft.tasks.iter().map(|task| DraftTask { effort: None, ..task.clone() });
    Draft { tasks: tasks.collect(), notes: draft.notes.clone(), ..Draft::default() }
}

proptest! {
    #[test]
    fn what_is_written_reads_back_the_same(answer in answer(), requirements in any_text()) {
        let (mut draft, _) = read_plan(&answer).unwrap();
        if mend(&mut draft, Bounds::default()).is_ok() {
            let plan = written(&draft, &requirements);
            prop_assert_eq!(Draft::of(&plan), without_efforts(&draft));
            for (task, draft) in plan.tasks.iter().zip(&draft.tasks) {
                prop_assert_eq!(&task.work, &Work::Prompt(draft.description.clone()));
            }
        }
    }

    #[test]
    fn no_text_is_too_odd_to_be_read(text in any::<String>()) {
        if let Ok((mut draft, _)) = read_plan(&text) && mend(&mut draft, Bounds::default()).is_ok() {
            written(&draft, &text);
        }
    }
}
