//! A battery of ways out. None may succeed on the strongest tier, for root and for an ordinary user; those that succeed on the one below
//! are the ones that the docs list.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::confinement::{
    ORDINARY, Tier, User, can_confine, can_confine_by, give, landed, run, run_leaving_open, users, world,
};
use crate::harness::{World, expect_no_leftovers, skipped};
use crate::repository::git;

/// In every file that is not to be read.
const SECRET: &str = "S3CRET";

/// Files of the user's home with something in them that is no agent's business.
const SECRETS: [&str; 15] = [
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".gnupg/private-keys-v1.d/key",
    ".docker/config.json",
    ".kube/config",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials.toml",
    ".bash_history",
    ".local/share/keyrings/login.keyring",
    "notes/later.txt",
    ".mozilla/profile/cookies.sqlite",
];

const SCRIPT: &str = include_str!("escapes.sh");

/// A process beside the run.
const OUTSIDE: &str = include_str!("outside.py");

/// Puts there what is to be found by one that gets out.
fn furnish(world: &World) -> (UnixListener, UnixDatagram) {
    let user = world.root().join("user");
    let put = |path: std::path::PathBuf| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{SECRET}\n")).unwrap();
    };
    SECRETS.iter().for_each(|file| put(user.join(file)));
    put(world.root().join("beside/secret"));
    put(world.path("repo/.env"));
    fs::write(world.path("repo/.gitignore"), ".env\n").unwrap();
    fs::create_dir_all(world.path("repo/.claude")).unwrap();
    fs::write(world.path("repo/.claude/settings.json"), "{}\n").unwrap();
    symlink(user.join(".ssh/id_ed25519"), world.path("repo/.mcp.json")).unwrap();
    git(world, &["add", "."]);
    git(world, &["commit", "-q", "-m", "furnished"]);
    let remote = format!("https://{SECRET}@example.com/a/b.git");
    git(world, &["config", "remote.elsewhere.url", &remote]);
    let header = format!("AUTHORIZATION: basic {SECRET}");
    git(world, &["config", "http.https://example.com/.extraheader", &header]);
    fs::create_dir_all(user.join("run")).unwrap();
    let socket = user.join("run/docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let log = user.join("run/log.sock");
    let datagrams = UnixDatagram::bind(&log).unwrap();
    fs::set_permissions(&log, fs::Permissions::from_mode(0o777)).unwrap();
    (listener, datagrams)
}

/// What is not to change, and not to appear.
fn outside(world: &World) -> String {
    let files = [
        "work/repo/f.txt",
        "work/repo/.git/config",
        "work/repo/.git/HEAD",
        "work/repo/.claude/settings.json",
        "beside/secret",
    ];
    let mut all: Vec<String> =
        files.iter().map(|file| fs::read_to_string(world.root().join(file)).unwrap()).collect();
    let absent = [
        "user/.bashrc",
        "user/.gitconfig",
        "user/.config/autostart/x.desktop",
        "work/repo/.git/hooks/post-commit",
        "work/repo/.git/config-away",
    ];
    all.extend(absent.iter().map(|file| world.root().join(file).exists().to_string()));
    all.join("\n")
}

/// A process beside the run, of the same user; it ends with the test, however that ends.
struct Bystander {
    child: Child,
    /// Memory that it shares with all that know this number.
    segment: String,
}

impl Bystander {
    fn start(world: &World, user: User) -> Bystander {
        let mut command = Command::new(python());
        command
            .args(["-c", OUTSIDE])
            .arg(world.root().join("user"))
            .arg(format!("{SECRET}-of-a-command-line"));
        if user == User::Ordinary {
            command.uid(ORDINARY).gid(ORDINARY);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut segment = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut segment).unwrap();
        Bystander { child, segment: segment.trim().to_owned() }
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that works inside, too: a user's own may be a script that needs all of the home.
pub(super) fn python() -> &'static str {
    if Path::new("/usr/bin/python3").exists() { "/usr/bin/python3" } else { "python3" }
}

/// What came through, and a proof that the tools it was tried with do work.
fn escaped(tier: Tier, user: User, settings: &str) -> Option<BTreeSet<String>> {
    let mut world = world("", settings);
    if !can_confine_by(&mut world, tier) {
        return None;
    }
    let hidden = format!("conductor-{}", fastrand::u64(..));
    let _abstract = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden).unwrap()).unwrap();
    let _servers = furnish(&world);
    give(&world, user);
    let mut bystander = Bystander::start(&world, user);
    let named = [
        ("SECRETS", SECRETS.join(" ")),
        ("USER", world.root().join("user").display().to_string()),
        ("REPO", world.path("repo").display().to_string()),
        ("STATE", world.home().display().to_string()),
        ("ROOT", world.root().display().to_string()),
        ("BYSTANDER", bystander.child.id().to_string()),
        ("SEGMENT", bystander.segment.clone()),
        ("ABSTRACT", hidden),
        ("python3", python().to_owned()),
    ];
    let script = named.iter().fold(SCRIPT.to_owned(), |text, (name, value)| text.replace(name, value));
    fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
    world.set("WITHHELD", format!("{SECRET}-of-the-environment"));
    let socket = world.root().join("user/run/docker.sock");
    world.set("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", socket.display()));
    world.set("SSH_AUTH_SOCK", socket);
    let shared = tempfile::Builder::new().prefix("conductor-test-").tempfile_in("/dev/shm").unwrap();
    fs::write(shared.path(), SECRET).unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let before = outside(&world);
    let ended = run_leaving_open(&world, user, &world.root().join("beside/secret")).expect(0);
    let result = landed(&world, "result.txt");
    let mut lines: Vec<&str> = result.lines().collect();
    let tried = lines.pop().and_then(|last| last.strip_prefix("tried ")?.parse::<u32>().ok());
    assert!(tried.is_some_and(|tried| tried >= 100), "{tier:?} {user:?}: {result}\n{}", ended.stderr);
    assert!(lines.contains(&"its tools work"), "{tier:?} {user:?}: {result}");
    assert_eq!(landed(&world, "work.txt"), "worked\n");
    assert_eq!(outside(&world), before, "{tier:?} {user:?}");
    assert!(bystander.child.try_wait().unwrap().is_none(), "{tier:?} {user:?}: it was ended");
    expect_no_leftovers(&world.run_id());
    Some(lines.iter().filter_map(|line| line.strip_prefix("ESCAPED ")).map(str::to_owned).collect())
}

/// Whether the kernel keeps signals and abstract sockets in: Linux 6.12 does.
fn keeps_signals_in() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut parts = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 12)
}

#[test]
fn no_way_out_succeeds() {
    for user in users() {
        let Some(mut escaped) = escaped(Tier::Bubblewrap, user, "") else { return };
        if !keeps_signals_in() {
            skipped("abstract sockets are reached with a full network before Linux 6.12, as the docs say");
            escaped.remove("an abstract socket");
        }
        assert_eq!(escaped, BTreeSet::new(), "{user:?}");
    }
}

/// A clone's git directory is its own: what means something in a worktree's is a file like others there, or is taken away. Of
/// the user's repository only the objects are there, and what lies beside them is in a file system that goes with the attempt:
/// that nothing of the real one has changed is looked at as everywhere.
#[test]
fn no_way_out_succeeds_where_it_must_be_confined() {
    const ITS_OWN: [&str; 5] = [
        "git's configuration, as a file",
        "the checkout's HEAD",
        "the worktree's configuration, elsewhere",
        "the worktree's own configuration",
        "where the worktree is",
    ];
    for user in users() {
        let Some(mut escaped) = escaped(Tier::Bubblewrap, user, ", sandbox: require") else { return };
        if !keeps_signals_in() {
            escaped.remove("an abstract socket");
        }
        assert_eq!(escaped, BTreeSet::from(ITS_OWN.map(str::to_owned)), "{user:?}");
    }
}

/// No more than the docs say, and no less.
#[test]
fn the_docs_list_what_landlock_leaves_open() {
    if !keeps_signals_in() {
        return skipped("the list is that of Linux 6.12 and newer");
    }
    let docs = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md")).unwrap();
    let (_, listed) = docs.split_once("\n### What landlock leaves open\n").unwrap();
    let listed = listed.split("\n#").next().unwrap();
    for user in users() {
        let is_root = user == User::Own && rustix::process::geteuid().is_root();
        // The kernel keeps them from processes that have more privileges, and root's have.
        let holds = |line: &&str| !(is_root && line.contains("(not root's)"));
        let items =
            listed.lines().filter(holds).filter_map(|line| line.strip_prefix("- `")?.split('`').next());
        let listed: BTreeSet<String> = items.map(str::to_owned).collect();
        let Some(escaped) = escaped(Tier::Landlock, user, "") else { return };
        assert_eq!(escaped, listed, "{user:?}");
    }
}

/// The folder that git takes its configuration from, named in every place where git would read that: the commands that
/// check the work are not confined.
#[test]
fn no_configuration_of_an_agents_own_counts_for_the_commands_after_it() {
    let script = "mkdir -p ev/objects ev/refs && echo 'ref: refs/heads/main' > ev/HEAD\n\
                  printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch ROOT/ESCAPED\"\\n' > ev/config\n\
                  git_dir=$(git rev-parse --git-dir); common=$(git rev-parse --git-common-dir)\n\
                  echo worked > work.txt\n\
                  cp ev/config $git_dir/config.worktree\n\
                  for folder in $git_dir $common; do echo $PWD/ev > $folder/commondir; done; true\n";
    for settings in ["", ", isolation: clone", ", isolation: none"] {
        let settings = format!("{settings}, verify: 'git status; git rev-parse --git-common-dir'");
        let world = world("", &settings);
        if !can_confine(&world) {
            return;
        }
        git(&world, &["config", "extensions.worktreeConfig", "true"]);
        let script = script.replace("ROOT", &world.root().display().to_string());
        fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
        let ended = run(&world, User::Own).expect(0);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: {}", ended.stderr);
        assert!(!world.path("repo/.git/commondir").exists(), "{settings}");
        ended.says("by which git reads another configuration");
        git(&world, &["status"]);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: the user's git");
    }
}

/// A path that the file gives, and that is not there yet: an agent makes a link of it, which is not to count when it is started
/// again in the same place. (In a home of its own it can make the folder that such a link leads to.)
#[test]
fn a_link_that_an_agent_makes_shows_nothing_when_it_is_started_again() {
    let settings = ", sandbox: { mode: prefer, read: [given], write: [sub/taken] }, verify: 'test -e second', fix_rounds: 1";
    let script = "if [ -e first ]; then cat given/id_ed25519 sub/taken/id_ed25519 USER/.ssh/id_ed25519 > got.txt; echo x > sub/taken/new\n\
                  rm -rf given sub; echo second > second\n\
                  else echo x > first; mkdir -p USER/.ssh ~/.ssh sub; ln -s LINK/.ssh given; ln -s ../LINK/.ssh sub/taken; fi; true\n";
    for (tier, is_relative) in
        [Tier::Bubblewrap, Tier::Landlock].into_iter().flat_map(|tier| [(tier, true), (tier, false)])
    {
        let mut world = world("", settings);
        if !can_confine_by(&mut world, tier) {
            return;
        }
        let user = world.root().join("user");
        fs::create_dir_all(user.join(".ssh")).unwrap();
        fs::write(user.join(".ssh/id_ed25519"), SECRET).unwrap();
        let home = user.display().to_string();
        let link = if is_relative { "../../../../../user" } else { &home };
        let script = script.replace("../LINK", if is_relative { "../LINK" } else { "LINK" });
        let script = script.replace("LINK", link).replace("USER", &home);
        fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
        let ended = run(&world, User::Own).expect(0);
        assert_eq!(landed(&world, "second"), "second\n", "{tier:?}: {}", ended.stderr);
        assert_eq!(landed(&world, "got.txt"), "", "{tier:?}, relative: {is_relative}");
        assert!(!user.join(".ssh/new").exists(), "{tier:?}, relative: {is_relative}");
    }
}

/// What rules cannot keep an agent from writing is nothing that Conductor's own git goes by.
#[test]
fn by_landlock_an_agents_configuration_counts_for_nothing_of_ours() {
    let script = "mkdir -p ev/objects ev/refs ev/hooks && echo 'ref: refs/heads/main' > ev/HEAD\n\
                  printf '#!/bin/sh\\ntouch ROOT/ESCAPED\\n' > ev/run && chmod +x ev/run\n\
                  for hook in post-checkout pre-commit post-commit reference-transaction; do cp ev/run ev/hooks/$hook; done\n\
                  for key in core.fsmonitor diff.external filter.evil.clean filter.evil.smudge filter.evil.process; do\n\
                  git config --file ev/config $key $PWD/ev/run; done; git config --file ev/config core.hooksPath $PWD/ev/hooks\n\
                  git config --file ev/config core.repositoryformatversion 0; echo '* filter=evil' > .gitattributes\n\
                  echo worked > work.txt; echo changed >> f.txt\n\
                  git_dir=$(git rev-parse --absolute-git-dir)\n\
                  for file in $git_dir/config $git_dir/config.worktree .git/config; do cat ev/config >> $file; done\n\
                  case $git_dir in */worktrees/*) echo $PWD/ev > $git_dir/commondir;; esac; true\n";
    for settings in ["", ", isolation: clone"] {
        let mut world = world("", settings);
        if !can_confine_by(&mut world, Tier::Landlock) {
            return;
        }
        let script = script.replace("ROOT", &world.root().display().to_string());
        fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
        let ended = run(&world, User::Own);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: {}", ended.stderr);
        git(&world, &["status"]);
        assert!(!world.root().join("ESCAPED").exists(), "{settings}: the user's git in the checkout");
    }
}

/// The same script, unconfined, gets out: the battery can tell.
#[test]
fn without_confinement_the_same_ways_lead_out() {
    let mut world = world("cat USER/.netrc > result.txt\nenv >> result.txt\n", "");
    furnish(&world);
    world.set("CONDUCTOR_SANDBOX", "off");
    run(&world, User::Own).expect(0);
    let mut found = String::new();
    landed(&world, "result.txt").as_bytes().read_to_string(&mut found).unwrap();
    assert!(found.contains(SECRET), "{found}");
}
