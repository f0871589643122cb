//! The real agent CLIs, each against a stand-in for its model: what is asked of one is asked of all.
//!
//! A mark in the prompt, `[[script:NAME]]`, says which script an agent follows.

mod canaries;
mod claude;
mod confined;
mod endings;
mod expertise;
mod follow_ups;
mod graph;
mod kills;
mod limits;
mod logs;
mod money;
mod permissions;
mod preempting;
mod races;
mod random_money;
mod refusals;
mod reviews;
mod stopping;
mod subagents;
mod table;
mod told;

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{DEADLINE, Live, World, carries, children, leftovers, wait_for};
use crate::repository::{git, repository, start};

/// Longer than many agents take one after the other on a busy machine: some need ten seconds to start.
pub(crate) const SLOW: Duration = Duration::from_secs(240);

/// A repository in which prompts are done by one of the CLIs.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) stand_in: StandIn,
}

impl Bench {
    /// None, and a message, if the program cannot be had. `config` goes into the task file's section of that
    /// name, behind what every such file says.
    pub(crate) fn new(agent: Agent, config: &str, tasks: &str) -> Option<Bench> {
        let bin = or_skip(agent)?;
        let stand_in = StandIn::start_blocking().unwrap();
        let (name, model) = (agent.program(), model(agent));
        // OpenCode looks for a list of models on the network, unless it is told not to.
        let mut world = repository(&format!(
            "config: {{ agent: {name}, model: {model}, env_pass: [OPENCODE_DISABLE_MODELS_FETCH], {config} }}\n\
             tasks:\n{tasks}"
        ));
        let home = world.root().join("user");
        let base_url = stand_in.base_url("none");
        let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
        for (name, value) in lodging.furnish(agent).unwrap() {
            world.set(name, value);
        }
        Some(Bench { world, stand_in })
    }

    /// Has another of the CLIs at hand, too; nothing where it cannot be had.
    pub(crate) fn also(mut self, agent: Agent) -> Option<Bench> {
        let bin = or_skip(agent)?;
        let home = self.world.root().join("user");
        let base_url = self.stand_in.base_url("none");
        let lodging = Lodging { bin: &bin, home: &home, base_url: &base_url, retries: 1 };
        let before = self.world.variable("PATH");
        for (name, value) in lodging.furnish(agent).unwrap() {
            self.world.set(name, value);
        }
        let path = std::env::split_paths(&self.world.variable("PATH"))
            .chain(std::env::split_paths(&before))
            .collect::<Vec<_>>();
        self.world.set("PATH", std::env::join_paths(path).unwrap());
        Some(self)
    }

    pub(crate) fn script(&self, name: &str, script: Script) {
        self.stand_in.script(name, script);
    }

    pub(crate) fn run(&self, args: &[&str]) -> Live {
        start(&self.world, args)
    }

    /// What a file is on the run's branch.
    #[track_caller]
    pub(crate) fn landed(&self, file: &str) -> String {
        git(&self.world, &["show", &format!("conductor/{}:{file}", self.world.run_id())])
    }

    /// Waits until a script has been asked for so many answers.
    #[track_caller]
    pub(crate) fn await_requests(&self, script: &str, number: usize) {
        assert!(self.stand_in.await_requests(script, number, DEADLINE), "{script} does not ask");
    }

    /// Waits until the run has a process with these words in its command line.
    #[track_caller]
    pub(crate) fn wait_for_process(&self, words: &str) {
        let run = self.world.run_id();
        wait_for(words, || leftovers(&run).iter().any(|(_, line)| line.contains(words)).then_some(()));
    }

    /// Ends the very process that was started for a task.
    #[track_caller]
    pub(crate) fn kill(&self, live: &Live, task: &str) {
        kill(self.process(live, task));
    }

    /// Ends what the process that was started for a task has started.
    #[track_caller]
    pub(crate) fn kill_below(&self, live: &Live, task: &str) {
        let parent = self.process(live, task);
        kill(wait_for("a child", || children(parent).first().copied()));
    }

    #[track_caller]
    fn process(&self, live: &Live, task: &str) -> u32 {
        let mark = format!("CONDUCTOR_TASK={task}");
        let below = wait_for(task, || children(live.pid()).into_iter().find(|&pid| carries(pid, &mark)));
        let line = std::fs::read(format!("/proc/{below}/cmdline")).unwrap_or_default();
        match line.split(|byte| *byte == 0).any(|word| word == b"shim") {
            true => wait_for("the agent of its shim", || children(below).first().copied()),
            false => below,
        }
    }

    /// From now on the agent's program exits with 0, whatever becomes of it.
    pub(crate) fn always_exits_with_zero(&mut self, agent: Agent) {
        let folder = self.world.root().join("bin");
        let path = self.world.variable("PATH");
        let real = std::env::split_paths(&path).map(|folder| folder.join(agent.program()));
        let real = real.into_iter().find(|program| program.is_file()).unwrap();
        std::fs::create_dir(&folder).unwrap();
        let wrapper = folder.join(agent.program());
        std::fs::write(&wrapper, format!("#!/bin/sh\n{} \"$@\"\nexit 0\n", real.display())).unwrap();
        std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).unwrap();
        let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
        self.world.set("PATH", std::env::join_paths(folders).unwrap());
    }

    /// Of what class the attempts of a task were that failed, one after the other.
    pub(crate) fn classes(&self, task: &str) -> Vec<String> {
        let query = format!(
            "SELECT json_extract(body, '$.attempt_ended.outcome.failed.class') AS class FROM events \
             WHERE json_extract(body, '$.attempt_ended.task') = '{task}' AND class IS NOT NULL ORDER BY seq"
        );
        self.world.sql(&query).lines().map(str::to_owned).collect()
    }

    /// All that went between a task's agent and us, as it was written.
    pub(crate) fn heard(&self, task: &str) -> String {
        let transcripts = self.world.transcripts(task).into_iter();
        transcripts.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
    }

    /// What a task's agent said, for people; not the lines of its protocol.
    pub(crate) fn said(&self, task: &str) -> String {
        let transcripts = self.world.transcripts(task).into_iter();
        let words = transcripts.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        words.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
    }
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

/// A task that is done by the script of its own name, with further settings.
pub(crate) fn prompt(name: &str, settings: &str) -> String {
    format!("  - {{ id: {name}, prompt: '[[script:{name}]] Do it', {settings} }}\n")
}

fn model(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-opus-5-5",
        Agent::Codex => "gpt-5.5-codex",
        Agent::Gemini => "gemini-2.5-flash",
        Agent::Opencode => "stand-in/stand-in",
    }
}

/// The same test for each of the agents, under its name.
macro_rules! for_each_agent {
    ($test:path) => {
        #[test]
        fn claude() {
            $test(conductor_testkit::agents::Agent::Claude);
        }
        #[test]
        fn codex() {
            $test(conductor_testkit::agents::Agent::Codex);
        }
        #[test]
        fn gemini() {
            $test(conductor_testkit::agents::Agent::Gemini);
        }
        #[test]
        fn opencode() {
            $test(conductor_testkit::agents::Agent::Opencode);
        }
    };
}
use for_each_agent;
