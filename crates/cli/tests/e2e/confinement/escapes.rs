//! A battery of ways out. None may succeed on the strongest tier, for root and for an ordinary user.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::process::{Child, Command, Stdio};

use crate::confinement::{User, can_confine, landed, run, users, world};
use crate::harness::{World, expect_no_leftovers};
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

/// Each tries something and says so where it came through. `try NAME COMMAND`: a command that succeeds has escaped.
const SCRIPT: &str = r#"
out="$PWD/result.txt"
n=0
try() {
    n=$((n + 1))
    if timeout 10 sh -c "$2" > /dev/null 2>&1; then echo "ESCAPED $1" >> "$out"; fi
}
finds() { try "$1" "$2 | grep -q S3CRET"; }

for file in SECRETS; do finds "read ~/$file" "cat 'USER/$file'"; done
finds "the home by a search" "find / -xdev -name 'id_ed25519' -o -name later.txt -exec cat {} + 2>/dev/null; find USER -type f -exec cat {} +"
finds "a link to a secret" "ln -s USER/.ssh/id_ed25519 l; cat l; rm -f l"
finds "a hard link to a secret" "ln USER/.ssh/id_ed25519 h && cat h; rm -f h"
finds "up from the workspace" "cat ../../../../../user/.ssh/id_ed25519"
finds "the root of process 1" "cat /proc/1/root/USER/.ssh/id_ed25519"
finds "its own root" "cat /proc/self/root/USER/.ssh/id_ed25519"
finds "the working directories of processes" "for p in /proc/[0-9]*; do cat \$p/cwd/../../../../../user/.netrc; done"
finds "environments of processes" "cat /proc/[0-9]*/environ | tr '\0' '\n' | grep -a WITHHELD"
finds "a committed link to a secret" "cat .mcp.json"
finds "the user's checkout" "cat 'REPO/.env'"
finds "the folder beside the repository" "cat 'REPO/../tasks.yaml' && echo S3CRET"
finds "shared memory" "cat /dev/shm/conductor-test-*"
finds "a folder beside" "cat 'ROOT/beside/secret'"
try "the password hashes" "grep -q '^root' /etc/shadow"
try "the host's keys" "ls /etc/ssh/ssh_host_* "
try "our database" "ls 'STATE/conductor.db'"
try "the run's log" "ls 'STATE/runs/'*/conductor.log"
try "other workspaces" "ls 'STATE/runs/'*/workspaces/*-9"
try "the home through a mount" "mkdir m; mount --bind USER m && cat m/.netrc"
try "a mount in a namespace of its own" "unshare -Urm sh -c 'umount USER; umount -l /tmp; cat USER/.netrc' | grep -q S3CRET"
try "a lazy unmount of everything" "unshare -Urm sh -c 'umount -l -R /; cat USER/.netrc' | grep -q S3CRET"
try "writing after a remount" "unshare -Urm sh -c 'mount -o remount,rw,bind /usr && touch /usr/escaped'"
try "the mounts of process 1" "nsenter -t 1 -m cat USER/.netrc | grep -q S3CRET"
try "another root" "chroot /proc/1/root cat USER/.netrc | grep -q S3CRET"
try "a device node" "mknod d b 254 0 && dd if=d of=/dev/null count=1"
try "a disk" "for d in /dev/vda /dev/sda /dev/nvme0n1; do dd if=\$d of=/dev/null count=1 && exit 0; done; exit 1"
try "the machine's memory" "dd if=/dev/mem of=/dev/null count=1 || dd if=/proc/kcore of=/dev/null count=1"
try "the kernel's settings" "cat /proc/sys/kernel/core_pattern > v && cat v > /proc/sys/kernel/core_pattern"
try "the kernel's interrupts" "for f in /proc/irq/*/smp_affinity; do cat \$f > v && cat v > \$f && exit 0; done; exit 1"
try "the kernel's requests" "echo h > /proc/sysrq-trigger"
try "control groups" "mkdir /sys/fs/cgroup/escaped"
try "a process outside, by its number" "kill -0 BYSTANDER"
try "a process outside, traced" "cat /proc/BYSTANDER/mem"
try "the user's shell" "echo x >> USER/.bashrc && grep -q x 'ROOT/user/.bashrc' && false"
try "a program of the system" "touch /usr/local/bin/escaped"
try "a scheduled command" "touch /etc/cron.d/escaped /etc/escaped"
try "the user's checkout, written" "echo x >> 'REPO/f.txt' && grep -q a 'REPO/f.txt'"
try "a hook" "echo x > 'REPO/.git/hooks/post-commit'"
try "git's configuration" "git config core.fsmonitor /bin/true"
try "git's configuration, as a file" "echo x >> 'REPO/.git/config'"
try "git's configuration, moved away" "mv 'REPO/.git/config' 'REPO/.git/away'"
git_dir="$(git rev-parse --git-dir)"
try "the worktree's configuration, elsewhere" "echo ../.. >> '$git_dir/commondir'"
try "the worktree's configuration, moved away" "mv '$git_dir/commondir' '$git_dir/away'"
try "the worktree's own configuration" "echo '[core]' > '$git_dir/config.worktree'"
try "where the worktree is" "echo x >> '$git_dir/gitdir'"
try "the worktree's git folder, moved away" "mv '$git_dir' '$git_dir-away'"
try "the checkout's HEAD" "echo x > 'REPO/.git/HEAD'"
try "where the worktree's git is" "echo 'gitdir: USER/.ssh' > .git"
try "where the worktree's git is, moved" "mv .git away"
try "an agent's settings" "echo x > .claude/settings.json"
try "an agent's settings, moved away" "mv .claude away"
try "a server behind a socket" "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"ROOT/user/run/docker.sock\")'"
try "the usual sockets" "ls /var/run/docker.sock /run/docker.sock /run/dbus/system_bus_socket /run/user/*/bus | grep -q ."
try "the user's ssh agent" "test -n \"\$SSH_AUTH_SOCK\""
try "the hypervisor" "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'"
try "the kernel's keys" "python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True); exit(0 if l.syscall(248, b\"user\", b\"k\", b\"v\", 1, -3) >= 0 else 1)'"
try "new privileges" "grep -q 'NoNewPrivs:.0' /proc/self/status"
try "capabilities" "! grep -q 'CapEff:.0000000000000000' /proc/self/status"
try "no filter of calls" "! grep -q 'Seccomp:.2' /proc/self/status"
try "typing on the terminal" "python3 -c 'import fcntl, os; fcntl.ioctl(os.open(\"/dev/tty\", os.O_RDWR), 0x5412, b\"x\")'"
try "writing on the terminal" "test -t 0 || test -t 1 || (exec 3<> /dev/tty && test -t 3)"
try "processes of others" "test \$(ls -d /proc/[0-9]* | wc -l) -gt 30"
try "the host's name" "hostname escaped"
setsid sh -c 'sleep 300' < /dev/null > /dev/null 2>&1 &
env -i setsid sleep 301 < /dev/null > /dev/null 2>&1 &
echo "tried $n" >> "$out"
echo "worked" > work.txt
"#;

/// Puts there what is to be found by one that gets out.
fn furnish(world: &World) -> UnixListener {
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
    fs::create_dir_all(user.join("run")).unwrap();
    let socket = user.join("run/docker.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    listener
}

/// What is not to change, and not to appear.
fn outside(world: &World) -> String {
    let files = [
        "work/repo/f.txt",
        "work/repo/.git/config",
        "work/repo/.git/HEAD",
        "work/repo/.claude/settings.json",
    ];
    let mut all: Vec<String> =
        files.iter().map(|file| fs::read_to_string(world.root().join(file)).unwrap()).collect();
    let absent = ["user/.bashrc", "work/repo/.git/hooks/post-commit", "work/repo/.git/away"];
    all.extend(absent.iter().map(|file| world.root().join(file).exists().to_string()));
    all.join("\n")
}

/// A process beside the run; it ends with the test, however that ends.
struct Bystander(Child);

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_way_out_succeeds() {
    for user in users() {
        let mut bystander = Bystander(
            Command::new("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap(),
        );
        let mut world = world("", "");
        if !can_confine(&world) {
            return;
        }
        let named = [
            ("SECRETS", SECRETS.join(" ")),
            ("USER", world.root().join("user").display().to_string()),
            ("REPO", world.path("repo").display().to_string()),
            ("STATE", world.home().display().to_string()),
            ("ROOT", world.root().display().to_string()),
            ("BYSTANDER", bystander.0.id().to_string()),
        ];
        let script = named.iter().fold(SCRIPT.to_owned(), |text, (name, value)| text.replace(name, value));
        fs::write(world.root().join("programs/script"), format!("#!/bin/sh\n{script}")).unwrap();
        let _listener = furnish(&world);
        world.set("WITHHELD", format!("{SECRET}-of-the-environment"));
        world.set("SSH_AUTH_SOCK", world.root().join("user/run/docker.sock"));
        let shared = tempfile::Builder::new().prefix("conductor-test-").tempfile_in("/dev/shm").unwrap();
        fs::write(shared.path(), SECRET).unwrap();
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o644)).unwrap();
        let before = outside(&world);
        run(&world, user).expect(0);
        let result = landed(&world, "result.txt");
        let escaped: Vec<&str> = result.lines().filter(|line| line.starts_with("ESCAPED")).collect();
        assert_eq!(escaped, [""; 0], "{user:?}");
        let tried: u32 = result.trim().strip_prefix("tried ").unwrap_or("0").parse().unwrap();
        assert!(tried >= 40, "{user:?}: {result}");
        assert_eq!(landed(&world, "work.txt"), "worked\n");
        assert_eq!(outside(&world), before, "{user:?}");
        assert!(bystander.0.try_wait().unwrap().is_none(), "it was ended");
        expect_no_leftovers(&world.run_id());
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
