//! Agents in the cloud, against a stand-in of their provider and a bare repository as the remote: git is the truth,
//! nothing is submitted twice, and a run that was killed goes on with its sessions.

mod forge;
pub(crate) mod kills;
mod provider;
mod pull_requests;
pub(crate) mod trap;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{World, wait_for};
use crate::repository::{command, conductor, git, repository, start};
use provider::Provider;

const ROUTINE: &str = "cloud: { transport: routine, routine: trig_1, push: true }";
const MANAGED: &str = "cloud: { transport: managed, agent: agent_1, environment: env_1, push: true }";

const RUNNER: &str = "cloud: { transport: runner, environment: ccpool_1, push: true, settle: 1s }";

fn world(tasks: &str) -> (World, Provider) {
    let mut world = repository(tasks);
    git(&world, &["init", "-q", "--bare", "-b", "main", "../remote.git"]);
    git(&world, &["remote", "add", "origin", "../remote.git"]);
    git(&world, &["push", "-q", "origin", "HEAD:main"]);
    let provider = Provider::new(&world.path("remote.git"), &world.path("sessions"));
    world.set("ANTHROPIC_BASE_URL", &provider.url);
    world.set("CLAUDE_ROUTINE_TOKEN", "good-token");
    world.set("ANTHROPIC_API_KEY", "good-token");
    world.set("CONDUCTOR_CLOUD_POLL", "100ms");
    (world, provider)
}

fn branches(world: &World) -> String {
    git(world, &["ls-remote", "--heads", "origin"])
}

/// What the run has recorded, in millionths of a dollar.
fn recorded_cost(world: &World) -> u64 {
    let query = "SELECT sum(json_extract(body, '$.usage_reported.usage.cost')) FROM events";
    world.try_sql(query).ok().and_then(|sum| sum.trim().parse().ok()).unwrap_or(0)
}

fn sessions(world: &World) -> Vec<Value> {
    let text = fs::read_to_string(world.home().join("sessions.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_sessions_work_is_verified_landed_and_recorded_and_no_anchor_is_left() {
    let (world, provider) = world(&format!(
        "config: {{ agent: cloud, {ROUTINE} }}\ntasks:\n  - {{ id: a, prompt: 'do: work', verify: ['grep good a.txt'] }}\n  \
         - {{ id: b, prompt: 'do: work', dependencies: [a], verify: ['test -f a.txt', 'test -f b.txt'] }}\n"
    ));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0).says("2 tasks landed");
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:b.txt")]), "good");
    assert_eq!(provider.submitted().len(), 2);
    let left = branches(&world);
    assert!(!left.contains("heads/conductor-anchor"), "{left}");
    assert!(String::from_utf8_lossy(&world.transcript("a")).contains("pushes 0 commits"));
    assert!(String::from_utf8_lossy(&world.transcript("b")).contains("pushes "), "what is published is told");
    let lines = sessions(&world);
    let told: Vec<String> =
        lines.iter().map(|line| format!("{} {}", line["task_id"], line["status"])).collect();
    assert_eq!(
        told,
        ["\"a\" \"started\"", "\"a\" \"completed\"", "\"b\" \"started\"", "\"b\" \"completed\""]
    );
    for line in &lines {
        assert_eq!(line["url"], line["session_id"]);
        assert!(line["url"].as_str().unwrap().starts_with("https://claude.example/code/session_"), "{line}");
        assert!(line["branch_name"].is_string() && line["started_at"].is_string(), "{line}");
        assert_eq!(line["cost_usd"], Value::Null, "what is not known is not told");
    }
}

#[test]
fn a_lie_and_a_branch_of_the_right_name_that_does_not_descend_are_not_done() {
    let (world, provider) = world(&format!(
        "config: {{ agent: cloud, {MANAGED}, retry_policy: {{ max_attempts: 1 }} }}\ntasks:\n  \
         - {{ id: lie, prompt: 'do: lie' }}\n  - {{ id: stray, prompt: 'do: stray' }}\n  - {{ id: good, prompt: 'do: work' }}\n"
    ));
    conductor(&world, &["run", "../tasks.yaml", "-p", "3"])
        .expect(100)
        .says("the session says that it is done, and nothing that descends from its anchor was pushed");
    let statuses = world.statuses();
    let status = |task: &str| statuses[task].as_str();
    assert_eq!((status("lie"), status("stray"), status("good")), ("failed", "failed", "completed"));
    assert_eq!(provider.submitted().len(), 3);
    let left = branches(&world);
    assert!(left.contains("refs/heads/claude/") && !left.contains("heads/conductor-anchor"), "{left}");
    let ends: Vec<Value> =
        sessions(&world).into_iter().filter(|line| line["status"] == "completed").collect();
    assert_eq!((&ends[0]["task_id"], &ends[0]["cost_usd"]), (&"good".into(), &0.25.into()));
}

#[test]
fn a_failed_check_goes_back_to_the_same_session() {
    let (world, provider) = world(&format!(
        "config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: bad', verify: ['grep good a.txt'] }}]\n"
    ));
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert_eq!(provider.submitted().len(), 1);
    assert_eq!(recorded_cost(&world), 400_000, "each driver reads all of it, and it is billed once");
}

#[test]
fn what_a_session_cost_counts_once_however_many_drivers_it_had() {
    let (mut world, provider) =
        world(&format!("config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: wait' }}]\n"));
    world.without_grace();
    let live = start(&world, &[]);
    wait_for("its cost so far", || (recorded_cost(&world) == 250_000).then_some(()));
    live.signal(Signal::KILL);
    drop(live.ended());
    let resumed = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("another driver", || {
        let told = conductor(&world, &["logs", "a"]).stdout;
        told.contains("goes on with the session sesn_1").then_some(())
    });
    conductor(&world, &["task", "send", "a", "now do: work"]).expect(0);
    resumed.ended().expect(0);
    assert_eq!(provider.submitted().len(), 1);
    assert_eq!(recorded_cost(&world), 400_000);
}

#[test]
fn no_answer_to_a_submission_is_looked_into_and_never_submitted_twice() {
    let tasks = |settings: &str, deed: &str| {
        format!("config: {{ agent: cloud, {settings} }}\ntasks: [{{ id: a, prompt: 'do: {deed}' }}]\n")
    };
    // Its work tells of it; its provider's list does.
    for (settings, deed) in [(ROUTINE, "mute"), (MANAGED, "mute")] {
        let (world, provider) = world(&tasks(settings, deed));
        conductor(&world, &["run", "../tasks.yaml"]).expect(0);
        assert_eq!(provider.submitted().len(), 1, "{settings}");
    }
    // Nothing does: a person is asked.
    let (world, provider) = world(&tasks(ROUTINE, "mute-nothing"));
    conductor(&world, &["run", "../tasks.yaml", "--leave-unanswered"])
        .expect(5)
        .says("submit the prompt of a again");
    assert_eq!(provider.submitted().len(), 1);
    conductor(&world, &["run", "--resume", "--leave-unanswered"]).expect(5);
    assert_eq!(provider.submitted().len(), 1, "a resume is no answer");
}

#[test]
fn a_killed_run_goes_on_with_its_session() {
    let (mut world, provider) =
        world(&format!("config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: wait' }}]\n"));
    world.without_grace();
    let live = start(&world, &[]);
    wait_for("the session to be recorded", || world.logged("session_started").pop());
    live.signal(Signal::KILL);
    drop(live.ended());
    let resumed = world.spawn(&mut command(&world, &["run", "--resume"]));
    wait_for("another driver", || {
        let told = conductor(&world, &["logs", "a"]).stdout;
        told.contains("goes on with the session sesn_1").then_some(())
    });
    assert_eq!(provider.submitted().len(), 1);
    resumed.signal(Signal::KILL);
    drop(resumed.ended());
    assert!(provider.stopped().is_empty(), "a run that dies stops no session");
}

/// What comes of a session takes the place of what is in the folder: that is never the user's own.
#[test]
fn nothing_is_done_in_the_users_checkout_or_in_a_clone() {
    let (world, provider) =
        world(&format!("config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: work' }}]\n"));
    fs::write(world.path("repo/mine.txt"), "not committed").unwrap();
    for elsewhere in ["none", "clone"] {
        let args = ["run", "../tasks.yaml", "--isolation", elsewhere];
        conductor(&world, &args).expect(7).says("needs a worktree").says("nothing was started");
    }
    assert_eq!(fs::read_to_string(world.path("repo/mine.txt")).unwrap(), "not committed");
    assert!(provider.submitted().is_empty());
}

#[test]
fn a_session_of_a_cancelled_task_is_stopped() {
    let (world, provider) =
        world(&format!("config: {{ agent: cloud, {MANAGED} }}\ntasks: [{{ id: a, prompt: 'do: wait' }}]\n"));
    let live = start(&world, &[]);
    wait_for("the session to be recorded", || world.logged("session_started").pop());
    conductor(&world, &["cancel", "a"]).expect(0);
    drop(live.ended());
    assert_eq!(provider.stopped(), ["sesn_1"]);
    let left = branches(&world);
    assert!(!left.contains("heads/conductor-anchor"), "{left}");
}

fn tell_limits_and_bad_tokens(settings: &str, variable: &str) {
    let (mut world, provider) = world(&format!(
        "config: {{ agent: cloud, {settings}, retry_policy: {{ initial_delay: 0 }} }}\ntasks:\n  \
         - {{ id: busy, prompt: 'do: busy' }}\n  - {{ id: limited, prompt: 'do: limited' }}\n  - {{ id: down, prompt: 'do: down' }}\n"
    ));
    if settings == RUNNER {
        put_claude(&mut world, &provider);
    }
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    assert_eq!(provider.submitted().len(), 3, "{settings}");
    assert_eq!(world.logged("provider_parked").len(), 3, "{settings}");
    world.set(variable, "wrong");
    conductor(&world, &["run", "../tasks.yaml", "--only", "busy"]).expect(100).says("401");
    // With tasks left, nothing more is asked with it: the run waits for another token.
    world.set(variable, "revoked-token");
    conductor(&world, &["run", "../tasks.yaml"]).expect(7).says("403");
    if settings != RUNNER {
        world.unset(variable);
        let unset = conductor(&world, &["run", "../tasks.yaml", "--only", "busy"]);
        unset.expect(100).says(&format!("{variable} is not set"));
    }
    assert_eq!(provider.submitted().len(), 3, "{settings}");
}

#[test]
fn limits_of_the_provider_are_waited_for_and_a_bad_token_is_told() {
    tell_limits_and_bad_tokens(ROUTINE, "CLAUDE_ROUTINE_TOKEN");
}

#[test]
fn limits_of_the_managed_agents_api_are_waited_for_and_a_bad_key_is_told() {
    tell_limits_and_bad_tokens(MANAGED, "ANTHROPIC_API_KEY");
}

#[test]
fn limits_that_claude_tells_are_waited_for_and_a_bad_login_is_told() {
    tell_limits_and_bad_tokens(RUNNER, "CLAUDE_CODE_OAUTH_TOKEN");
}

#[test]
fn a_prompt_that_is_too_long_is_told_by_every_route() {
    for settings in [ROUTINE, MANAGED, RUNNER] {
        let task = |words: &str| {
            format!(
                "config: {{ agent: cloud, {settings} }}\ntasks: [{{ id: a, prompt: 'do: work {words}' }}]\n"
            )
        };
        let (mut world, provider) = world(&task(&"x".repeat(65_600)));
        put_claude(&mut world, &provider);
        conductor(&world, &["run", "../tasks.yaml"]).expect(100).says("at most 65536");
        assert!(!branches(&world).contains("anchor"), "{settings}: it was not even pushed");
        if settings == RUNNER {
            // Few enough characters, and more bytes than an argument of a program may have.
            world.write("tasks.yaml", &task(&"ü".repeat(62_000)));
            conductor(&world, &["run", "../tasks.yaml"]).expect(100).says("claude takes at most");
        }
        assert!(provider.submitted().is_empty(), "{settings}");
    }
}

#[test]
fn nothing_is_pushed_or_spent_without_the_users_word() {
    let of = |cloud: &str, more: &str| {
        format!("config: {{ agent: cloud, {cloud} }}\ntasks: [{{ id: a, prompt: 'do: work'{more} }}]\n")
    };
    let silent = "cloud: { transport: routine, routine: trig_1 }";
    let capped = "cloud: { transport: routine, routine: trig_1, push: true, max_sessions: 1 }";
    let (world, provider) = world(&of(silent, ""));
    let refused = |tasks: &str, args: &[&str], words: &str| {
        world.write("tasks.yaml", tasks);
        let args: Vec<&str> = ["run", "../tasks.yaml"].iter().chain(args).copied().collect();
        conductor(&world, &args).expect(7).says(words);
    };
    refused(&of(silent, ""), &[], "cloud: {push: true}");
    refused(&of(ROUTINE, ", max_cost: 1"), &[], "max_sessions");
    refused(&of(ROUTINE, ""), &["--max-cost", "1"], "max_sessions");
    refused(&of("cloud: { push: true }", ""), &[], "transport");
    assert_eq!(provider.submitted().len(), 0);
    assert!(!branches(&world).contains("anchor"));
    let long = format!(
        "config: {{ agent: cloud, {ROUTINE} }}\ntasks: [{{ id: a, prompt: 'do: work {}' }}]\n",
        "x".repeat(65_600)
    );
    world.write("tasks.yaml", &long);
    conductor(&world, &["run", "../tasks.yaml"]).expect(100).says("at most 65536");
    assert!(!branches(&world).contains("anchor"), "it was not even pushed");
    world.write("tasks.yaml", &of(capped, ", verify: ['false'], check_base: false"));
    conductor(&world, &["run", "../tasks.yaml", "--max-cost", "1"])
        .expect(100)
        .says("max_sessions 1 is reached");
    assert_eq!(provider.submitted().len(), 1);
}

/// A `claude` that starts sessions on runners: it tells the stand-in of them, as the real one tells its provider.
fn put_claude(world: &mut World, provider: &Provider) {
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" > {0}/args\npython3 - \"$2\" <<'END'\nimport json, os, sys, urllib.error, urllib.request\n\
         body = json.dumps({{'text': sys.argv[1]}}).encode()\n\
         token = os.environ.get('CLAUDE_CODE_OAUTH_TOKEN', 'good-token')\n\
         request = urllib.request.Request('{1}/v1/claude_code/routines/x/fire', body, {{'Authorization': 'Bearer ' + token}})\n\
         try:\n  answer = json.load(urllib.request.urlopen(request))\n\
         except urllib.error.HTTPError as error:\n  \
         print(json.dumps({{'is_error': True, 'api_error_status': error.code, 'result': 'API Error: %d' % error.code}}))\n  \
         sys.exit(1)\n\
         print(json.dumps({{'session_id': answer['claude_code_session_id'], 'url': answer['claude_code_session_url']}}))\nEND\n",
        world.path("").display(),
        provider.url
    );
    fs::write(bin.join("claude"), script).unwrap();
    fs::set_permissions(bin.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    world.set("PATH", path);
}

#[test]
fn runners_are_started_by_claude_itself() {
    let (mut world, provider) =
        world(&format!("config: {{ agent: cloud, {RUNNER} }}\ntasks: [{{ id: a, prompt: 'do: work' }}]\n"));
    put_claude(&mut world, &provider);
    world.spawn(&mut command(&world, &["run", "../tasks.yaml"])).ended().expect(0);
    let args = world.read("args");
    assert!(args.contains("--environment ccpool_1 --ref conductor-anchor/"), "{args}");
    assert_eq!(provider.submitted().len(), 1);
}
