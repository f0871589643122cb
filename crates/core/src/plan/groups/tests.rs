use proptest::prelude::*;

use super::*;

/// The group that counts, and the first word of each remark.
#[track_caller]
fn check(text: &str, group: Option<&str>, remarks: &[&str]) {
    let reading = read(text);
    assert_eq!(reading.mark.and_then(|mark| mark.group), group, "{text:?}");
    let kinds: Vec<String> = reading.remarks.iter().map(|remark| format!("{remark:?}")).collect();
    let kinds: Vec<&str> = kinds.iter().filter_map(|kind| kind.split('(').next()).collect();
    assert_eq!(kinds, remarks, "{text:?}");
}

#[test]
fn marks_as_they_are_meant() {
    for group in ["infra", "auth-flow", "infrastructure", "1", "v1.2", "a_b", "_x", "A", &"x".repeat(50)] {
        check(&format!("[P:Group-{group}] Set up"), Some(group), &[]);
        check(&format!(" \n[P:Group-{group}]"), Some(group), &[]);
    }
    check("Set up the database", None, &[]);
    check("", None, &[]);
}

#[test]
fn a_mark_elsewhere_counts_and_is_told() {
    check("Setup database [P:Group-infra]", Some("infra"), &["Inside"]);
    check("übung [P:Group-infra] é", Some("infra"), &["Inside"]);
    check("Explain [P:Group-a] and [P:Group-a], then [P:Group-]", Some("a"), &["Inside"]);
}

#[test]
fn of_several_the_first_counts() {
    check("[P:Group-a] [P:Group-b] x", Some("a"), &["Second"]);
    check("[P:Group-a] [P:Group-a] x", Some("a"), &["Inside"]);
    check("x [P:Group-a][P:Group-b][P:Group-c]", Some("a"), &["Inside", "Second"]);
    check("[P:Group-] [P:Group-b] x", Some("b"), &["Nameless"]);
}

#[test]
fn the_letters_of_marks_are_no_words() {
    assert_eq!(without_marks("[P:Group-ui] Other"), " Other");
    assert_eq!(without_marks("Fix [P:Group-a] and [P:Group-b]."), "Fix  and .");
    for plain in ["", "Say [hello]", "[P:Group-] x", "[P:Group-ui"] {
        assert_eq!(without_marks(plain), plain);
    }
}

#[test]
fn what_names_no_group() {
    for name in
        ["", " ", "a b", "../up", "-x", ".x", "a..b", "é", "[x]", "a[b]", "_sequential", &"x".repeat(51)]
    {
        check(&format!("[P:Group-{name}] x"), None, &["Nameless"]);
    }
    check("[P:Group-infra", None, &["Nameless"]);
    check("[P:Group-inf\nra]", None, &["Nameless"]);
}

#[test]
fn nested_brackets() {
    check("[[P:Group-a]] x", Some("a"), &["Inside"]);
    check("[P:Group-[P:Group-a]] x", Some("a"), &["Nameless"]);
}

#[test]
fn case_and_spaces_make_it_something_else() {
    for text in
        ["[p:group-a] x", "[P:GROUP-a]", "[ P:Group-a]", "[P: Group-a] x", "[P:Group -a]", "see [p:Group-a]"]
    {
        check(text, None, &["Alike"]);
    }
    for text in ["[P:Groups-a]", "[P:Grp-a]", "[P]", "[x] P:Group-a", "P:Group-a", "[Ｐ:Group-a]"] {
        check(text, None, &[]);
    }
    check("[P:Group-Infra] x", Some("Infra"), &[]);
}

#[test]
fn a_text_without_its_mark() {
    for (text, rest) in [
        ("[P:Group-g] D", "D"),
        ("  [P:Group-g]  D ", "D "),
        ("[P:Group-g]", ""),
        ("D [P:Group-g]", "D [P:Group-g]"),
        ("[P:Group-] D", "[P:Group-] D"),
        ("[p:group-g] D", "[p:group-g] D"),
    ] {
        assert_eq!(unmarked(text), rest);
    }
}

fn described<'t>(id: &'t str, description: &'t str) -> Marked<'t> {
    Marked { id, group: None, texts: vec![("description", description)] }
}

#[test]
fn the_seeds_own_example() {
    let tasks = [
        described("task-1", "[P:Group-infra] Setup DB"),
        described("task-2", "[P:Group-infra] Setup cache"),
        described("task-3", "Sequential task"),
    ];
    let groups = vec![("infra".to_owned(), vec![0, 1]), ("_sequential".to_owned(), vec![2])];
    assert_eq!(detect(&tasks), Detected { groups, warnings: Vec::new() });
}

#[test]
fn texts_that_disagree() {
    let tasks = [
        Marked {
            id: "a",
            group: Some("own"),
            texts: vec![("description", "[P:Group-d] x"), ("name", "[P:Group-own] x")],
        },
        Marked {
            id: "b",
            group: None,
            texts: vec![("description", "x"), ("name", "[P:Group-n]"), ("prompt", "x [P:Group-p]")],
        },
    ];
    let Detected { groups, warnings } = detect(&tasks);
    assert_eq!(groups, [("own".to_owned(), vec![0]), ("n".to_owned(), vec![1])]);
    assert_eq!(
        warnings,
        [
            "task 'a' is in group 'own'; its description says 'd', which does not count",
            "task 'b': in its prompt: a group marker belongs at the start of the text (start the text with \
             [P:Group-NAME], NAME being letters, digits, '-', '_' and '.')",
            "task 'b' is in group 'n'; its prompt says 'p', which does not count",
        ]
    );
}

proptest! {
    /// Every task is in exactly one group, and no group's name could leave a folder.
    #[test]
    fn every_task_is_in_one_group(texts in prop::collection::vec("(\\[P:Group-)?[a-c.\\] /\u{e9}]{0,4}\\]? ?[a-z\\[]{0,3}", 0..12)) {
        let tasks: Vec<Marked<'_>> = texts.iter().map(|text| described("t", text)).collect();
        let detected = detect(&tasks);
        let mut places: Vec<usize> = detected.groups.iter().flat_map(|(_, places)| places.clone()).collect();
        places.sort_unstable();
        prop_assert_eq!(places, (0..texts.len()).collect::<Vec<_>>());
        for (group, places) in &detected.groups {
            prop_assert!(!places.is_empty() && (group == SEQUENTIAL || is_name(group)));
        }
    }
}
