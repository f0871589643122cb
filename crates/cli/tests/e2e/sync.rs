//! Two machines and a remote: what is pushed arrives as it was, sealed and without secrets, and a run that one machine had
//! to leave is finished on the other.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::harness::{Ended, World};
use crate::repository::{command, conductor, git, repository};

pub(crate) const TASKS: &str = "
tasks:
  - { id: one, run: 'echo 1 > one.txt' }
  - { id: two, run: 'AGENT await HERE/go; echo 2 > two.txt', dependencies: [one] }
  - { id: three, run: 'echo 3 > three.txt', dependencies: [two] }
";
pub(crate) const QUICK: &str = "tasks: [{ id: a, run: 'echo said; echo x > a.txt' }]";

/// Two homes, each with a clone of one repository.
pub(crate) struct Machines {
    pub(crate) a: World,
    pub(crate) b: World,
}

impl Machines {
    pub(crate) fn with(tasks: &str) -> Machines {
        let (a, mut b) = (repository(tasks), World::new());
        let code = a.root().join("code.git").display().to_string();
        git(&a, &["init", "-q", "--bare", "-b", "main", &code]);
        git(&a, &["remote", "add", "origin", &code]);
        git(&a, &["push", "-q", "origin", "main"]);
        fs::create_dir(b.path("repo")).unwrap();
        git(&b, &["clone", "-q", &code, "."]);
        b.set("MACHINE", "b");
        Machines { a, b }
    }

    /// A bare repository without code.
    pub(crate) fn remote(&self) -> String {
        let remote = self.a.root().join("runs.git").display().to_string();
        git(&self.a, &["init", "-q", "--bare", &remote]);
        remote
    }

    /// Both can read what either pushes to this remote.
    pub(crate) fn share(&self, remote: &str) {
        let keys = [&self.a, &self.b]
            .map(|world| conductor(world, &["sync", "key"]).expect(0).stdout.trim().to_owned());
        for world in [&self.a, &self.b] {
            let text = format!("sync: {{ remote: '{remote}', recipients: [{}] }}\n", keys.join(", "));
            fs::write(world.home().join("config.yaml"), text).unwrap();
        }
    }
}

/// A run that was killed in the middle of `two`.
pub(crate) fn killed(world: &World) -> String {
    let mut live = world.spawn(&mut command(world, &["run", "../tasks.yaml"]));
    live.wait_for_stderr("start   two");
    live.child.kill().unwrap();
    live.child.wait().unwrap();
    world.run_id()
}

pub(crate) fn events(world: &World, run: &str) -> Vec<Value> {
    conductor(world, &["events", run]).expect(0).json_lines()
}

fn refs(remote: &str) -> String {
    let listed = Command::new("git").args(["-C", remote, "for-each-ref"]).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

/// Everything that can be read in the objects of a remote.
pub(crate) fn contents(remote: &str) -> Vec<u8> {
    let all = ["-C", remote, "cat-file", "--batch", "--batch-all-objects"];
    Command::new("git").args(all).output().unwrap().stdout
}

fn says(haystack: &[u8], needle: &str) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle.as_bytes())
}

/// A folder with all that is below it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] })
        .collect()
}

#[test]
fn a_run_killed_on_one_machine_is_finished_on_the_other() {
    let machines = Machines::with(TASKS);
    let Machines { a, b } = &machines;
    let remote = machines.remote();
    machines.share(&remote);
    let run = killed(a);
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run");
    assert!(!says(&contents(&remote), "two.txt"), "nothing of the plan can be read there");

    conductor(b, &["sync", "pull"]).expect(2).says("add --yes");
    conductor(b, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    assert_eq!(events(b, &run), events(a, &run), "the same events");
    conductor(b, &["status"]).expect(0).says("1 of 3 done");
    conductor(b, &["run", "--resume"]).expect(2).says("resumed only by its name");

    // Its code is not here yet, and nothing is claimed before it is.
    let refused = conductor(b, &["run", "--resume", &run]).expect(3).says("is not in the repository");
    conductor(a, &["sync", "status"]).expect(0).says("the same  -");
    assert!(
        refused.stderr.contains(&format!("git fetch REMOTE 'refs/heads/conductor/{run}:")),
        "{}",
        refused.stderr
    );
    let branch = format!("refs/heads/conductor/{run}:refs/heads/conductor/{run}");
    git(a, &["push", "-q", "origin", &branch]);
    git(b, &["fetch", "-q", "origin", &branch]);
    a.write("go", "");
    conductor(b, &["run", "--resume", &run])
        .expect(0)
        .says("claimed by this machine")
        .says("3 of 3 completed");
    let landed = git(b, &["ls-tree", "--name-only", &format!("conductor/{run}")]);
    assert_eq!(landed, "f.txt\none.txt\nthree.txt\ntwo.txt");

    // The old machine has lost it, and learns from whom it is to be had.
    conductor(a, &["run", "--resume", &run])
        .expect(1)
        .says("is claimed by")
        .says(&format!("conductor sync release {run}"));
    let claimed = conductor(a, &["sync", "status", "--json"]).expect(0).json();
    assert_eq!(claimed["runs"][0]["claimed_here"], false);
    conductor(b, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run");
    conductor(a, &["run", "--resume", &run])
        .expect(1)
        .says("has gone on elsewhere")
        .says(&format!("sync pull {run}"));
    conductor(a, &["sync", "push"]).expect(0).says("has gone on elsewhere");
    conductor(a, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    assert_eq!(events(a, &run), events(b, &run), "the round trip ends where it began");
    conductor(a, &["run", "--resume", &run]).expect(4);
    conductor(a, &["sync", "push"]).expect(0).says("everything is at the remote already");
}

#[test]
fn an_active_run_can_be_looked_at_elsewhere_and_stays_its_machines() {
    let machines = Machines::with(TASKS);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    let live = a.spawn(&mut command(a, &["run", "../tasks.yaml"]));
    live.wait_for_stderr("start   two");
    let run = a.run_id();
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run");
    conductor(a, &["sync", "release", &run]).expect(8);
    conductor(b, &["sync", "pull", "--yes"]).expect(0).says("pulled 1 run");
    conductor(b, &["run", "--resume", &run]).expect(1).says("is claimed by").says("--force");
    a.write("go", "");
    live.ended().expect(0);
    conductor(a, &["sync", "push"]).expect(0).says("pushed 1 run");
    conductor(b, &["sync", "pull"]).expect(0).says("pulled 1 run");
    assert_eq!(events(b, &run), events(a, &run));
    conductor(b, &["sync", "status"]).expect(0).says("the same  -");
    conductor(b, &["run", "--resume", &run]).expect(4);
}

#[test]
fn a_task_whose_secret_stayed_behind_is_not_done_elsewhere() {
    let token = crate::canaries::canary(0);
    let machines = Machines::with(&TASKS.replace("go;", "go; API_KEY=TOKEN;").replace("TOKEN", &token));
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    let run = killed(a);
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("secrets removed");
    conductor(b, &["sync", "pull", "--yes"]).expect(0);
    let refused = conductor(b, &["run", "--resume", &run]).expect(1);
    refused.says("task 'two' has a secret in its text or env").says("env_pass");
    a.write("go", "");
}

#[test]
fn what_is_sent_is_shown_first_and_what_is_there_is_not_sent_again() {
    let machines = Machines::with(QUICK);
    let (a, remote) = (&machines.a, machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let to = |more: &[&str]| conductor(a, &[&["sync", "push", "--to", &remote], more].concat());
    conductor(a, &["sync", "push"]).expect(2).says("nothing says where runs are pushed to");
    to(&[]).expect(7).says("conductor sync key");
    conductor(a, &["sync", "key"]).expect(0).says("age1");
    to(&["--dry-run"]).expect(0).says("encrypted for age1").says(&a.run_id());
    to(&[]).expect(2).says("add --yes");
    assert_eq!(refs(&remote), "", "nothing was sent");
    to(&["--yes"]).expect(0).says("pushed 1 run");
    let there = refs(&remote);
    to(&[]).expect(0).says("everything is at the remote already");
    assert_eq!(refs(&remote), there);
    to(&["--plain"]).expect(2).says("PLAIN TEXT");
    assert_eq!(refs(&remote), there);
    let pushed = to(&["--plain", "--yes", "--json"]).expect(0).json();
    assert_eq!(
        (&pushed["runs"][0]["pushed"], &pushed["encrypted_for"]),
        (&true.into(), &Value::Array(vec![]))
    );
    let name = format!("refs/conductor-sync/runs/{}", a.run_id());
    let log = git(a, &["--git-dir", &remote, "show", &format!("{name}:log.jsonl")]);
    assert!(log.lines().count() > 3 && log.contains("run_finished"), "{log}");
    // A key that others could read is no key.
    use std::os::unix::fs::PermissionsExt as _;
    let key = a.home().join("sync.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    to(&["--yes"]).expect(7).says("chmod 600");
}

#[test]
fn pushes_of_different_runs_at_once_all_arrive_in_a_directory() {
    let machines = Machines::with(QUICK);
    let folder = machines.a.root().join("stick");
    fs::create_dir(&folder).unwrap();
    let folder = folder.display().to_string();
    machines.b.write("tasks.yaml", QUICK);
    for world in [&machines.a, &machines.b] {
        conductor(world, &["run", "../tasks.yaml", "-q"]).expect(0);
    }
    let push = ["sync", "push", "--to", &folder, "--plain", "--transcripts", "--yes"];
    let both = [&machines.a, &machines.b].map(|world| world.spawn(&mut command(world, &push)));
    for live in both {
        live.ended().expect(0);
    }
    for (world, other) in [(&machines.a, &machines.b), (&machines.b, &machines.a)] {
        let theirs = other.runs().into_iter().find(|run| !world.runs().contains(run));
        conductor(world, &["sync", "pull", "--from", &folder, "--yes"]).expect(0);
        if let Some(run) = theirs {
            conductor(world, &["logs", "a", "--run", &run]).expect(0).says("said");
        }
    }
    assert_eq!(machines.a.runs().len(), 2);
    let again = conductor(&machines.a, &["sync", "pull", "--from", &folder]).expect(0);
    again.says("everything is here already");
}

#[test]
fn a_run_that_went_on_in_two_places_is_refused_with_both_ends() {
    let machines = Machines::with("tasks: [{ id: bad, run: 'exit 1', retry_policy: { max_attempts: 1 } }]");
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(100);
    conductor(a, &["sync", "push", "--yes", "-q"]).expect(0);
    conductor(b, &["sync", "pull", "--yes"]).expect(0);
    for world in [a, b] {
        conductor(world, &["task", "retry", "bad", "--run", &a.run_id()]).expect(0);
    }
    conductor(a, &["sync", "push"]).expect(0).says("pushed 1 run");
    let there = refs(&format!("{}/runs.git", a.root().display()));
    for verb in ["push", "pull"] {
        let refused = conductor(b, &["sync", verb]).expect(1).says("has gone on in two places since event");
        assert!(
            refused.stderr.contains("ends at event") && refused.stderr.contains("pushed by"),
            "{}",
            refused.stderr
        );
    }
    conductor(b, &["sync", "status"]).expect(0).says("parted after event");
    assert_eq!(refs(&format!("{}/runs.git", a.root().display())), there);
}

/// Puts another file in the place of one at a ref of the remote.
fn replace(world: &World, remote: &str, run: &str, file: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) {
    let name = format!("refs/conductor-sync/runs/{run}");
    let at = |args: &[&str], input: Option<&[u8]>| {
        let mut git = world.command_of("git");
        git.args(["-C", remote, "-c", "user.name=x", "-c", "user.email=x@x"]).args(args);
        let mut child =
            git.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.unwrap_or_default()).unwrap();
        child.wait_with_output().unwrap().stdout
    };
    let line = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().trim().to_owned();
    let blob =
        at(&["hash-object", "-w", "--stdin"], Some(&change(at(&["show", &format!("{name}:{file}")], None))));
    let blob = line(blob);
    let tree: String = line(at(&["ls-tree", &name], None))
        .lines()
        .map(|entry| match entry.ends_with(&format!("\t{file}")) {
            true => format!("100644 blob {blob}\t{file}\n"),
            false => format!("{entry}\n"),
        })
        .collect();
    let tree = line(at(&["mktree"], Some(tree.as_bytes())));
    let commit = line(at(&["commit-tree", &tree, "-m", "x"], None));
    at(&["update-ref", &name, &commit], None);
}

#[test]
fn what_is_damaged_or_not_for_us_is_refused_with_its_cause() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    let remote = machines.remote();
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let run = a.run_id();
    let push = |how: &str| conductor(a, &["sync", "push", "--to", &remote, how, "--yes"]).expect(0);
    let refused = |why: &str| {
        conductor(b, &["sync", "pull", "--from", &remote, "--yes"])
            .expect(1)
            .says(why)
            .says("nothing was pulled");
        assert_eq!(b.runs(), [""; 0]);
    };
    push("--plain");
    replace(a, &remote, &run, "log.jsonl", |log| log[..log.len() / 2].to_vec());
    refused("its checksum differs");
    replace(a, &remote, &run, "manifest.json", |_| b"{}".to_vec());
    refused("its manifest.json cannot be read");
    let sealed = |change: &dyn Fn(Vec<u8>) -> Vec<u8>, why: &str| {
        git(a, &["--git-dir", &remote, "update-ref", "-d", &format!("refs/conductor-sync/runs/{run}")]);
        conductor(a, &["sync", "key"]).expect(0);
        push("--transcripts");
        conductor(b, &["sync", "key"]).expect(0);
        replace(a, &remote, &run, "contents.json.gz.age", change);
        refused(why);
    };
    sealed(&|bytes| bytes, "is none of theirs");
    fs::copy(a.home().join("sync.key"), b.home().join("sync.key")).unwrap();
    sealed(&|bytes| bytes[..bytes.len() - 4].to_vec(), "tampered with or cut short");
    sealed(&|_| b"nothing".to_vec(), "is damaged");
}

#[test]
fn nothing_secret_arrives() {
    const VALUE: &str = "tangerine/submarine+carousel=9";
    let token = crate::canaries::canary(0);
    let tasks = format!(
        "tasks: [{{ id: a, name: 'with {VALUE}', run: 'echo {VALUE} {token} > a.txt; cat a.txt', env: {{ API_TOKEN: {token} }} }}]"
    );
    let mut machines = Machines::with(&tasks);
    conductor(&machines.a, &["run", "../tasks.yaml", "-q"]).expect(0);
    // Nothing knew at that time that it is one.
    machines.a.set("SOME_PASSWORD", VALUE);
    let Machines { a, b } = &machines;
    let remote = machines.remote();
    let plain = ["sync", "push", "--to", &remote, "--plain", "--transcripts", "--yes"];
    conductor(a, &plain).expect(0).says("secrets removed");
    let there = contents(&remote);
    assert!(says(&there, "run_finished") && says(&there, "transcript.log"));
    let base64 = |text: &str| says(&there, text);
    assert!(!base64(VALUE) && !base64(&token), "in plain text");
    machines.share(&remote);
    conductor(a, &["sync", "push", "--transcripts", "--yes"]).expect(0);
    conductor(b, &["sync", "pull", "--yes"]).expect(0);
    let everywhere = files(&b.home()).into_iter().filter(|path| path.is_file());
    for path in everywhere {
        let bytes = fs::read(&path).unwrap();
        assert!(!says(&bytes, VALUE) && !says(&bytes, &token), "{}", path.display());
    }
    conductor(b, &["logs", "a"]).expect(0).says("****");
    let there = contents(&remote);
    assert!(!says(&there, VALUE) && !says(&there, &token), "encrypted");
    // What was blotted out differs, and is the same all the same.
    conductor(b, &["sync", "push", "--yes"]).expect(0).says("everything is at the remote already");
    conductor(a, &["sync", "forget", &a.run_id()]).expect(0);
    conductor(a, &["sync", "pull", "--yes"]).expect(0).says("everything is here already");
}

#[test]
fn neither_a_repositorys_config_nor_its_remotes_are_used_unasked() {
    let machines = Machines::with(QUICK);
    let a = &machines.a;
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    conductor(a, &["sync", "key"]).expect(0);
    let code = a.root().join("code.git").display().to_string();
    for to in ["origin", &code, &format!("file://{code}"), &format!("{code}/"), "."] {
        conductor(a, &["sync", "push", "--to", to, "--yes"]).expect(2).says("is a remote of the repository");
    }
    let elsewhere = a.root().join("else.git").display().to_string();
    git(a, &["init", "-q", "--bare", &elsewhere]);
    fs::create_dir(a.path("repo/.conductor")).unwrap();
    a.write("repo/.conductor/config.yaml", &format!("sync: {{ remote: '{elsewhere}' }}\n"));
    conductor(a, &["sync", "push", "--yes"]).expect(2).says("needs your trust").says("nothing says where");
    assert_eq!(refs(&elsewhere), "");
    fs::write(a.home().join("config.yaml"), format!("sync: {{ remote: '{code}', code_remote: true }}\n"))
        .unwrap();
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed 1 run");
}

#[test]
fn a_claim_is_kept_until_it_is_released_or_taken_by_force() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    conductor(a, &["run", "../tasks.yaml", "-q"]).expect(0);
    let run = a.run_id();
    conductor(a, &["sync", "forget", &run]).expect(2).says("was never pushed or pulled here");
    conductor(a, &["sync", "push", "--yes"]).expect(0);
    conductor(b, &["sync", "pull", "--yes"]).expect(0);
    conductor(a, &["sync", "claim", &run]).expect(0);
    conductor(b, &["sync", "claim", &run]).expect(1).says("is claimed by").says("--force");
    conductor(b, &["sync", "release", &run]).expect(1);
    conductor(b, &["sync", "claim", &run, "--force"]).expect(0).says("and no more by");
    conductor(a, &["run", "--resume", &run, "--retry-failed"]).expect(4);
    conductor(a, &["sync", "release", &run]).expect(1);
    conductor(b, &["sync", "release", &run]).expect(0).says("is free");
    conductor(a, &["sync", "forget", &run, "--json"]).expect(0);
}

/// The first commit tells that both machines have the same project.
#[test]
fn what_a_project_has_taught_goes_along() {
    let machines = Machines::with(QUICK);
    let Machines { a, b } = &machines;
    machines.share(&machines.remote());
    let add = |world: &World, claim: &str| conductor(world, &["expertise", "add", claim]).expect(0);
    add(a, "Run the tests with --locked.");
    add(b, "The parser has no recursion.");
    conductor(a, &["sync", "push", "--yes"]).expect(0).says("pushed expertise");
    conductor(b, &["sync", "push", "--yes"]).expect(0).says("pushed expertise");
    for world in [a, b] {
        conductor(world, &["sync", "pull", "--yes"]).expect(0).says("of expertise");
        conductor(world, &["expertise", "list"]).expect(0).says("--locked").says("no recursion");
    }
    conductor(a, &["sync", "push"]).expect(0).says("everything is at the remote already");
}

#[test]
fn a_remote_and_a_repository_may_name_objects_by_sha256() {
    let world = World::new();
    world.write("tasks.yaml", QUICK);
    fs::create_dir(world.path("repo")).unwrap();
    git(&world, &["init", "-q", "-b", "main", "--object-format=sha256", "."]);
    git(
        &world,
        &["-c", "user.name=u", "-c", "user.email=u@x", "commit", "-q", "--allow-empty", "-m", "start"],
    );
    conductor(&world, &["run", "../tasks.yaml", "-q"]).expect(0);
    let remote = world.root().join("runs.git").display().to_string();
    git(&world, &["init", "-q", "--bare", "--object-format=sha256", &remote]);
    conductor(&world, &["sync", "push", "--to", &remote, "--plain", "--yes"]).expect(0).says("pushed 1 run");
    conductor(&world, &["sync", "push", "--to", &remote, "--plain"])
        .expect(0)
        .says("everything is at the remote");
    let other = World::new();
    fs::create_dir(other.path("repo")).unwrap();
    let pulled: Ended = conductor(&other, &["sync", "pull", "--from", &remote, "--yes"]).expect(0);
    pulled.says("pulled 1 run");
}
