//! What stops agents and what lets them go on: caps that are raised, checks that cannot pass, keys that are refused.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::harness::{World, wait_for};
use crate::repository::{conductor, repository};

/// Puts an agent `saver` on the PATH that notes every engagement in `talks`, by its conversation, and then does this.
fn with_saver(mut world: World, script: &str) -> World {
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    let talks = world.path("talks").display().to_string();
    let text = format!(
        "#!/bin/sh\nread -r task\n\
         printf '%s\\n' \"$task\" | sed 's/.*\"session\":{{\"id\":\"\\([^\"]*\\)\".*/\\1/' >> {talks}\n{script}\n"
    );
    let program = bin.join("conductor-agent-saver");
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::split_paths(&world.variable("PATH")).collect::<Vec<_>>();
    world.set("PATH", std::env::join_paths(std::iter::once(bin).chain(path)).unwrap());
    world
}

/// Spends $0.004 and waits until it is stopped; in the same conversation once more, it does its work.
const SPENDS: &str = r#"
echo '{"type":"usage","model":"claude-opus-5-5","input":1000,"output":0,"turns":1}'
case "$task" in
  *'"begun":true'*) echo work > "$CONDUCTOR_TASK.txt"; echo '{"type":"result","ok":true,"text":"done"}' ;;
  *) read -r interrupted; exit 1 ;;
esac
"#;

fn talks(world: &World) -> Vec<String> {
    world.read("talks").lines().map(str::to_owned).collect()
}

#[track_caller]
fn went_on(world: &World) {
    let talks = talks(world);
    assert!(talks.len() == 2 && talks[0] == talks[1], "the same conversation goes on: {talks:?}");
    assert_eq!(world.read("a.txt"), "work\n");
}

#[test]
fn a_cap_on_all_tokens_is_raised_by_flag_or_file_and_the_conversation_goes_on() {
    let tasks = |most: u32| {
        format!("limits: {{ max_tokens: {most} }}\ntasks: [{{ id: a, prompt: Do it, agent: saver }}]\n")
    };
    for by_flag in [true, false] {
        let world = with_saver(World::in_place(&tasks(500)), SPENDS);
        world.conductor(&["run", "tasks.yaml"]).expect(6);
        world.conductor(&["run", "--resume"]).expect(6);
        assert_eq!(talks(&world).len(), 1, "nothing is asked while the cap is reached");
        let run = world.run_id();
        let mut args = vec!["run", "--resume", &run];
        match by_flag {
            true => args.extend(["--max-tokens", "50000"]),
            false => world.write("tasks.yaml", &tasks(50_000)),
        }
        world.conductor(&args).expect(0);
        went_on(&world);
    }
}

#[test]
fn a_tasks_cap_on_money_is_raised_in_the_file_and_the_conversation_goes_on() {
    let tasks = |most: &str| format!("tasks: [{{ id: a, prompt: Do it, agent: saver, max_cost: {most} }}]\n");
    let world = with_saver(World::in_place(&tasks("0.003")), SPENDS);
    world.conductor(&["run", "tasks.yaml"]).expect(100).says("reached max_cost");
    world.write("tasks.yaml", &tasks("1"));
    world.conductor(&["run", "--retry-failed"]).expect(0);
    went_on(&world);
}

const WORKS: &str = "echo $$ > made.txt; echo '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'";

#[test]
fn a_check_that_cannot_start_stops_the_run_before_an_agent_is_asked() {
    let tasks =
        "tasks: [{ id: a, prompt: Do it, agent: saver, verify: ['no-such-program-anywhere --check'] }]\n";
    let world = with_saver(repository(tasks), WORKS);
    let ended = conductor(&world, &["run", "../tasks.yaml"]);
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    ended.says("no-such-program-anywhere");
    assert_eq!(talks(&world), [""; 0], "nothing was spent");
}

#[test]
fn a_check_that_fails_as_on_the_untouched_base_gets_one_round_and_no_further_attempt() {
    let tasks = "
tasks:
  - id: a
    prompt: Do it
    agent: saver
    verify: ['echo broken; exit 3']
    fix_rounds: 5
    retry_policy: { max_attempts: 3, initial_delay: 0 }
";
    let world = with_saver(repository(tasks), WORKS);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100).says("as on the untouched base");
    assert_eq!(talks(&world).len(), 2, "the work, and one round");
    assert_eq!(world.summary()["results"][0]["error"]["class"], "fails_on_base");
}

#[test]
fn a_key_that_is_refused_stops_all_that_use_it_at_once_with_one_message() {
    let tasks: String =
        (0..6).map(|n| format!("  - {{ id: t{n}, prompt: Do it, agent: saver }}\n")).collect();
    let refused = "echo '{\"type\":\"result\",\"ok\":false,\"class\":\"unauthorized\",\"text\":\"no key\"}'";
    let world = with_saver(World::in_place(&format!("tasks:\n{tasks}")), refused);
    let ended = world.conductor(&["run", "tasks.yaml", "-p", "3"]);
    assert_ne!(ended.code, Some(0), "{}", ended.stdout);
    let asked = talks(&world).len();
    assert!((1..=3).contains(&asked), "those at work, and no further one: {asked}");
}

/// A time in milliseconds is read as what it means; one that is too far away is told and not waited for.
#[test]
fn a_provider_that_counts_in_milliseconds_parks_until_the_time_it_means() {
    const HOUR: i64 = 3_600_000;
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    };
    for (ahead, waited, words) in [
        (HOUR, HOUR, "takes nothing more until"),
        (30 * 24 * HOUR, 7 * 24 * HOUR, "wants to be asked again in"),
    ] {
        let line = format!(
            r#"{{"type":"result","ok":false,"class":"usage_limit","resets_at":{},"text":"no more"}}"#,
            now() + ahead
        );
        let tasks = "tasks: [{ id: a, prompt: Do it, agent: saver }]\n";
        let world = with_saver(World::in_place(tasks), &format!("echo '{line}'"));
        let live = world.start(&["run", "tasks.yaml"]);
        live.wait_for_stderr(words);
        let until = "SELECT json_extract(body, '$.provider_parked.until') AS until FROM events WHERE until IS NOT NULL";
        let until: i64 = wait_for("the event", || world.sql(until).trim().parse().ok());
        let minutes = (until - now()) / 60_000;
        let expected = waited / 60_000;
        assert!((expected - 3..=expected).contains(&minutes), "{minutes} minutes, not {expected}");
        world.conductor(&["cancel", "--all"]).expect(0);
        live.ended().expect(9);
    }
}
