//! Pull requests of runs and of tasks, against a stand-in for a forge: by its API, and through a `gh` that passes the same
//! requests on.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::forge::Forge;
use super::{ROUTINE, branches, world};
use crate::harness::World;
use crate::repository::{conductor, git};

fn with_forge(world: &mut World, forge: &Forge) {
    world.set("GITHUB_API_URL", &forge.url);
    world.set("GH_TOKEN", "forge-token");
    world.set("CONDUCTOR_FORGE_POLL", "20ms");
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[test]
fn a_run_has_one_pull_request_whatever_is_asked_again_and_says_how_its_checks_stand() {
    let (mut world, _) = world(
        "tasks:\n  - { id: a, run: echo 1 > a.txt }\n  - { id: b, run: echo 2 > b.txt, dependencies: [a] }\n",
    );
    let forge = Forge::new();
    with_forge(&mut world, &forge);
    conductor(&world, &["run", "../tasks.yaml", "--merge", "pr", "-r", "o/r"])
        .expect(0)
        .says("pull request https://forge.example/o/r/pull/1: its checks failed: ci");
    let pulls = forge.pulls();
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert_eq!((&pulls[0]["head"]["ref"], &pulls[0]["base"]), (&branch.clone().into(), &"main".into()));
    assert!(pulls[0]["updates"].as_u64().unwrap() >= 1, "each landing brings it up to date");
    let body = pulls[0]["body"].as_str().unwrap();
    assert!(body.contains("- a: a (") && body.contains("- b: b (") && body.contains("## Ledger"), "{body}");
    let tip = git(&world, &["rev-parse", &branch]);
    assert!(branches(&world).contains(&format!("{tip}\trefs/heads/{branch}")));
}

#[test]
fn a_cloud_task_gets_a_pull_request_of_its_own_where_it_wants_one() {
    let (mut world, _) = world(&format!(
        "config: {{ agent: cloud, {ROUTINE}, repository: o/r }}\ntasks:\n  - {{ id: a, prompt: 'do: work', pr_strategy: normal }}\n  \
         - {{ id: b, prompt: 'do: work', pr_strategy: manual }}\n"
    ));
    let forge = Forge::new();
    with_forge(&mut world, &forge);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let pulls = forge.pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert!(pulls[0]["head"]["ref"].as_str().unwrap().starts_with("claude/"));
    let body = text(&pulls[0]["body"]);
    for part in
        ["https://claude.example/code/session_", "## Ledger", "- Branch: `claude/", "- Cost so far: not told"]
    {
        assert!(body.contains(part), "{part}: {body}");
    }
}

/// Each task's own work is in its own pull request, with every agent: compared with the one that landed before it.
#[test]
fn each_task_has_a_pull_request_of_its_own_where_that_is_wanted() {
    let (mut world, _) = world(&format!(
        "tasks:\n  - {{ id: a, run: echo 1 > a.txt }}\n  \
         - {{ id: b, prompt: 'do: work', agent: cloud, {ROUTINE}, dependencies: [a] }}\n  \
         - {{ id: c, run: 'true', dependencies: [b] }}\n"
    ));
    let forge = Forge::checking(&world.path("remote.git"), "a.txt");
    with_forge(&mut world, &forge);
    conductor(&world, &["run", "../tasks.yaml", "--merge", "pr-per-task", "-r", "o/r"])
        .expect(0)
        .says("pull request of a https://forge.example/o/r/pull/1: its checks passed")
        .says("pull request of b https://forge.example/o/r/pull/2: its checks passed");
    let pulls = forge.pulls();
    let run = world.run_id();
    assert_eq!(pulls.len(), 2, "a task that changed nothing has none: {pulls:?}");
    let heads: Vec<&str> = pulls.iter().map(|pull| text(&pull["head"]["ref"])).collect();
    assert_eq!(heads, [format!("conductor-pr/{run}/a"), format!("conductor-pr/{run}/b")]);
    let bases: Vec<&str> = pulls.iter().map(|pull| text(&pull["base"])).collect();
    assert_eq!(bases, ["main", heads[0]]);
    git(&world, &["fetch", "-q", "origin"]);
    let range = format!("origin/{}..origin/{}", heads[0], heads[1]);
    assert_eq!(git(&world, &["log", "--format=", "--name-only", &range]).trim(), "b.txt");
    let body = text(&pulls[0]["body"]);
    assert!(body.contains("Task `a`") && body.contains("- b: b (") && body.contains("## Ledger"), "{body}");
}

/// The task that mends it is done by the agent whose work it was. What has landed stays, and its pull request goes on.
#[test]
fn a_failing_check_becomes_a_task_and_nothing_that_landed_is_done_again() {
    let (mut world, provider) =
        world(&format!("config: {{ agent: cloud, {ROUTINE} }}\ntasks: [{{ id: a, prompt: 'do: work' }}]\n"));
    let forge = Forge::checking(&world.path("remote.git"), "fix-checks-1.txt");
    with_forge(&mut world, &forge);
    conductor(&world, &["run", "../tasks.yaml", "--merge", "pr", "-r", "o/r"])
        .expect(0)
        .says("its checks failed: ci")
        .says("a task is added to the run that fixes the checks")
        .says("pull request https://forge.example/o/r/pull/1: its checks passed");
    let tasks: Vec<String> =
        provider.submitted().iter().map(|mark| mark.split('/').nth(1).unwrap().to_owned()).collect();
    assert_eq!(tasks, ["a", "fix-checks-1"]);
    assert_eq!(forge.pulls().len(), 1);
    assert!(world.statuses().values().all(|status| status == "completed"), "{:?}", world.statuses());
    let branch = format!("conductor/{}", world.run_id());
    assert_eq!(git(&world, &["show", &format!("{branch}:fix-checks-1.txt")]), "good");
}

#[test]
fn tasks_for_checks_are_capped_and_can_be_done_without() {
    for (fixes, submitted, words) in [("1", 2, "1 of 1 were"), ("0", 1, "0 of 0 were")] {
        let (mut world, provider) = world(&format!(
            "config: {{ agent: cloud, {ROUTINE} }}\ntasks: [{{ id: a, prompt: 'do: work' }}]\n"
        ));
        let forge = Forge::new();
        with_forge(&mut world, &forge);
        let args = ["run", "../tasks.yaml", "--merge", "pr", "-r", "o/r", "--check-fixes", fixes];
        conductor(&world, &args).expect(0).says(words);
        assert_eq!(provider.submitted().len(), submitted);
    }
}

/// `gh` is asked before the API is, with the user's own login.
#[test]
fn a_gh_that_is_signed_in_is_asked_and_one_that_is_not_is_passed_by() {
    let (mut world, _) = world("tasks: [{ id: a, run: echo 1 > a.txt }]\n");
    let forge = Forge::checking(&world.path("remote.git"), "a.txt");
    let bin = world.path("bin");
    fs::create_dir(&bin).unwrap();
    let script = format!(
        "#!/usr/bin/env python3\nimport os, sys, urllib.error, urllib.request\nargs = sys.argv[1:]\n\
         open('{0}/asked', 'a').write(' '.join(args) + '\\n')\n\
         if args[0] == 'auth':\n    sys.exit(0 if os.path.exists('{0}/signed-in') else 1)\n\
         method, path = args[args.index('--method') + 1], args[5]\n\
         body = sys.stdin.buffer.read() if '--input' in args else None\n\
         request = urllib.request.Request('{1}/' + path, body, {{'Authorization': 'Bearer forge-token'}}, method=method)\n\
         try:\n    print(urllib.request.urlopen(request).read().decode())\n\
         except urllib.error.HTTPError as error:\n    \
         print(f'gh: {{error.reason}} (HTTP {{error.code}})', file=sys.stderr)\n    sys.exit(1)\n",
        world.path("").display(),
        forge.url
    );
    fs::write(bin.join("gh"), script).unwrap();
    fs::set_permissions(bin.join("gh"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap());
    world.set("PATH", path);
    world.set("CONDUCTOR_FORGE_POLL", "20ms");
    let args = ["run", "../tasks.yaml", "--merge", "pr", "-r", "o/r"];
    // Neither a login nor a token: the work lands, and what is missing is told with its remedy.
    conductor(&world, &args).expect(0).says("no pull request is made").says("gh auth login");
    world.write("signed-in", "");
    conductor(&world, &args).expect(0).says("its checks passed");
    assert_eq!(forge.pulls().len(), 1);
    let asked = world.read("asked");
    assert!(asked.contains("api --hostname github.com --method POST repos/o/r/pulls --input -"), "{asked}");
}
