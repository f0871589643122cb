//! What starts workers in `contrib`, with stand-ins for what it starts them by: each worker comes to the same command, in the
//! same environment, and nothing secret is on a command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use conductor_testkit::servers;
use tempfile::TempDir;

const QUEUE: &str = "rediss://conductor@mq.example";
const GIT: &str = "ssh://git@git.example/it's mine.git";
const PASSWORD: &str = "canary'$(id) password";

/// Says what it was started with, a line for each start; what it is told to say is for `workers token`.
const CONDUCTOR: &str = r#"#!/bin/sh
if [ "$1 $2" = "workers token" ]; then echo "token-of-$3"; exit; fi
printf '%s|%s|%s|%s|%s\n' "$*" "$CONDUCTOR_QUEUE" "$CONDUCTOR_GIT" "${CONDUCTOR_QUEUE_PASSWORD:-}" \
    "${CONDUCTOR_WORKER_TOKEN:-}" >> "$STARTED"
"#;

fn contrib() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").canonicalize().unwrap()
}

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn with(programs: &[(&str, &str)]) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap() };
        for (name, text) in [&[("conductor", CONDUCTOR)], programs].concat() {
            let file = bench.path(&format!("bin/{name}"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::create_dir_all(bench.path("home/.conductor")).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What is written when it has ended, each with its arguments.
    fn run(&self, script: &str, args: &[&str]) -> (bool, String) {
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new(contrib().join("workers").join(script));
        command.args(args).env_clear().env("PATH", format!("{}:{path}", self.path("bin").display()));
        command
            .env("HOME", self.path("home"))
            .env("STARTED", self.path("started"))
            .env("ARGS", self.path("args"));
        command
            .env("CONDUCTOR_QUEUE", QUEUE)
            .env("CONDUCTOR_GIT", GIT)
            .env("CONDUCTOR_QUEUE_PASSWORD", PASSWORD);
        command.env("SLOTS", "2").env("LABELS", "gpu,linux");
        let out = command.output().unwrap();
        (out.status.success(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    fn expect_started(&self, workers: &[(&str, &str)]) {
        let mut lines: Vec<String> = self.read("started").lines().map(str::to_owned).collect();
        lines.sort();
        let expected: Vec<String> = workers
            .iter()
            .map(|(who, token)| {
                format!("worker {who}--slots 2 --labels gpu,linux --exit-when-idle|{QUEUE}|{GIT}|{PASSWORD}|{token}")
            })
            .collect();
        assert_eq!(lines, expected);
        let args = self.read("args");
        assert!(!args.is_empty() && !args.contains("canary") && !args.contains("token-of"), "{args}");
    }
}

#[test]
fn over_ssh_a_token_is_given_once_and_nothing_secret_on_a_command_line() {
    // The other machine is this one; what it starts in the background is waited for.
    let ssh = "#!/bin/sh\nprintf '%s\\n' \"$*\" >> \"$ARGS\"\nshift\nunset CONDUCTOR_QUEUE CONDUCTOR_GIT CONDUCTOR_QUEUE_PASSWORD SLOTS LABELS\n\
               case $1 in test*) exec sh -c \"$1\" ;; *) { cat; echo wait; } | sh -s ;; esac\n";
    let bench = Bench::with(&[("ssh", ssh)]);
    let (ended, said) = bench.run("ssh.sh", &["build-1", "me@build.2"]);
    assert!(ended, "{said}");
    bench.expect_started(&[("", "token-of-build-1"), ("", "token-of-build.2")]);
    fs::remove_file(bench.path("started")).unwrap();
    fs::create_dir_all(bench.path("home/.conductor/worker/build-1")).unwrap();
    fs::write(bench.path("home/.conductor/worker/build-1/identity.json"), "{}").unwrap();
    let (ended, said) = bench.run("ssh.sh", &["build-1"]);
    assert!(ended, "{said}");
    bench.expect_started(&[("--name build-1 ", "")]);
    assert!(!bench.run("ssh.sh", &[]).0, "no host was named");
}

#[test]
fn a_job_array_of_slurm_has_a_token_for_each_worker() {
    // Starts the script as Slurm would, for each number, with what `--export` names and no more.
    let sbatch = r#"#!/bin/sh
printf '%s\n' "$*" >> "$ARGS"
for word; do
    case $word in --array=1-*) last=${word#--array=1-} ;; --export=*) folder=${word#*FOLDER=} ;; esac
    script=$word
done
for number in $(seq "$last"); do
    env -i PATH="$PATH" HOME="$HOME" FOLDER="$folder" STARTED="$STARTED" SLURM_ARRAY_TASK_ID="$number" "$script"
done
"#;
    let bench = Bench::with(&[("sbatch", sbatch)]);
    let (ended, said) = bench.run("slurm.sh", &["3", "--partition=gpu"]);
    assert!(ended, "{said}");
    let started = bench.read("started");
    let tokens: Vec<&str> = started.lines().map(|line| line.rsplit('|').next().unwrap()).collect();
    assert!(
        tokens.iter().zip(1..).all(|(token, number)| token.ends_with(&format!("-{number}"))),
        "{started}"
    );
    bench.expect_started(&tokens.iter().map(|token| ("", *token)).collect::<Vec<_>>());
    assert!(bench.read("args").contains("--array=1-3") && bench.read("args").contains("--partition=gpu"));
    for folder in fs::read_dir(bench.path("home/.conductor")).unwrap() {
        let mode = folder.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o77, 0, "others can read the secrets");
    }
    for wrong in [&[][..], &["0"], &["x"]] {
        assert!(!bench.run("slurm.sh", wrong).0, "{wrong:?}");
    }
}

#[test]
fn a_job_of_kubernetes_has_a_secret_with_a_token_for_each_pod() {
    // Keeps the Job and the Secret as files.
    let kubectl = r#"#!/bin/sh
printf '%s\n' "$*" >> "$ARGS"
kept=$(dirname "$ARGS")
case "$1 $2" in
"create --filename") cp "$3" "$kept/job.yaml" ;;
"create secret") cp -r "$6/." "$kept/secret" ;;
"get job/"*) echo uid-1 ;;
esac
"#;
    let bench = Bench::with(&[("kubectl", kubectl)]);
    let (ended, said) = bench.run("kubernetes.sh", &["2", "registry.example/conductor:1", "--namespace=ci"]);
    assert!(ended, "{said}");
    let job = bench.read("job.yaml");
    assert!(
        job.contains("completions: 2\n") && job.contains("image: \"registry.example/conductor:1\""),
        "{job}"
    );
    assert!(!job.contains("__") && !job.contains("canary") && !job.contains("token-of"), "{job}");
    let args = bench.read("args");
    assert!(args.lines().all(|line| line.contains("--namespace=ci")) && args.contains("uid-1"), "{args}");
    let mut kept: Vec<_> =
        fs::read_dir(bench.path("secret")).unwrap().map(|file| file.unwrap().file_name()).collect();
    kept.sort();
    assert_eq!(kept, ["git", "password", "queue", "token-0", "token-1"], "the Job itself is no secret");
    // What a pod does with it.
    let (_, script) = job.split_once("args:\n            - |\n").unwrap();
    let script =
        script.lines().take_while(|line| line.starts_with("              ")).collect::<Vec<_>>().join("\n");
    let script = script.replace("/secret/", &format!("{}/", bench.path("secret").display()));
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    for index in ["0", "1"] {
        let mut pod = Command::new("sh");
        pod.args(["-ceu", &script]).env_clear().env("PATH", &path).env("JOB_COMPLETION_INDEX", index);
        pod.env("SLOTS", "2").env("LABELS", "gpu,linux").env("STARTED", bench.path("started"));
        assert!(pod.status().unwrap().success());
    }
    let name = job.split_once("  name: ").unwrap().1.lines().next().unwrap();
    bench.expect_started(&[("", &format!("token-of-{name}-0")), ("", &format!("token-of-{name}-1"))]);
}

#[test]
fn what_is_in_contrib_is_read_by_those_it_is_for() {
    let folder = tempfile::tempdir().unwrap();
    let job = contrib().join("workers/kubernetes-job.yaml");
    // The Job stays well-formed with what is put into it.
    let text = fs::read_to_string(job).unwrap().replace("__COUNT__", "3").replace("__NAME__", "w");
    fs::write(folder.path().join("job.yaml"), text).unwrap();
    if let Some(python) = answers("python3", &["-c", "import yaml"]) {
        let read = "import sys, yaml; job = yaml.safe_load(open(sys.argv[1])); spec = job['spec']; \
                    assert spec['completions'] == spec['parallelism'] == 3, spec; \
                    assert spec['template']['spec']['volumes'][1]['secret']['secretName'] == 'w'";
        let mut read =
            Command::new(python).args(["-c", read]).arg(folder.path().join("job.yaml")).spawn().unwrap();
        assert!(read.wait().unwrap().success());
    }
    let unit = fs::read_to_string(contrib().join("systemd/conductor-worker@.service")).unwrap();
    // Where the program and its manual are not.
    let unit = unit.replace("%h/.cargo/bin/conductor", "/bin/true").replace("Documentation=", "# ");
    let instance = folder.path().join("conductor-worker@w1.service");
    fs::write(&instance, unit).unwrap();
    if cfg!(target_os = "linux")
        && let Some(program) = answers("systemd-analyze", &["--version"])
    {
        let mut verify = Command::new(program);
        verify.args(["verify", "--user"]).arg(instance).env("XDG_RUNTIME_DIR", folder.path());
        let out = verify.output().unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    }
}

/// The program, where it is here; else it is said that what needs it is left out, which nothing may be with `CI=true`.
fn answers(program: &'static str, args: &[&str]) -> Option<&'static str> {
    let is_here = Command::new(program).args(args).output().is_ok_and(|out| out.status.success());
    servers::or_skip(match is_here {
        true => Ok(program),
        false => Err(format!("in part: {program} {} does not answer", args.join(" "))),
    })
}
