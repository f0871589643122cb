//! Who is called for by which words, and what follows from that.

use super::*;
use crate::values::ids::TaskId;

fn task(prompt: &str) -> Task {
    Task::new(TaskId::parse("t").unwrap(), Work::Prompt(prompt.into()))
}

fn subagent(name: &str, words: &[&str]) -> Subagent {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Subagent { name: name.into(), words, ..Subagent::default() }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let known =
        Known::new(&[subagent("mine", &["gizmo", "flux capacitor"])], &[subagent("code-reviewer", &[])]);
    let told = known.detect(text).map(|(who, words)| format!("{} by {}", who.name, words.join(", ")));
    assert_eq!(told.unwrap_or_default(), expect, "{text}");
}

#[test]
fn words_call_for_those_who_know_about_them() {
    check("Build the API", "backend-architect by api");
    check("A React component for the UI", "frontend-developer by ui, component, react");
    check("Raise the coverage with pytest", "test-automator by pytest, coverage");
    check("A migration of the SQL schema", "database-architect by migration, schema, sql");
    check("Audit the auth code", "security-auditor by auth, audit");
    check("Put it into Docker", "devops-engineer by docker");
    check("Say hello", "");
}

#[test]
fn words_stand_by_themselves_and_may_be_plural() {
    check("APIs", "backend-architect by api");
    check("rapid capital authored latest contest", "");
    check("rest/graphql", "backend-architect by rest, graphql");
    check("the flux-capacitor", "mine by flux capacitor");
    check("the capacitor flux", "");
    check("ask the code reviewer", "code-reviewer by code-reviewer");
    check("review the code", "");
}

#[test]
fn a_group_is_no_word_of_a_task() {
    check("[P:Group-ui] Other", "");
    check("[P:Group-auth] Build the API", "backend-architect by api");
    check("Say hello [P:Group-sql] twice", "");
}

#[test]
fn a_text_of_any_length_is_looked_through_in_no_time() {
    let known = Known::new(&[], &[]);
    let (who, words) = known.detect(&"api test ".repeat(1_000_000)).unwrap();
    assert_eq!((who.name.as_str(), words), ("backend-architect", vec!["api".to_owned()]));
}

#[test]
fn most_words_win_and_the_first_of_equals() {
    check("tests for the api", "backend-architect by api");
    check("tests and coverage for the api", "test-automator by test, coverage");
    check("a gizmo for the api", "mine by gizmo");
}

#[test]
fn the_first_description_of_a_specialist_counts_and_the_rest_is_filled_in() {
    let config = [Subagent { agent: Some("codex".into()), ..subagent("backend-architect", &[]) }];
    let found =
        [Subagent { prompt: "Ours".into(), from: "a.md".into(), ..subagent("backend-architect", &["x"]) }];
    let known = Known::new(&config, &found);
    let one: Vec<&Subagent> = known.all.iter().filter(|known| known.name == "backend-architect").collect();
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].agent.as_deref(), one[0].prompt.as_str()), (Some("codex"), "Ours"));
    assert_eq!((one[0].words.as_slice(), one[0].from.as_str()), (&["x".to_owned()][..], "a.md"));
}

fn settled(task: Task, found: &[Subagent]) -> Plan {
    let mut plan = Plan { tasks: vec![task], ..Plan::default() };
    let known = Known::new(&[], found);
    let finding = find(&plan.tasks[0], &known);
    settle(&mut plan, 0, finding, &known);
    plan
}

#[test]
fn a_name_that_does_not_exist_gives_way_to_one_of_the_fallbacks() {
    let mut task = task("x");
    task.subagent_type = Some("no-such-specialist".into());
    task.fallback_agents = vec!["codex".into(), "database-architect".into(), "my-plugin".into()];
    assert_eq!(
        find(&Task { fallback_agents: vec!["codex".into()], ..task.clone() }, &Known::new(&[], &[])),
        Finding::Unknown("no-such-specialist".into())
    );
    let plan = settled(task, &[]);
    assert_eq!(plan.tasks[0].subagent_type.as_deref(), Some("database-architect"));
    assert_eq!(plan.tasks[0].fallback_agents, ["codex", "my-plugin"], "programs stay");
    assert_eq!(plan.subagents.len(), 1);
}

#[test]
fn a_task_can_want_no_specialist_and_a_command_has_none() {
    let wants_none = Task { subagent_type: Some("none".into()), ..task("Build the API") };
    let plan = settled(wants_none, &[]);
    assert_eq!((plan.tasks[0].subagent_type.as_deref(), plan.subagents.len()), (None, 0));
    let command = Task::new(TaskId::parse("t").unwrap(), Work::Run(crate::plan::Command::Line("api".into())));
    assert_eq!(find(&command, &Known::new(&[], &[])), Finding::NoSpecialist);
}

#[test]
fn agent_and_model_of_a_specialist_fill_in_for_the_tasks_own() {
    let of = |model: &str, agent: Option<&str>| Subagent {
        model: Some(model.into()),
        agent: agent.map(str::to_owned),
        ..subagent("mine", &["gizmo"])
    };
    let told = |plan: Plan| {
        let task = &plan.tasks[0];
        format!("{} {}", task.agent_name(), task.model.as_deref().unwrap_or("-"))
    };
    assert_eq!(told(settled(task("gizmo"), &[of("sonnet", None)])), "claude sonnet");
    assert_eq!(told(settled(task("gizmo"), &[of("inherit", None)])), "claude -");
    assert_eq!(told(settled(task("gizmo"), &[of("opus", Some("codex"))])), "codex large");
    let own = Task { model: Some("haiku".into()), agent: Some("claude".into()), ..task("gizmo") };
    assert_eq!(told(settled(own, &[of("opus", Some("codex"))])), "claude haiku");
}

#[test]
fn front_matter_is_read_as_people_write_it() {
    let text = "---\r\nname: mine\ndescription: Use this: when \"it\" breaks\n  and then some\nmodel: 'opus'\ntools:\n  - Read\n  - Bash\nwords: [a, \"b c\"]\nlong: >\n  one\n  two\n---\n\nYou are it.\n---\nStill.\n";
    let (fields, body) = front_matter(text);
    let field = |name: &str| fields.get(name).map_or("", String::as_str);
    assert_eq!(field("name"), "mine");
    assert_eq!(field("description"), "Use this: when \"it\" breaks and then some");
    assert_eq!((field("model"), field("tools"), field("long")), ("opus", "Read, Bash", "one two"));
    assert_eq!(items(field("words")), ["a", "b c"]);
    assert_eq!(body, "You are it.\n---\nStill.");
    assert_eq!(front_matter("No head.").1, "No head.");
    assert_eq!(front_matter("---\nname: x\nnever closed").1, "---\nname: x\nnever closed");
}
