//! docs/openapi.json is kept: Schemathesis makes requests of it, right and wrong ones, and holds each answer against it.

use std::path::PathBuf;

use super::client::Served;
use crate::harness::World;
use crate::repository::{command, conductor, repository};
use crate::soak;

/// What is not asked here, and why.
const LEFT_OUT: [(&str, &str); 7] = [
    ("post_agents_test", "calls a real agent"),
    ("post_projects_project_plans", "calls a real agent"),
    ("post_projects_project_orchestrations", "calls a real agent"),
    ("post_projects_project_groups_execute", "runs what it is sent as commands, and made-up text is none"),
    ("get_runs_run_events_stream", "does not end as long as a run is live"),
    ("get_runs_run_ws", "speaks WebSocket"),
    ("get_ws_project", "speaks WebSocket"),
];

/// Every answer is one that the document has, whether the request was right or wrong, with and without a credential.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_headers_conformance,response_schema_conformance,negative_data_rejection,\
                      unsupported_method,ignored_auth,missing_required_header,allow_header_conformance";

/// Requests of each operation beside those that go through every limit of its fields.
const EXAMPLES: u64 = 3;

const TASKS: &str = "
tasks:
  - { id: a, run: 'echo a > a.txt' }
  - { id: b, run: exit 1, epic: late, dependencies: [a], group: g, retry_policy: { max_attempts: 1 } }
";

/// A stale version and a body beyond every limit are refused too, with statuses of their own.
const REFUSALS: &str = "
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 409, 412, 413, 414, 415, 422, 428, 429, 431]
";

/// Where `cargo xtask test` puts it.
fn schemathesis() -> PathBuf {
    let pinned = include_str!("schemathesis.txt").trim().replace("==", "-");
    let place = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(pinned);
    let program = place.join("bin/schemathesis");
    assert!(program.is_file(), "{} is missing; `cargo xtask test` gets it from PyPI", program.display());
    program
}

fn world() -> (World, String) {
    let world = repository(TASKS);
    let project = ["project", "add", "--id", "web", "--file", "../tasks.yaml"];
    world.spawn(&mut command(&world, &project)).ended().expect(0);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100);
    let run = world.run_id();
    (world, run)
}

/// Asks what these words choose. What the names of its paths stand for is in `names`.
#[track_caller]
fn expect_kept(world: &World, names: &str, words: &[&str]) {
    let served = Served::start(world);
    world.write("schemathesis.toml", &format!("{names}\n{REFUSALS}"));
    let (examples, usual) = (soak::amount("CONDUCTOR_API_EXAMPLES", EXAMPLES), EXAMPLES);
    // The same requests each time, unless others are looked for.
    let seed = if examples == usual { 1 } else { soak::seeded().u32(..) };
    let mut command = world.command_of(schemathesis().to_str().unwrap());
    command.args(["--config-file", "schemathesis.toml", "run"]);
    command.arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json"));
    command.args(["--url", &format!("http://localhost:{}", served.address.port())]);
    command.args(["-H", &format!("Authorization: Bearer {}", served.owner())]);
    command.args(["--phases", "coverage,fuzzing", "--max-examples", &examples.to_string()]);
    command.args(["--seed", &seed.to_string(), "--checks", CHECKS, "--continue-on-failure", "--no-color"]);
    command.args(["--warnings", "off", "--workers", "2"]).args(words);
    for (operation, _) in LEFT_OUT {
        command.args(["--exclude-operation-id", operation]);
    }
    let said = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success(), "{}", shortened(&text));
    let tested =
        text.lines().find_map(|line| line.trim().strip_prefix("Tested:")?.trim().parse::<u32>().ok());
    assert!(tested.is_some_and(|tested| tested > 0), "nothing was asked:\n{text}");
    assert_eq!(served.stop().code, Some(0), "it is still in good order");
}

/// Bodies at the limit of what is allowed are long.
fn shortened(text: &str) -> String {
    text.lines().map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
}

fn real_names(run: &str) -> String {
    format!(
        "[parameters]\n\"path.project\" = \"web\"\n\"path.run\" = \"{run}\"\n\"path.task\" = \"a\"\n\
         \"path.epic\" = \"late\"\n\"path.number\" = \"1\"\n\"path.group\" = \"g\"\n"
    )
}

#[test]
fn what_is_said_of_projects_is_kept_slowly() {
    let (world, run) = world();
    let rest =
        ["--include-path-regex", "^/api/projects", "--exclude-operation-id", "delete_projects_project"];
    expect_kept(&world, &real_names(&run), &rest);
}

#[test]
fn what_is_said_of_runs_is_kept_slowly() {
    let (world, run) = world();
    expect_kept(&world, &real_names(&run), &["--include-path-regex", "^/api/runs/\\{run\\}"]);
}

#[test]
fn what_is_said_of_the_rest_is_kept_slowly() {
    let (world, _) = world();
    expect_kept(&world, "", &["--exclude-path-regex", "^/api/projects/\\{project\\}/|^/api/runs/\\{run\\}"]);
}

/// Nothing has the names that are made up.
#[test]
fn what_is_said_of_things_that_are_not_there_is_kept_slowly() {
    let (world, _) = world();
    let words = ["--include-path-regex", "\\{(project|run)\\}", "--phases", "fuzzing"];
    expect_kept(&world, "", &words);
}

#[test]
fn what_is_left_out_is_in_the_document() {
    let document: serde_json::Value = serde_json::from_str(conductor_server::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|methods| methods.as_object().unwrap().values());
    let names: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    for (operation, why) in LEFT_OUT {
        assert!(names.contains(&operation), "there is no {operation} any more, which {why}");
    }
}
