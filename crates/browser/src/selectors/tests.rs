use super::*;
use crate::page::View;
use crate::snapshot::Snapshot;

fn view(lines: &str) -> View {
    View { snapshot: Snapshot::parse(lines), ..View::default() }
}

fn find(control: &str, lines: &str) -> Found {
    let values = BTreeMap::from([("repository", "me/app"), ("branch", "main")]);
    Selectors::built_in().unwrap().find(control, &view(lines), &values)
}

#[test]
fn the_first_alternative_that_fits_counts() {
    let lines = "- textbox \"Prompt\" [ref=e1]\n- button \"Attach\" [ref=e2]\n- button \"Send\" [ref=e3]";
    assert_eq!(find("composer", lines), Found::One(0));
    assert_eq!(find("send", lines), Found::One(2));
    assert_eq!(find("create_pull_request", lines), Found::Missing);
}

#[test]
fn two_that_fit_are_none() {
    assert_eq!(find("composer", "- textbox \"Prompt\"\n- textbox \"Prompt\""), Found::Several(2));
}

#[test]
fn values_are_compared_as_a_whole() {
    let lines = "- option \"me/app-old\"\n- option \"me/app\"\n- option \"you/me/app\"";
    assert_eq!(find("repository_option", lines), Found::One(1));
    assert_eq!(find("repository_option", "- option \"me/app-old\""), Found::Missing);
}

#[test]
fn dialogs_are_dismissed_inside_of_dialogs_only() {
    assert_eq!(find("dismiss", "- button \"Not Now\""), Found::Missing);
    assert_eq!(find("dismiss", "- dialog:\n  - button \"Not Now\""), Found::One(1));
}

#[test]
fn signs_are_told_with_their_text() {
    let selectors = Selectors::built_in().unwrap();
    let limited = view("- alert: You have reached your limit. Resets at 5 pm");
    assert!(selectors.sign("rate_limited", &limited).unwrap().contains("5 pm"));
    assert_eq!(selectors.sign("rate_limited", &view("- paragraph: the limit")), None);
    let waiting = View { title: "Just a moment...".to_owned(), ..View::default() };
    assert!(selectors.sign("interstitial", &waiting).is_some());
    assert_eq!(selectors.provisioning_step(&view("- status: Cloning repository")), Some("clone"));
}

#[test]
fn a_session_is_known_by_its_address() {
    let selectors = Selectors::built_in().unwrap();
    let url = "http://localhost:1/code/session_01Ab?x=1";
    assert_eq!(selectors.session_of(url), Some("http://localhost:1/code/session_01Ab"));
    for other in ["http://localhost:1/code", "http://localhost:1/code/session_", "http://h/code/session_a-b"]
    {
        assert_eq!(selectors.session_of(other), None, "{other}");
    }
}

#[test]
fn what_the_user_says_replaces_single_entries() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("element_selectors.json");
    assert_eq!(Selectors::load(&path).unwrap(), Selectors::built_in().unwrap());
    let said = r#"{ "version": 1, "controls": { "send": [{ "role": "button", "name": "Go" }] } }"#;
    std::fs::write(&path, said).unwrap();
    let loaded = Selectors::load(&path).unwrap();
    assert_eq!(loaded.controls["send"].len(), 1);
    assert_eq!(loaded.controls["composer"], Selectors::built_in().unwrap().controls["composer"]);
}

#[test]
fn mistakes_in_the_users_file_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("element_selectors.json");
    for (said, expected) in [
        (r#"{ "version": 9 }"#, "version 9 is not known"),
        (r#"{ "version": 1, "controls": { "send": [{ "rolle": "button" }] } }"#, "rolle"),
        (r#"{ "version": 1, "steps": { "create": [{ "do": "click", "control": "sned" }] } }"#, "'sned'"),
        ("{", "line 1"),
    ] {
        std::fs::write(&path, said).unwrap();
        let error = Selectors::load(&path).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("element_selectors.json"), "{error}");
    }
}

#[test]
fn what_is_learned_comes_first() {
    let known = Selectors::built_in().unwrap();
    let mut overrides = Overrides::default();
    let pattern =
        Pattern { role: Some("button".to_owned()), name: Some("Go".to_owned()), ..Pattern::default() };
    overrides.learn(&known, "send", pattern.clone());
    overrides.learn(&known, "send", pattern.clone());
    assert_eq!(overrides.controls["send"], [vec![pattern], known.controls["send"].clone()].concat());
}
