//! A world for one CLI: an empty home, an empty folder to work in, a stand-in, and a clock that runs out.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Answered, Request, Script, StandIn};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any of these takes on a busy machine: only a hang gets there.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) const JOB: &str = "job";
pub(crate) const HELLO: &str = "hello from the agent\n";

pub(crate) struct World {
    pub(crate) agent: Agent,
    pub(crate) stand_in: StandIn,
    bin: PathBuf,
    root: TempDir,
}

/// What a CLI left behind when it ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) events: Vec<Value>,
    pub(crate) stderr: String,
}

impl World {
    /// None, loudly, where the CLI cannot be had.
    pub(crate) fn of(agent: Agent, script: Script) -> Option<World> {
        let bin = or_skip(agent)?;
        let stand_in = StandIn::start_blocking().unwrap();
        stand_in.script(JOB, script);
        let root = tempfile::Builder::new().prefix("conductor-real-").tempdir().unwrap();
        fs::create_dir(root.path().join("home")).unwrap();
        fs::create_dir(root.path().join("work")).unwrap();
        Some(World { agent, stand_in, bin, root })
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.work().join(file)).unwrap_or_else(|error| format!("{file}: {error}"))
    }

    /// A one-shot of the CLI, ready to be given further words.
    pub(crate) fn command(&self, prompt: &str) -> Command {
        let (bin, home) = (&self.bin, &self.home());
        let lodging = Lodging { bin, home, base_url: &self.stand_in.base_url(JOB), retries: 2 };
        lodging.one_shot(self.agent, prompt).unwrap()
    }

    pub(crate) fn run(&self) -> Ended {
        self.finish(self.command("Do it"))
    }

    /// Runs it to its end, or kills it when that is too long in coming.
    pub(crate) fn finish(&self, mut command: Command) -> Ended {
        let said = |name: &str| self.root.path().join(name);
        command.current_dir(self.work()).stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(said("stdout")).unwrap()).stderr(File::create(said("stderr")).unwrap());
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() >= deadline {
                let group = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
                kill_process_group(group, Signal::KILL).unwrap();
                child.wait().unwrap();
                panic!("{:?} did not end in {DEADLINE:?}: {}", self.agent, ended(&said("stderr")));
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let stdout = ended(&said("stdout"));
        let events = stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ended { status, events, stderr: ended(&said("stderr")) }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.stand_in.requests(JOB)
    }

    /// The statuses of the job's own requests, in their order.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        let requests = self.requests().into_iter().filter(|request| request.answer != Answered::Aside);
        requests.map(|request| request.status).collect()
    }

    /// The MCP server of the tests, and what to start it with.
    pub(crate) fn mcp_server(&self) -> Value {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/real/mcp.mjs");
        json!({"command": "node", "args": [file, self.work().join("mcp.log")]})
    }
}

fn ended(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

impl Ended {
    /// The last event of a type.
    #[track_caller]
    pub(crate) fn last(&self, kind: &str) -> &Value {
        let found = self.events.iter().rev().find(|event| event["type"] == kind);
        found.unwrap_or_else(|| panic!("no {kind} event\n{}", self.story()))
    }

    #[track_caller]
    pub(crate) fn exited(&self, code: i32) -> &Ended {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.status, self.story());
        self
    }

    fn story(&self) -> String {
        let events: Vec<String> = self.events.iter().map(Value::to_string).collect();
        format!("{}\n{}", events.join("\n"), self.stderr)
    }
}

/// What most tests have an agent do.
pub(crate) fn work() -> Script {
    Script::new()
        .text("I will write the file.")
        .write_file("hello.txt", HELLO)
        .run("cat hello.txt > copy.txt")
        .edit("copy.txt", "hello from the agent", "edited by the agent")
        .finish("Done: hello.txt written.")
}

/// The same after something went wrong.
pub(crate) fn then_work(trouble: Script) -> Script {
    trouble.text("I will write the file, and do it with care.").write_file("hello.txt", HELLO).finish("Done.")
}

/// A call of the tests' MCP server.
pub(crate) fn report() -> Script {
    let arguments = json!({"task_id": "T-1", "status": "done"});
    Script::new().text("reporting").mcp("tasks", "update_task_status", arguments).finish("reported")
}

pub(crate) const REPORTED: &str = "{\"task_id\":\"T-1\",\"status\":\"done\"}\n";
