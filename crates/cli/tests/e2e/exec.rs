//! Any program as an agent, by the template of a task file.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{World, expect_no_leftovers};
use crate::repository::{conductor, on_branch, repository};

/// Does wrong work first, and corrects it in the next round. Keeps its prompts in files.
const TOOL: &str = r#"#!/bin/sh
echo "$1 $2 $4 $MY_KEY" >> HERE/calls
case $1 in
    begin) cat > HERE/told.begin; echo wrong > out.txt ;;
    again) cp "$3" HERE/told.again; echo right > out.txt ;;
esac
echo "a warning" >&2
echo "all done"
"#;

const CONFIG: &str = "
config:
  agents:
    tool:
      command: [HERE/tool, begin, '{session}', --model, '{model}', '{{}}']
      resume: [HERE/tool, again, '{session}', '{prompt_file}', 'x{{y}}']
      env_pass: [MY_KEY]
      success_text: all done
      failure_text: gave up
";

fn world(tasks: &str, tool: &str) -> World {
    let mut world = repository(&format!("{CONFIG}{tasks}"));
    let here = world.path("").display().to_string();
    world.write("tool", &tool.replace("HERE", &here));
    fs::set_permissions(world.path("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    world.set("MY_KEY", "a-key-for-the-tool");
    world
}

#[test]
fn it_is_told_works_mends_and_lands() {
    let world = world(
        "tasks: [{ id: t, prompt: 'Write the file', agent: tool, verify: [grep -q right out.txt] }]",
        TOOL,
    );
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert_eq!(on_branch(&world, "out.txt"), "right");
    assert!(world.read("told.begin").contains("Write the file"));
    let again = world.read("told.again");
    assert!(again.contains("grep -q right out.txt") && !again.contains("Write the file"), "{again}");
    let calls = world.read("calls");
    let words: Vec<Vec<&str>> = calls.lines().map(|line| line.split(' ').collect()).collect();
    assert_eq!(words[0], ["begin", words[0][1], "", "a-key-for-the-tool"]);
    assert_eq!(words[1], ["again", words[0][1], "x{y}", "a-key-for-the-tool"]);
    let said = String::from_utf8(world.transcript("t")).unwrap();
    assert!(said.contains("a warning\nall done"), "{said}");
    expect_no_leftovers(&world.run_id());
}

#[test]
fn its_own_words_can_make_it_fail() {
    let tool =
        "#!/bin/sh\ncat > /dev/null\necho x > out.txt\necho 'I gave up: too hard' >&2\necho all done\n";
    let world =
        world("tasks: [{ id: t, prompt: Do it, agent: tool, retry_policy: { max_attempts: 1 } }]", tool);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100).says("I gave up: too hard");
}

#[test]
fn one_that_is_not_there_is_told_before_anything_starts() {
    let tasks = "
config: { agents: { tool: { command: [no-such-tool-anywhere] } } }
tasks: [{ id: t, prompt: Do it, agent: tool }]
";
    let world = World::with(tasks);
    world.conductor(&["run", "tasks.yaml"]).expect(7).says("no-such-tool-anywhere is not installed");
}
