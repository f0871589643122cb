//! `conductor plan`: an agent's answer becomes a task file, or is refused with a reason; nothing is ever run.

use serde_json::{Value, json};

use crate::harness::{Ended, World, is_alive, leftovers, wait_for};
use crate::questions;
use crate::repository::{checkout, command, conductor};
use crate::tmux::Terminal;

/// Answers what it finds written down for each question, and notes what it was asked and where it was. A task it does by
/// writing a file of the task's name.
pub(crate) const PLANNER: &str = r#"
read -r task
printf '%s\n' "$task" >> HERE/asked
pwd >> HERE/places
usage='{"type":"usage","model":"claude-opus-5-5","input":1000,"output":100,"turns":1}'
case "$task" in
  *"put right, and nothing else"*) echo "$usage"; cat HERE/repair.line ;;
  *"Write the plan"*) echo "$usage"; cat HERE/plan.line ;;
  *"Tell how many tasks"*) echo "$usage"; cat HERE/analysis.line ;;
  *)
    id=$(printf '%s' "$task" | sed 's/"session".*//; s/.*"id":"\([^"]*\)".*/\1/')
    echo "$id" > "$id.txt"
    echo "$usage"
    echo '{"type":"result","ok":true,"text":"done"}' ;;
esac
"#;

/// A repository in which `planner` plans. Nothing is answered to what is not written down.
pub(crate) fn world(answers: &[(&str, &str)]) -> World {
    let world = questions::world("tasks: [{ id: other, run: 'true' }]", &[("planner", PLANNER)]);
    for (name, text) in answers {
        answer(&world, name, text);
    }
    world
}

fn answer(world: &World, name: &str, text: &str) {
    let line = json!({ "type": "result", "ok": true, "text": text });
    std::fs::write(world.path(&format!("{name}.line")), format!("{line}\n")).unwrap();
}

#[track_caller]
fn plan(world: &World, args: &[&str]) -> Ended {
    conductor(world, &[&["plan", "--agent", "planner"], args].concat())
}

fn file(world: &World, name: &str) -> String {
    world.read(&format!("repo/{name}"))
}

fn execution_plan(world: &World) -> Value {
    serde_json::from_str(&file(world, "execution_plan.json")).unwrap()
}

/// Nothing was written, and the message names the folder with the answers.
#[track_caller]
fn expect_nothing_but_answers(world: &World, ended: &Ended) {
    assert!(!world.path("repo/tasks.yaml").exists() && !world.path("repo/execution_plan.json").exists());
    assert!(world.runs().is_empty(), "nothing was run");
    let folder = ended.stderr.split("what it said is in ").nth(1).unwrap().split(';').next().unwrap();
    let kept =
        std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.file_name()).collect::<Vec<_>>();
    assert!(kept.contains(&"analysis.txt".into()) || kept.contains(&"executor_1".into()), "{kept:?}");
    assert!(!kept.contains(&"place".into()), "{kept:?}");
}

/// Seed 004's moderate project.
pub(crate) fn todo(mark: impl Fn(&str) -> String) -> String {
    let task = |id: &str, name: &str, on: &[&str]| {
        json!({ "id": id, "name": name, "description": format!("{}{name}, as the app needs it.", mark(id)), "priority": "high",
                "dependencies": on, "estimated_effort": "medium", "estimated_duration": "5m", "files": [format!("{id}.txt")],
                "verify": [format!("test -s {id}.txt")] })
    };
    json!({ "tasks": [
        task("database", "Design the database schema", &[]),
        task("api", "Build the backend API", &["database"]),
        task("frontend", "Set up the frontend", &[]),
        task("ui", "Build the UI components", &["frontend"]),
        task("integration", "Integrate API and UI", &["api", "ui"]),
        task("testing", "Test and polish", &["integration"]),
    ], "notes": "The API comes first: \"contract\" & all." })
    .to_string()
}

pub(crate) const SIX: &str = r#"{"num_tasks": 6, "reasoning": "A todo app has a back end and a front end.",
    "key_features_detected": ["crud", "auth"], "technical_components": ["database", "api", "ui"]}"#;

#[test]
fn a_todo_app_becomes_six_tasks_that_two_can_do_at_once() {
    let plan_words = format!("Here is the plan:\n```json\n{}\n```\n", todo(|_| String::new()));
    let world = world(&[("analysis", SIX), ("plan", &plan_words)]);
    world.write("repo/AGENTS.md", "Tabs, not spaces.\n");
    let before = checkout(&world);
    let ended = plan(&world, &["build a todo app with auth", "--budget", "3"]).expect(0);
    let ended = ended.says("6 tasks, moderate; there is use for 2 at once").says("2200 tokens, $0.0");
    ended.says("wrote tasks.yaml and execution_plan.json").says("conductor run tasks.yaml -p 2");
    let text = file(&world, "tasks.yaml");
    for part in
        ["#   build a todo app with auth", "# Planned by planner", "agent: planner", "# effort: medium"]
    {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let plan = execution_plan(&world);
    assert_eq!((plan["num_tasks"].clone(), plan["executor_budget"].clone()), (json!(6), json!(3)));
    assert_eq!(plan["dependencies"]["integration"], json!(["api", "ui"]));
    assert_eq!(plan["notes"], "The API comes first: \"contract\" & all.");
    conductor(&world, &["validate", "tasks.yaml"]).expect(0);
    conductor(&world, &["rehearse", "tasks.yaml", "-p", "3"]).expect(0).says("20m");
    let asked = world.read("asked");
    assert_eq!(asked.lines().count(), 2, "an analysis and a plan");
    for part in ["build a todo app with auth", "f.txt", "Tabs, not spaces.", "At most 3 agents"] {
        assert!(asked.lines().next().unwrap().contains(part), "{part}: {asked}");
    }
    assert!(asked.lines().nth(1).unwrap().contains(r#""begun":true"#), "one conversation");
    assert!(!world.read("places").contains("/repo"), "it was never in the checkout");
    assert!(world.runs().is_empty(), "nothing was run");
    for new in ["tasks.yaml", "execution_plan.json"] {
        std::fs::remove_file(world.path(&format!("repo/{new}"))).unwrap();
    }
    assert_eq!(checkout(&world), before);
}

/// Some planners say who waits for whom beside the tasks; six that depend on each other stay so.
#[test]
fn dependencies_beside_the_tasks_are_kept() {
    let mut answer: Value = serde_json::from_str(&todo(|_| String::new())).unwrap();
    let mut beside = serde_json::Map::new();
    for task in answer["tasks"].as_array_mut().unwrap() {
        let on = task.as_object_mut().unwrap().remove("dependencies").unwrap();
        beside.insert(task["id"].as_str().unwrap().to_owned(), on);
    }
    beside.insert("polish".to_owned(), json!(["testing"]));
    answer["dependencies"] = beside.into();
    let answer = answer.to_string();
    let world = world(&[("analysis", SIX), ("plan", &answer), ("repair", &answer)]);
    let ended = plan(&world, &["a todo app", "--budget", "3"]).expect(0);
    ended.says("there is use for 2 at once").says("as it is of no task: polish: [\"testing\"]");
    let expected = json!({
        "api": ["database"], "ui": ["frontend"], "integration": ["api", "ui"], "testing": ["integration"],
    });
    assert_eq!(execution_plan(&world)["dependencies"], expected);
    conductor(&world, &["validate", "tasks.yaml"]).expect(0).says("6 tasks in 4 batches");
    conductor(&world, &["validate", "execution_plan.json"]).expect(0).says("6 tasks in 4 batches");
}

#[test]
fn json_tells_all_of_it() {
    let world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    let ended = plan(&world, &["a todo app", "--json", "-o", "plans/todo.yaml"]).expect(0);
    let told = ended.json();
    assert_eq!(told["schema"], "conductor.plan/1");
    assert_eq!(
        (told["plan"]["num_tasks"].clone(), told["analysis"]["size"].clone()),
        (json!(6), json!("moderate"))
    );
    assert_eq!((told["usage"]["tokens"].clone(), told["found"].clone()), (json!(2200), json!([])));
    assert!(
        world.path("repo/plans/todo.yaml").exists() && world.path("repo/plans/execution_plan.json").exists()
    );
    assert_eq!(ended.stderr, "");
}

#[test]
fn prose_twice_is_refused_with_the_reason_and_the_answers() {
    let prose = "I would start with the database, then build the API.";
    let world = world(&[("analysis", prose), ("plan", prose), ("repair", prose)]);
    let ended = plan(&world, &["build it"]).expect(3).says("there is no JSON object in the answer");
    expect_nothing_but_answers(&world, &ended);
    assert_eq!(world.read("asked").lines().count(), 3, "asked once more, and not again");
    let folder = std::fs::read_dir(world.home().join("plans")).unwrap().next().unwrap().unwrap().path();
    for name in ["analysis.txt", "plan.txt", "repair.txt"] {
        assert_eq!(std::fs::read_to_string(folder.join(name)).unwrap(), prose);
    }
}

#[test]
fn broken_json_is_repaired_by_the_planner_that_wrote_it() {
    let broken = r#"{"tasks": [{"id": "a", "description": "Do it",}]}"#;
    let good = r#"{"tasks": [{"id": "a", "description": "Do it"}]}"#;
    let world = world(&[("analysis", r#"{"num_tasks": 1}"#), ("plan", broken), ("repair", good)]);
    plan(&world, &["build it"]).expect(0).says("asked once more").says("1 task");
    let asked = world.read("asked");
    assert!(asked.lines().nth(2).unwrap().contains("is broken: trailing comma"), "{asked}");
}

#[test]
fn no_tasks_and_too_many_are_refused() {
    let none = r#"{"tasks": []}"#;
    let many: Vec<Value> =
        (0..500).map(|n| json!({ "id": format!("t{n}"), "description": "Do it" })).collect();
    let many = json!({ "tasks": many }).to_string();
    for (answer, why) in [(none, "has no tasks"), (&many, "500 tasks, and 100 are the most")] {
        let world = world(&[("analysis", r#"{"num_tasks": 1}"#), ("plan", answer), ("repair", answer)]);
        let ended = plan(&world, &["build it"]).expect(3).says(why);
        expect_nothing_but_answers(&world, &ended);
    }
}

#[test]
fn what_is_still_wrong_after_the_repair_is_mended_and_told() {
    let bad = json!({ "tasks": [
        { "id": "../a", "description": "Do a", "dependencies": ["b"], "files": ["/etc/passwd", "x.txt"] },
        { "id": "b", "description": "Do b", "dependencies": ["../a", "ghost"] },
        { "id": "c", "description": "Do c", "files": ["x.txt"], "verify": ["sudo rm x"] },
    ]})
    .to_string();
    let world = world(&[("analysis", r#"{"num_tasks": 4}"#), ("plan", &bad), ("repair", &bad)]);
    let ended = plan(&world, &["build it"]).expect(0);
    for told in [
        "task '../a' is now called 'a'",
        "the file '/etc/passwd' of task 'a' is dropped: it is absolute",
        "task 'b' no longer depends on 'ghost'",
        "task 'b' no longer depends on task 'a': the two waited for each other in a circle",
        "task 'c' now waits for task 'a': both touch the same files",
        "the check `sudo rm x` of task 'c' is dropped",
        "the analysis spoke of 4 tasks, the plan has 3",
    ] {
        assert!(ended.stderr.contains(told), "{told}\n{}", ended.stderr);
    }
    conductor(&world, &["validate", "tasks.yaml"]).expect(0);
    assert_eq!(execution_plan(&world)["dependencies"], json!({ "a": ["b"], "c": ["a"] }));
    let asked = world.read("asked");
    assert!(
        asked.lines().nth(2).unwrap().contains("wait for each other in a circle: ../a → b → ../a"),
        "{asked}"
    );
}

#[test]
fn a_first_plan_that_can_be_mended_is_better_than_a_second_that_cannot() {
    let bad = r#"{"tasks": [{"id": "a", "description": "Do it", "dependencies": ["ghost"]}]}"#;
    let analysis = ("analysis", r#"{"num_tasks": 1}"#);
    let world = world(&[analysis, ("plan", bad), ("repair", "There is nothing wrong with it.")]);
    let ended = plan(&world, &["build it"]).expect(0).says("the first plan is used").says("'ghost'");
    assert!(ended.stdout.contains("1 task, simple"), "{}", ended.stdout);
}

#[test]
fn a_planner_that_hangs_is_stopped_in_time_and_leaves_no_process() {
    let world = questions::world(
        "tasks: [{ id: other, run: 'true' }]",
        &[(
            "planner",
            "read -r task\necho $$ > HERE/pid\necho '{\"type\":\"text\",\"text\":\"thinking\"}'\nsleep 600 & wait",
        )],
    );
    let ended = plan(&world, &["build it", "--timeout", "1s"]).expect(1).says("did not answer within 1s");
    expect_nothing_but_answers(&world, &ended);
    let id = std::fs::read_dir(world.home().join("plans")).unwrap().next().unwrap().unwrap().file_name();
    assert_eq!(leftovers(id.to_str().unwrap()), []);
}

#[test]
fn one_that_is_interrupted_stops_and_says_so() {
    let world = questions::world(
        "tasks: [{ id: other, run: 'true' }]",
        &[("planner", "read -r task\necho $$ > HERE/pid\nsleep 600 & wait")],
    );
    let live = world.spawn(&mut command(&world, &["plan", "--agent", "planner", "build it"]));
    wait_for("the planner", || (!world.read("pid").is_empty()).then_some(()));
    live.signal(rustix::process::Signal::INT);
    live.ended().expect(130).says("planning was stopped; nothing was written");
}

/// A planner that outlives a killed coordinator would go on spending, and its cost would be recorded nowhere.
#[test]
fn a_planner_does_not_outlive_a_killed_conductor() {
    let mut world = questions::world(
        "tasks: [{ id: other, run: 'true' }]",
        &[("planner", "trap '' TERM\nread -r task\necho $$ > HERE/pid\nwhile :; do sleep 1; done")],
    );
    world.set("CONDUCTOR_ORPHAN_GRACE", "1s");
    let live = world.spawn(&mut command(&world, &["plan", "--agent", "planner", "build it"]));
    let pid: u32 = wait_for("the planner", || world.read("pid").trim().parse().ok());
    live.signal(rustix::process::Signal::KILL);
    wait_for("the planner's end", || (!is_alive(pid)).then_some(()));
}

#[test]
fn one_that_costs_too_much_is_stopped_while_it_works() {
    let script = r#"
read -r task
echo '{"type":"usage","model":"claude-opus-5-5","input":1000000,"output":10,"turns":1}'
sleep 600 & wait
"#;
    let world = questions::world("tasks: [{ id: other, run: 'true' }]", &[("planner", script)]);
    let ended = plan(&world, &["build it", "--max-cost", "0.50"]).expect(6).says("cost more than $0.5000");
    expect_nothing_but_answers(&world, &ended.says("1000010 tokens, $4.0"));
}

#[test]
fn one_that_is_not_there_or_fails_is_told() {
    let mut world = world(&[]);
    conductor(&world, &["plan", "--agent", "absent", "build it"])
        .expect(7)
        .says("there is no agent 'absent'");
    let line = json!({ "type": "result", "ok": false, "class": "unauthorized", "text": "log in first" });
    std::fs::write(world.path("analysis.line"), format!("{line}\n")).unwrap();
    let ended = plan(&world, &["build it"]).expect(7).says("log in first");
    expect_nothing_but_answers(&world, &ended);
    let bin = format!("{}:/usr/bin:/bin", world.root().join("user").display());
    world.set("PATH", bin);
    conductor(&world, &["plan", "build it"]).expect(7).says("claude is not installed").says("agents list");
}

#[test]
fn requirements_that_cannot_be_planned_are_refused_before_an_agent_is_asked() {
    let world = world(&[("analysis", SIX)]);
    world.write("repo/empty.md", " \n\n");
    world.write("repo/long.md", &"long ".repeat(1 << 18));
    std::fs::write(world.path("repo/latin.md"), b"caf\xe9").unwrap();
    for (args, why) in [
        (&[][..], "nothing to plan"),
        (&["  "], "not a word of what is to be done"),
        (&["-f", "empty.md"], "empty.md: there is not a word"),
        (&["-f", "long.md"], "long.md: more than 256 KiB"),
        (&["-f", "missing.md"], "cannot read missing.md"),
        (&["-f", "latin.md"], "is not UTF-8"),
        (&["--from-issues", "empty.md"], "there is no issue in it"),
        (&["--interactive", "build it"], "needs a terminal"),
        (&["--refine", "smaller"], "--plan"),
    ] {
        plan(&world, args).expect(2).says(why);
    }
    let mut typed = command(&world, &["plan", "--agent", "planner", "-"]);
    typed.stdin(std::fs::File::open(world.path("repo/long.md")).unwrap());
    world.spawn(&mut typed).ended().expect(2).says("standard input: more than 256 KiB");
    assert_eq!(world.read("asked"), "");
}

#[test]
fn files_that_are_there_stay_unless_that_is_forced() {
    let one = r#"{"tasks": [{"id": "a", "description": "Do it"}]}"#;
    let world = world(&[("analysis", r#"{"num_tasks": 1}"#), ("plan", one)]);
    world.write("repo/tasks.yaml", "mine");
    plan(&world, &["build it"]).expect(2).says("tasks.yaml is there already");
    assert_eq!((file(&world, "tasks.yaml"), world.read("asked")), ("mine".into(), String::new()));
    plan(&world, &["build it", "--force"]).expect(0);
    assert!(file(&world, "tasks.yaml").contains("Do it"));
}

#[test]
fn every_issue_needs_a_task() {
    let one = r#"{"tasks": [{"id": "a", "description": "Do it"}]}"#;
    let two = r#"{"tasks": [{"id": "a", "description": "Do it"}, {"id": "b", "description": "And that"}]}"#;
    let world = world(&[("analysis", r#"{"num_tasks": 2}"#), ("plan", one), ("repair", two)]);
    world.write("repo/issues.md", "# Open\n\n- [ ] login fails\n  on Tuesdays\n- [ ] logout too\n");
    plan(&world, &["--from-issues", "issues.md"]).expect(0).says("2 tasks");
    let asked = world.read("asked");
    assert!(asked.contains("- login fails\\n  on Tuesdays\\n- logout too"), "{asked}");
    assert!(asked.lines().nth(2).unwrap().contains("the plan has 1 task for 2 issues"), "{asked}");
    answer(&world, "repair", one);
    plan(&world, &["--from-issues", "issues.md", "--force"]).expect(3).says("1 task for 2 issues");
}

#[test]
fn a_plan_is_refined_and_the_changes_are_told() {
    let first = r#"{"tasks": [{"id": "a", "description": "Do a"}, {"id": "b", "description": "Do b", "dependencies": ["a"]},
        {"id": "c", "description": "Do c"}]}"#;
    let second = r#"{"tasks": [{"id": "a", "description": "Do a"}, {"id": "b", "description": "Do b twice"},
        {"id": "d", "description": "Do d"}]}"#;
    let world = world(&[("analysis", r#"{"num_tasks": 3}"#), ("plan", first)]);
    plan(&world, &["build it"]).expect(0);
    answer(&world, "plan", second);
    let refine = ["--refine", "b twice, and d for c", "--plan", "tasks.yaml"];
    conductor(&world, &[&["plan"], &refine[..]].concat()).expect(2).says("tasks.yaml is there already");
    let ended = plan(&world, &[&refine[..], &["--force"]].concat()).expect(0);
    let ended =
        ended.says("added: d").says("removed: c").says("changed: b (name, description, dependencies)");
    drop(ended);
    let asked = world.read("asked");
    assert!(asked.lines().nth(2).unwrap().contains("There is a plan already"), "{asked}");
    let text = file(&world, "tasks.yaml");
    assert!(
        text.contains("agent: planner") && text.contains("Do b twice") && !text.contains("Do c"),
        "{text}"
    );
    world.write("repo/tasks.yaml", "tasks: [{ id: a, run: make }]");
    plan(&world, &[&refine[..], &["--force"]].concat()).expect(2).says("says more than a planner can");
    assert!(file(&world, "tasks.yaml").contains("run: make"), "it stays as it is");
}

/// What a person says in the terminal: one task is dropped with what needs it, a mistake in the editor is shown and put
/// right, and only then is anything written.
#[test]
fn a_person_drops_edits_and_approves() {
    let mut world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    let editor = world.path("editor");
    let here = world.path("").display().to_string();
    let script = format!(
        "#!/bin/sh\nif [ -e {here}/edited ]; then sed -i 's/dependencies: \\[missing\\]/priority: low/' \"$1\"; \
         else touch {here}/edited; sed -i '0,/priority: high/s//dependencies: [missing]/' \"$1\"; fi\n"
    );
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    world.set("EDITOR", editor);
    world.set("VISUAL", "");
    let repo = world.path("repo").display().to_string();
    let args = "plan --agent planner --interactive 'build a todo app'";
    let Some(terminal) = Terminal::open_in(&mut world, &repo, (110, 40), args) else { return };
    terminal.wait_for(&["[a]pprove", "testing"]);
    terminal.press(&["d ghost", "Enter"]);
    terminal.wait_for(&["there is no task 'ghost'"]);
    terminal.press(&["d integration", "Enter"]);
    terminal.wait_for(&["dropped integration, and what depends on it: testing"]);
    terminal.press(&["e", "Enter"]);
    terminal.wait_for(&["missing", "Edit it again? [Y/n]"]);
    terminal.press(&["y", "Enter"]);
    terminal.wait_for(&["database", "low"]);
    terminal.press(&["a", "Enter"]);
    terminal.ended(0);
    drop(terminal);
    let plan = execution_plan(&world);
    assert_eq!((plan["num_tasks"].clone(), plan["tasks"][0]["priority"].clone()), (json!(4), json!(3)));
}

#[test]
fn a_plan_that_is_not_approved_is_written_nowhere() {
    let mut world = world(&[("analysis", SIX), ("plan", &todo(|_| String::new()))]);
    let repo = world.path("repo").display().to_string();
    let args = "orchestrate --agent planner --interactive 'build a todo app'";
    let Some(terminal) = Terminal::open_in(&mut world, &repo, (110, 40), args) else { return };
    terminal.wait_for(&["[a]pprove", "testing"]);
    terminal.press(&["q", "Enter"]);
    assert!(terminal.ended(4).contains("the plan was not approved"));
    drop(terminal);
    assert!(world.runs().is_empty() && !world.path("repo/tasks.yaml").exists());
}
