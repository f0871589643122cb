//! A world for one test, and the program running in it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything here takes on a busy machine: only a hang gets there.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

pub(crate) const CONDUCTOR: &str = env!("CARGO_BIN_EXE_conductor");

/// The scripted agent.
pub(crate) fn agent() -> String {
    example("fake-agent")
}

/// A program that cargo built beside the tests.
pub(crate) fn example(name: &str) -> String {
    let path = Path::new(CONDUCTOR).parent().unwrap().join("examples").join(name);
    assert!(path.is_file(), "{} is missing: run `cargo build -p conductor --examples`", path.display());
    path.display().to_string()
}

/// Waits until `found` gives something.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "waited {DEADLINE:?} for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub(crate) fn skipped(why: &str) {
    let name = std::thread::current().name().unwrap_or("a test").to_owned();
    eprintln!("\n*** SKIPPED {name}: {why} ***\n");
}

/// A home, a working directory and an environment that nothing else shares.
pub(crate) struct World {
    root: TempDir,
    env: BTreeMap<OsString, OsString>,
}

impl World {
    pub(crate) fn new() -> World {
        let root = tempfile::Builder::new().prefix("conductor-e2e-").tempdir().unwrap();
        for directory in ["user", "state", "work"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        let mut world = World { root, env: BTreeMap::new() };
        world.set("PATH", std::env::var_os("PATH").unwrap());
        world.set("HOME", world.root.path().join("user"));
        world.set("CONDUCTOR_HOME", world.home());
        // Scripted agents read and write where a test can see it; what confines agents has tests of its own.
        world.set("CONDUCTOR_SANDBOX", "off");
        world
    }

    /// A world with this task file in it.
    pub(crate) fn with(tasks: &str) -> World {
        let world = World::new();
        world.write("tasks.yaml", tasks);
        world
    }

    /// As `with`, of a user who said that tasks are to work right there: agents may, and nothing is told of it.
    pub(crate) fn in_place(tasks: &str) -> World {
        let mut world = World::with(tasks);
        world.set("CONDUCTOR_ISOLATION", "none");
        world
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.insert(name.into(), value.into());
    }

    /// Agents end with their coordinator, as where nothing can hold them: what comes after that is looked at.
    pub(crate) fn without_grace(&mut self) {
        self.set("CONDUCTOR_ORPHAN_GRACE", "0");
    }

    pub(crate) fn variable(&self, name: &str) -> OsString {
        self.env[std::ffi::OsStr::new(name)].clone()
    }

    pub(crate) fn unset(&mut self, name: &str) {
        self.env.remove(std::ffi::OsStr::new(name));
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("state")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.home().join("conductor.db")
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    /// A task file may say `AGENT` for the scripted agent.
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text.replace("AGENT", &agent())).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Runs the program to its end.
    #[track_caller]
    pub(crate) fn conductor(&self, args: &[&str]) -> Ended {
        self.start(args).ended()
    }

    #[track_caller]
    pub(crate) fn conductor_with_input(&self, args: &[&str], input: &[u8]) -> Ended {
        let mut live = self.spawn(self.command(args).stdin(Stdio::piped()));
        live.child.stdin.take().unwrap().write_all(input).unwrap();
        live.ended()
    }

    /// As a user who has looked at what the repository in this folder brings along.
    #[track_caller]
    pub(crate) fn trust(&self, folder: &str) {
        self.conductor(&["-C", folder, "trust", "--yes"]).expect(0);
    }

    /// Starts the program and leaves it running.
    pub(crate) fn start(&self, args: &[&str]) -> Live {
        self.spawn(&mut self.command(args))
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.command_of(CONDUCTOR);
        command.args(args);
        command
    }

    /// Any program in this world's place and environment.
    pub(crate) fn command_of(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.env).current_dir(self.path("")).stdin(Stdio::null());
        command
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> Live {
        let (out, err) = self.outputs();
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&err).unwrap());
        Live { child: command.spawn().unwrap(), out, err }
    }

    /// As `spawn`, with a standard error of the test's own; what is read from it belongs into `Live::stderr_file`.
    pub(crate) fn spawn_at(&self, command: &mut Command, stderr: File) -> Live {
        let (out, err) = self.outputs();
        command.stdout(File::create(&out).unwrap()).stderr(stderr);
        File::create(&err).unwrap();
        Live { child: command.spawn().unwrap(), out, err }
    }

    fn outputs(&self) -> (PathBuf, PathBuf) {
        let name = |kind: &str| self.root.path().join(format!("{}.{kind}", fastrand::u64(..)));
        (name("stdout"), name("stderr"))
    }

    /// The names of the runs that have left a directory.
    pub(crate) fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.home().join("runs")).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// The one run there is.
    #[track_caller]
    pub(crate) fn run_id(&self) -> String {
        let runs = self.runs();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs[0].clone()
    }

    /// Waits for the run to have a name.
    #[track_caller]
    pub(crate) fn wait_for_run(&self) -> String {
        wait_for("a run", || self.runs().pop())
    }

    #[track_caller]
    pub(crate) fn wait_for_file(&self, name: &str) {
        wait_for(name, || self.path(name).exists().then_some(()));
    }

    /// Everything a task wrote, with every attempt's transcript in turn.
    pub(crate) fn transcript(&self, task: &str) -> Vec<u8> {
        self.transcripts(task).iter().flat_map(|path| fs::read(path).unwrap()).collect()
    }

    pub(crate) fn transcripts(&self, task: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let run = self.home().join("runs").join(self.run_id());
        for executor in fs::read_dir(run).unwrap().flatten() {
            for file in fs::read_dir(executor.path().join(task)).into_iter().flatten().flatten() {
                if file.file_name().to_string_lossy().starts_with("transcript") {
                    found.push(file.path());
                }
            }
        }
        found.sort();
        found
    }

    /// What the database says, asked through SQLite's own shell, which never writes here.
    #[track_caller]
    pub(crate) fn sql(&self, query: &str) -> String {
        self.try_sql(query).unwrap_or_else(|error| panic!("{query}: {error}"))
    }

    pub(crate) fn try_sql(&self, query: &str) -> Result<String, String> {
        let answer = self
            .command_of("sqlite3")
            .args(["-readonly", "-cmd", ".timeout 5000"])
            .arg(self.database())
            .arg(query)
            .output()
            .unwrap();
        match answer.status.success() {
            true => Ok(String::from_utf8(answer.stdout).unwrap()),
            false => Err(String::from_utf8_lossy(&answer.stderr).into_owned()),
        }
    }

    /// How many events of a kind the log holds, and for which tasks.
    pub(crate) fn logged(&self, event: &str) -> Vec<String> {
        // Looked at first: what is written goes from there to the database.
        let mut found = self.journalled(event);
        found.extend(self.stored(event));
        found.into_values().collect()
    }

    /// Likewise, as far as it is on the disk.
    pub(crate) fn synced(&self, event: &str) -> Vec<String> {
        self.stored(event).into_values().collect()
    }

    /// By run and number.
    fn stored(&self, event: &str) -> BTreeMap<(String, u64), String> {
        let query = format!(
            "SELECT id || ' ' || seq || ' ' || coalesce(json_extract(body, '$.{event}.task'), '') \
             FROM events JOIN runs ON run = key WHERE json_extract(body, '$.{event}') IS NOT NULL"
        );
        let words = |line: &str| {
            let words: Vec<&str> = line.splitn(3, ' ').collect();
            ((words[0].to_owned(), words[1].parse().unwrap()), words[2].to_owned())
        };
        self.try_sql(&query).unwrap_or_default().lines().map(words).collect()
    }

    fn journalled(&self, event: &str) -> BTreeMap<(String, u64), String> {
        let mut found = BTreeMap::new();
        for run in self.runs() {
            let journal = fs::read(self.home().join("runs").join(&run).join("journal")).unwrap_or_default();
            let whole = String::from_utf8_lossy(&journal);
            let lines = whole.lines().map_while(|line| serde_json::from_str::<Value>(line.get(9..)?).ok());
            for turn in lines {
                for entry in
                    turn.as_array().unwrap().iter().filter(|entry| entry["event"].get(event).is_some())
                {
                    let task = entry["event"][event]["task"].as_str().unwrap_or_default().to_owned();
                    found.insert((run.clone(), entry["seq"].as_u64().unwrap()), task);
                }
            }
        }
        found
    }

    pub(crate) fn summary(&self) -> Value {
        let path = self.home().join("runs").join(self.run_id()).join("execution_summary.json");
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// `status` of each task, by its id.
    pub(crate) fn statuses(&self) -> BTreeMap<String, String> {
        let summary = self.summary();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let results = summary["results"].as_array().unwrap().iter();
        results.map(|result| (text(&result["task_id"]), text(&result["status"]))).collect()
    }
}

/// A test that failed half-way must not leave its agents to the next.
impl Drop for World {
    fn drop(&mut self) {
        for (pid, _) in self.runs().iter().flat_map(|run| leftovers(run)) {
            let _ = Pid::from_raw(pid as i32).map(|pid| rustix::process::kill_process(pid, Signal::KILL));
        }
    }
}

/// The program, still at work. Its outputs go to files, so that it never waits for us.
pub(crate) struct Live {
    pub(crate) child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Live {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.err).unwrap()).into_owned()
    }

    pub(crate) fn stderr_file(&self) -> File {
        File::options().append(true).open(&self.err).unwrap()
    }

    #[track_caller]
    pub(crate) fn wait_for_stderr(&self, text: &str) {
        wait_for(&format!("{text:?} on stderr"), || self.stderr().contains(text).then_some(()));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    #[track_caller]
    pub(crate) fn ended(self) -> Ended {
        self.ended_within(DEADLINE)
    }

    #[track_caller]
    pub(crate) fn ended_within(mut self, limit: Duration) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < limit, "not ended after {limit:?}:\n{}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        };
        Ended { code: status.code(), stdout: self.stdout(), stderr: self.stderr() }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.is_running() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// What the program left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Nothing where a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        assert!(!self.stderr.contains("panicked"), "{}", self.stderr);
        self
    }

    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Ended {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert!(all.contains(text), "no {text:?} in\n{all}");
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}:\n{}", self.stdout))
    }

    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(parse).collect()
    }
}

/// Living processes that carry a run's mark, with what they are.
pub(crate) fn leftovers(run: &str) -> Vec<(u32, String)> {
    let mark = format!("CONDUCTOR_RUN={run}");
    processes()
        .into_iter()
        .filter(|&pid| carries(pid, &mark))
        .filter(|&pid| state(pid).is_some_and(|state| state != 'Z'))
        .map(named)
        .collect()
}

/// Whether a process was started with this in its environment.
pub(crate) fn carries(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
}

/// Living processes that another has started itself.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let is_child = |pid: &u32| stat(*pid).is_some_and(|(state, of)| state != 'Z' && of == parent);
    processes().into_iter().filter(is_child).collect()
}

#[track_caller]
pub(crate) fn expect_no_leftovers(run: &str) {
    let left = leftovers(run);
    assert!(left.is_empty(), "still running: {left:?}");
}

/// Living processes with this word among their arguments, and what they are.
pub(crate) fn named_like(word: &str) -> Vec<(u32, String)> {
    let all = processes().into_iter().filter(|&pid| is_alive(pid)).map(named);
    all.filter(|(_, words)| words.split(' ').any(|own| own == word)).collect()
}

/// Dead children that a process has not collected.
pub(crate) fn zombies_of(parent: u32) -> Vec<(u32, String)> {
    let is_child = |pid: &u32| stat(*pid).is_some_and(|(state, of)| state == 'Z' && of == parent);
    processes().into_iter().filter(is_child).map(named).collect()
}

pub(crate) fn is_alive(pid: u32) -> bool {
    state(pid).is_some_and(|state| state != 'Z')
}

fn named(pid: u32) -> (u32, String) {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    (pid, String::from_utf8_lossy(&words).replace('\0', " "))
}

fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn state(pid: u32) -> Option<char> {
    stat(pid).map(|(state, _)| state)
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
