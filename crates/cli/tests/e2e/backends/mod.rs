//! The real agent CLIs, each against a stand-in for its model: what is asked of one is asked of all.
//!
//! Which script an agent follows is told by a mark in its prompt, `[[script:NAME]]`.

mod claude;
mod graph;
mod refusals;

use conductor_testkit::agents::{Agent, Lodging, or_skip};
use conductor_testkit::{Script, StandIn};

use crate::harness::{Live, World};
use crate::repository::{command, git, repository};

/// A repository in which prompts are done by one of the CLIs.
pub(crate) struct Bench {
    pub(crate) world: World,
    pub(crate) stand_in: StandIn,
}

impl Bench {
    /// Nothing, and a loud word, where the program cannot be had. `config` goes into the task file's section of that
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
        if agent == Agent::Codex {
            // Of several that start in a new home at once, all but one fail over its database (docs/agents.md).
            assert!(world.command_of("codex").arg("app-server").output().unwrap().status.success());
        }
        Some(Bench { world, stand_in })
    }

    pub(crate) fn script(&self, name: &str, script: Script) {
        self.stand_in.script(name, script);
    }

    pub(crate) fn run(&self, args: &[&str]) -> Live {
        self.world.spawn(&mut command(&self.world, &[&["run", "../tasks.yaml"], args].concat()))
    }

    /// What a file is on the run's branch.
    #[track_caller]
    pub(crate) fn landed(&self, file: &str) -> String {
        git(&self.world, &["show", &format!("conductor/{}:{file}", self.world.run_id())])
    }

    /// What a task's agent said, for people; not the lines of its protocol.
    pub(crate) fn said(&self, task: &str) -> String {
        let transcripts = self.world.transcripts(task).into_iter();
        let words = transcripts.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
        words.map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()).collect()
    }
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
