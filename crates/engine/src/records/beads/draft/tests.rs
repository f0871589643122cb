use super::*;
use crate::records::beads::issues;

fn read(lines: &str) -> Vec<Issue> {
    let each: Vec<&str> = lines.trim().lines().collect();
    issues(format!("[{}]", each.join(",")).as_bytes()).unwrap()
}

/// An issue of a few words: `id status kind on:type …`.
fn brief(lines: &str) -> Vec<Issue> {
    let one = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_owned);
        let (id, status, kind) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
        let link = |word: String| {
            let (on, kind) = word.rsplit_once('=').unwrap();
            super::super::Link { on: on.to_owned(), kind: kind.to_owned() }
        };
        let links = words.map(link).collect();
        Issue { title: id.to_uppercase(), id, status, kind, links, priority: 2, ..Issue::default() }
    };
    lines.trim().lines().map(one).collect()
}

fn drafted(issues: &[Issue]) -> Drafted {
    draft(issues, None, &BTreeMap::new(), &Known::new(&[], &[]))
}

/// Tasks with what they wait for, and who is left out and why.
#[track_caller]
fn check(lines: &str, tasks: &str, left_out: &[&str]) {
    let drafted = drafted(&brief(lines));
    let shown = |task: &TaskDraft| match task.dependencies.is_empty() {
        true => task.id.clone(),
        false => format!("{}<{}", task.id, task.dependencies.join(",")),
    };
    assert_eq!(drafted.tasks.iter().map(shown).collect::<Vec<_>>().join(" "), tasks);
    let told: Vec<String> = drafted.left_out.iter().map(|one| format!("{} {}", one.id, one.why)).collect();
    assert_eq!(told, left_out);
}

#[test]
fn the_documented_export() {
    let issues = read(
        r#"{"id":"app-1","title":"Parser","description":"Write the parser","status":"open","priority":1,"issue_type":"feature","labels":["core"],"metadata":{"flow":{"model":"sonnet"}},"acceptance_criteria":"tests pass"}
{"id":"app-2","title":"Tests","description":"t","status":"open","priority":2,"issue_type":"task","dependencies":[{"issue_id":"app-2","depends_on_id":"app-1","type":"blocks"}]}
{"id":"app-3","title":"Follow-up","description":"f","status":"open","priority":3,"issue_type":"bug","dependencies":[{"issue_id":"app-3","depends_on_id":"app-1","type":"discovered-from"}]}"#,
    );
    let Drafted { tasks, left_out, .. } = drafted(&issues);
    assert_eq!(left_out, []);
    assert_eq!(tasks[0].prompt, "Write the parser\n\nAcceptance criteria:\ntests pass");
    assert_eq!((tasks[0].name.as_str(), tasks[0].priority), ("Parser", 1));
    assert_eq!(tasks[1].dependencies, ["app-1"]);
    assert!(tasks[2].dependencies.is_empty());
}

#[test]
fn metadata_of_orchestrators() {
    let issues = read(
        r#"{"id":"a","title":"A","metadata":{"subagent_type":"backend-architect","fallback_agents":["database-architect"],"applicable_skills":["mcp-builder"],"execution_suggested_model":"opus","execution_parallel_group":"auth-flow","execution_agent_type":"worker"},"estimated_minutes":20}
{"id":"b","title":"B","metadata":{"execution_agent_type":"test-automator","execution_parallel_group":"../up"}}
{"id":"c","title":"C","description":"[P:Group-own] do","metadata":{"execution_agent_type":"worker","execution_parallel_group":"other","fallback_agents":"codex"}}"#,
    );
    let tasks = drafted(&issues).tasks;
    assert_eq!(tasks[0].subagent_type.as_deref(), Some("backend-architect"));
    assert_eq!(tasks[0].fallback_agents, ["database-architect"]);
    assert_eq!(tasks[0].applicable_skills, ["mcp-builder"]);
    assert_eq!((tasks[0].model.as_deref(), tasks[0].estimate), (Some("opus"), Some(20)));
    assert_eq!(tasks[0].group.as_deref(), Some("auth-flow"));
    assert_eq!((tasks[1].subagent_type.as_deref(), &tasks[1].group), (Some("test-automator"), &None));
    assert_eq!((&tasks[2].subagent_type, &tasks[2].group), (&None, &None));
    assert_eq!(tasks[2].fallback_agents, ["codex"]);
}

#[test]
fn a_mark_in_the_description_comes_before_one_in_the_title() {
    let issues = read(
        r#"{"id":"a","title":"[P:Group-x] A","description":"[P:Group-y] do"}
{"id":"b","title":"[P:Group-x] B","description":"do","metadata":{"execution_parallel_group":"z"}}
{"id":"c","title":"[P:Group-x] C"}"#,
    );
    let drafted = drafted(&issues);
    let seen: Vec<_> = drafted.tasks.iter().map(|task| (task.name.as_str(), task.group.as_deref())).collect();
    assert_eq!(seen, [("A", None), ("B", Some("x")), ("C", None)]);
    let text = crate::records::beads::text(&drafted, "bd");
    let source = conductor_core::file::Source::new("t", text.into_bytes()).unwrap();
    let plan = conductor_core::file::load(&source).unwrap().plan;
    let groups: Vec<_> = plan.tasks.iter().map(|task| task.group.as_deref()).collect();
    assert_eq!(groups, [Some("y"), Some("x"), Some("x")]);
}

#[test]
fn only_what_blocks_blocks() {
    let others = [
        "related",
        "discovered-from",
        "replies-to",
        "relates-to",
        "duplicates",
        "supersedes",
        "authored-by",
        "assigned-to",
        "approved-by",
        "attests",
        "tracks",
        "until",
        "caused-by",
        "validates",
        "delegated-from",
        "our-own",
    ];
    for kind in others {
        check(&format!("a open task\nb open task a={kind}"), "a b", &[]);
    }
    check("a open task\nb open task a=blocks", "a b<a", &[]);
    check("a closed task\nb open task a=blocks", "b", &[]);
}

#[test]
fn a_parent_holds_back_by_what_holds_it_back() {
    check("e open epic\na open task e=parent-child", "a", &[]);
    check("x open task\ne open epic x=blocks\na open task e=parent-child", "x a<x", &[]);
    check(
        "x in_progress task\nf open epic x=blocks\ne open epic f=parent-child\na open task e=parent-child",
        "",
        &["x is in_progress", "a waits for x, which is left out"],
    );
    check("e deferred epic\na open task e=parent-child", "", &["a is part of e, which is deferred"]);
    let drafted = drafted(&brief("f open epic\ne open epic f=parent-child\na open task e=parent-child"));
    assert_eq!(drafted.tasks[0].epic.as_deref(), Some("e"));
    assert_eq!(drafted.epics, [("e".to_owned(), "E".to_owned())]);
}

#[test]
fn an_epic_is_waited_for_as_its_parts() {
    check("e open epic\na open task e=parent-child\nb open task e=blocks", "a b<a", &[]);
    check("e open epic\nb open task e=blocks", "", &["b waits for the epic e, which is open"]);
    check("e closed epic\nb open task e=blocks", "b", &[]);
}

#[test]
fn what_waits_for_a_failure() {
    let held = &["b is wanted only if a fails"];
    check("a open task\nb open task a=conditional-blocks", "a", held);
    check("a closed task\nb open task a=conditional-blocks", "", held);
    let mut issues = brief("a closed task\nb open task a=conditional-blocks");
    issues[0].close_reason = "Build FAILED for good".to_owned();
    assert_eq!(drafted(&issues).tasks.len(), 1);
}

#[test]
fn what_waits_for_all_that_came_of_another() {
    check(
        "a open task\nc open task a=parent-child\nd closed task a=parent-child\nb open task a=waits-for",
        "a c b<a,c",
        &[],
    );
    check("a closed task\nc open task a=parent-child\nb open task a=waits-for", "c b<c", &[]);
}

#[test]
fn who_is_left_out_and_why() {
    check(
        "a in_progress task\nb open task a=blocks\nc open task b=blocks\nd blocked task\ne deferred task\n\
         f open task nowhere=blocks\ng open gate\nh open task g=blocks\ni closed task\nj open task",
        "j",
        &[
            "a is in_progress",
            "b waits for a, which is left out",
            "c waits for b, which is left out",
            "d is blocked",
            "e is deferred",
            "f waits for nowhere, which is not in this database",
            "h waits for the gate g, which is open",
        ],
    );
    let long = format!("{} open task", "x".repeat(51));
    assert!(drafted(&brief(&long)).left_out[0].why.starts_with("cannot be a task: a task id has at most 50"));
}

#[test]
fn claims_and_what_bd_itself_calls_ready_count() {
    let issues = brief("a open task\nb open task a=blocks\nc open task\nd open task");
    let ready = HashSet::from(["a".to_owned(), "d".to_owned()]);
    let claimed = BTreeMap::from([("d".to_owned(), "is being done in run k2".to_owned())]);
    let drafted = draft(&issues, Some(&ready), &claimed, &Known::new(&[], &[]));
    assert_eq!(drafted.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    let told: Vec<String> = drafted.left_out.iter().map(|one| format!("{} {}", one.id, one.why)).collect();
    assert_eq!(told, ["c bd does not call it ready", "d is being done in run k2"]);
}

#[test]
fn circles_of_parents_end() {
    check("a open task b=parent-child\nb open task a=parent-child", "a b", &[]);
    check("a open task a=blocks", "a", &[]);
}
