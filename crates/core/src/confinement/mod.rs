//! What a task's processes see of the machine: one value, computed from the task, its agent and where it works.
//!
//! It knows no way to bring that about. The engine turns the value into mounts, namespaces and a proxy where the machine
//! can do that, and says so where it cannot.
//!
//! Everything is an allow-list: what is not named is not there. A list of what is to be hidden would miss the secret that
//! a program puts somewhere tomorrow.

mod agents;
mod grants;
pub mod hosts;
mod paths;
mod settings;
mod workspace;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plan::{Network, SandboxMode, Task};
pub use grants::Grant;
use hosts::HostRule;
pub use paths::PROTECTED;
use paths::{CACHES, MOVED, OF_THE_SYSTEM, SYSTEM, TOOLS};
pub use settings::without_sign_ins;

/// Whether an agent makes a sandbox of its own for its commands, and cannot do that inside of another one.
pub fn confines_itself(agent: &str) -> bool {
    agent == "codex"
}

/// Whether a task asks for what its agent cannot be given: to be confined at all costs, or a limited network, which nothing but a
/// sandbox of ours keeps to.
pub fn is_unconfinable(task: &Task) -> bool {
    let is_asked_for = match task.sandbox_mode() {
        SandboxMode::Require => true,
        SandboxMode::Prefer => task.network().is_restricted(),
        SandboxMode::Off => false,
    };
    is_asked_for && confines_itself(task.agent_name())
}

/// What a process can do with a path and all below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Read,
    /// A git configuration: to read, without what signs in.
    Settings,
    Write,
    /// To write, and made where it is missing: a folder that outlives the attempt.
    Make,
    /// A copy of the file, which is gone with the attempt.
    Copy,
    /// A folder of the attempt's own on the disk, empty at first.
    Fresh,
    /// It is there, and nothing is in it.
    Hidden,
}

/// One path, by its absolute name. A later one lies over the earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    pub path: String,
    pub access: Access,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    pub mounts: Vec<Mount>,
    /// What is reached of the network; everything where absent.
    pub reach: Option<Vec<HostRule>>,
}

/// Where the git directory of the place a task works in is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum GitPlace {
    #[default]
    None,
    /// In the folder itself.
    Inside,
    /// Elsewhere, where a file in the folder leads: of a submodule, or of a worktree of the user's.
    Pointed,
    /// Shared with the user's checkout: the repository's, and the worktree's own part in it.
    Worktree { common: String, own: String },
    /// In the folder, reading the objects of another repository.
    Clone { of: String },
}

/// What is known of the machine and of the attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// The environment the process gets.
    pub variables: BTreeMap<String, String>,
    /// The program that is started, and the file that this is, by all names it is known by.
    pub program: String,
    pub executable: Vec<String>,
    /// Further folders that the program, or git where it works, reads.
    pub needed: Vec<String>,
    /// The state directory of all runs.
    pub state: String,
    /// The root of the folder it works in.
    pub tree: String,
    pub temporary: Option<String>,
    pub git: GitPlace,
    /// The git directories of the submodules in there, in the folder or beside it.
    pub modules: Vec<String>,
    /// What the folder's own git directory knows of worktrees: a folder for each.
    pub worktrees: Vec<String>,
    /// Objects of the repository's submodules, which those in the folder read.
    pub lent: Vec<String>,
    /// Which of `PROTECTED` are there, and no links.
    pub present: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unconfinable {
    #[error("it has no HOME")]
    Homeless,
    #[error("it works in {0}, which holds the whole home directory")]
    HoldsHome(String),
}

impl Confinement {
    pub fn of(task: &Task, around: &Surroundings) -> Result<Confinement, Unconfinable> {
        let home =
            around.variables.get("HOME").map(|home| trimmed(home)).filter(|home| home.starts_with('/'));
        let home = home.ok_or(Unconfinable::Homeless)?;
        if is_within(home, &around.tree) {
            return Err(Unconfinable::HoldsHome(around.tree.clone()));
        }
        let mut found = Found { home, around, mounts: Vec::new() };
        found.system();
        found.tools(task.network().is_restricted());
        found.agent(task.agent_name());
        found.workspace(task.sandbox.as_deref());
        Ok(Confinement { mounts: found.mounts, reach: reach(task, around) })
    }

    /// Without what lies in a folder that an agent writes and is not plainly there: it could have put a link, and what that leads
    /// to is not what was meant. `is_plain` is asked about a folder and a path below it. The git directory that worktrees share
    /// is no such folder: links in there are the user's, and lie under what is only to be read.
    pub fn without_links(mut self, is_plain: &dyn Fn(&str, &str) -> bool) -> Confinement {
        let mounts = std::mem::take(&mut self.mounts);
        let is_split = |folder: &Mount| {
            mounts.iter().any(|part| {
                part.access == Access::Fresh
                    && part.path != folder.path
                    && is_within(&part.path, &folder.path)
            })
        };
        let is_meant = |mount: &&Mount| {
            let is_shown = !matches!(mount.access, Access::Copy | Access::Fresh | Access::Hidden);
            let mut over = mounts.iter().filter(|over| {
                matches!(over.access, Access::Write | Access::Make)
                    && over.path != mount.path
                    && is_within(&mount.path, &over.path)
                    && !is_split(over)
            });
            let below = |over: &Mount| mount.path[over.path.len()..].trim_matches('/').to_owned();
            !is_shown || over.all(|over| is_plain(&over.path, &below(over)))
        };
        self.mounts = mounts.iter().filter(is_meant).cloned().collect();
        self
    }

    /// Whether it reaches nothing of the network at all.
    pub fn is_offline(&self) -> bool {
        self.reach.as_ref().is_some_and(Vec::is_empty)
    }

    /// Services of this machine that it reaches, as host and port.
    pub fn services(&self) -> Vec<String> {
        let mut services: Vec<String> = self.reach.iter().flatten().filter_map(HostRule::service).collect();
        services.sort();
        services.dedup();
        services
    }
}

/// The hosts that are listed, those of the agent's model, and the services that the run itself offers. A command has no
/// model.
fn reach(task: &Task, around: &Surroundings) -> Option<Vec<HostRule>> {
    let listed: &[String] = match task.network() {
        Network::Full => return None,
        Network::Off => &[],
        Network::Allow(hosts) => hosts,
    };
    let agent = agents::needs(task.agent_name()).unwrap_or(agents::NOTHING);
    let urls = agents::MODEL_URLS.iter().chain(&[TOOLS_URL]).filter_map(|name| around.variables.get(*name));
    let urls = urls.filter_map(|url| service(url));
    let hosts = listed.iter().map(String::as_str).chain(agent.hosts.iter().copied()).map(str::to_owned);
    let hosts = hosts.chain(agents::own_hosts(task.agent_name(), &around.variables));
    Some(hosts.chain(urls).filter_map(|host| HostRule::parse(&host)).collect())
}

/// Where the tools are that a run offers to its agents.
pub const TOOLS_URL: &str = "CONDUCTOR_TOOLS_URL";

/// Host and port of an address.
fn service(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    match (has_port, scheme) {
        (true, _) => Some(host.to_owned()),
        (false, "http") => Some(format!("{host}:80")),
        (false, "https") => Some(format!("{host}:443")),
        (false, _) => None,
    }
}

struct Found<'a> {
    home: &'a str,
    around: &'a Surroundings,
    mounts: Vec<Mount>,
}

impl Found<'_> {
    fn add(&mut self, path: impl Into<String>, access: Access) {
        self.mounts.push(Mount { path: path.into(), access });
    }

    fn system(&mut self) {
        SYSTEM.into_iter().for_each(|path| self.add(path, Access::Read));
        OF_THE_SYSTEM.into_iter().for_each(|path| self.add(path, Access::Hidden));
        ["/tmp", "/var/tmp"].into_iter().for_each(|path| self.add(path, Access::Fresh));
        self.add(self.home, Access::Fresh);
        for (variable, _) in MOVED {
            if let Some(folder) = self.moved(variable)
                && variable != "RUSTUP_HOME"
            {
                self.add(folder, Access::Fresh);
            }
        }
    }

    /// What a variable names outside of the home.
    fn moved(&self, variable: &str) -> Option<String> {
        let folder = trimmed(self.around.variables.get(variable)?);
        let is_other = folder.starts_with('/') && !is_within(folder, self.home) && !self.holds_much(folder);
        is_other.then(|| folder.to_owned())
    }

    /// A path below the home, where it is by the variables that move some of them.
    fn at_home(&self, path: &str) -> String {
        let moved = MOVED.iter().find_map(|(variable, folder)| {
            let rest = path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))?;
            let to = trimmed(self.around.variables.get(*variable)?);
            to.starts_with('/').then(|| format!("{to}{rest}"))
        });
        moved.unwrap_or_else(|| format!("{}/{path}", self.home))
    }

    fn tools(&mut self, is_offline: bool) {
        let caches: &[&str] = if is_offline { &CACHES } else { &[] };
        for path in TOOLS.iter().chain(caches) {
            self.add(self.at_home(path), Access::Read);
        }
        let path = self.around.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let folders = path.split(':').map(trimmed).chain(self.around.needed.iter().map(String::as_str));
        for folder in folders {
            let is_system = SYSTEM.iter().any(|system| is_within(folder, system));
            if folder.starts_with('/') && !is_system && !self.holds_much(folder) {
                self.add(folder, Access::Read);
            }
        }
        for executable in &self.around.executable {
            self.add(executable.clone(), Access::Read);
        }
    }

    /// Whether a folder is more than a program is installed in: all of a home, all that we know, or part of that.
    fn holds_much(&self, folder: &str) -> bool {
        let state = &self.around.state;
        is_within(self.home, folder) || is_within(state, folder) || is_within(folder, state)
    }

    fn agent(&mut self, name: &str) {
        let Some(needs) = agents::needs(name) else {
            for folder in agents::folders_of(&self.around.program) {
                self.add(self.at_home(&folder), Access::Write);
            }
            return;
        };
        let moved = needs.variable.and_then(|(variable, folder)| {
            Some((folder, trimmed(self.around.variables.get(variable)?).to_owned()))
        });
        if let Some((_, to)) = &moved {
            // A home that the task was given is its own alone.
            let is_own = is_within(to, &self.around.state);
            if is_own || !is_within(to, self.home) {
                self.add(to.clone(), if is_own { Access::Write } else { Access::Fresh });
            }
            if is_own {
                return;
            }
        }
        let lists = [
            (needs.make, Access::Make),
            (needs.read, Access::Read),
            (needs.write, Access::Write),
            (needs.copy, Access::Copy),
        ];
        for (paths, access) in lists {
            for path in paths {
                let elsewhere = moved.as_ref().and_then(|(folder, to)| {
                    let rest = path.strip_prefix(folder).filter(|rest| rest.starts_with('/'))?;
                    Some(format!("{to}{rest}"))
                });
                self.add(elsewhere.unwrap_or_else(|| self.at_home(path)), access);
            }
        }
    }
}

fn trimmed(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => path.get(..1).unwrap_or_default(),
        path => path,
    }
}

/// Whether a path is another one or below it.
fn is_within(path: &str, folder: &str) -> bool {
    folder == "/" || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
