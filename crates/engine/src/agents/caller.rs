//! The environment of the caller: what of it a task's program gets, and what of it is secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use conductor_core::plan::{Plan, Task};

use crate::git::workspaces::Workspace;
use crate::host::redact::{self, Redactor};
use crate::plugins::{self, Environment};

/// What an agent needs to reach its provider through a proxy; commands do not get it.
pub(super) const NETWORK: [&str; 9] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "NODE_EXTRA_CA_CERTS",
];

/// Names every program may expect; the rest of the caller's environment, keys and tokens above all, stays
/// out.
const PASSED: [&str; 22] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "TMPDIR",
    "XDG_*",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "CI",
    "SSL_CERT_*",
];

/// The caller's environment, looked through once for the whole run.
#[derive(Debug, Clone, Default)]
pub struct Caller {
    pub(super) passed: Arc<BTreeMap<OsString, OsString>>,
    held_back: Vec<(OsString, OsString)>,
    secrets: Arc<Redactor>,
}

impl Caller {
    pub fn new(environment: impl Iterator<Item = (OsString, OsString)>) -> Caller {
        let passes = |name: &OsString| PASSED.iter().any(|pattern| names(pattern, name));
        let (passed, held_back): (Vec<_>, Vec<_>) = environment.partition(|(name, _)| passes(name));
        let secret = |(name, _): &&(OsString, OsString)| redact::is_secret_name(&name.to_string_lossy());
        let secrets = held_back.iter().filter(secret).map(|(_, value)| value.as_encoded_bytes().to_vec());
        let secrets = Arc::new(Redactor::new(secrets));
        Caller { passed: Arc::new(passed.into_iter().collect()), held_back, secrets }
    }

    /// What to remove from a task's output: the caller's secrets, what is passed on only because the task
    /// asks for it, and what the task sets under a secret's name.
    pub(crate) fn redactor(&self, plan: &Plan, task: &Task) -> Arc<Redactor> {
        self.secrets.and(self.values(plan, task))
    }

    /// What is secret in a task's environment beside what is so for all of them.
    pub(super) fn values(&self, plan: &Plan, task: &Task) -> Vec<Vec<u8>> {
        let program: &[String] = plan.agents.get(task.agent_name()).map_or(&[], |program| &program.env_pass);
        if task.env.is_empty() && task.env_pass.is_empty() && program.is_empty() {
            return Vec::new();
        }
        let patterns = || task.env_pass.iter().chain(program);
        let asked = |name: &OsString| patterns().any(|pattern| names(pattern, name));
        let passed = self
            .held_back
            .iter()
            .filter(|(name, _)| asked(name) && !redact::is_harmless_name(&name.to_string_lossy()));
        let own = task.env.iter().filter(|(name, _)| redact::is_secret_name(name));
        let own = own.map(|(_, value)| value.as_bytes().to_vec());
        passed.map(|(_, value)| value.as_encoded_bytes().to_vec()).chain(own).collect()
    }

    /// A variable of the caller, for a backend that needs it: keys go nowhere else.
    pub(super) fn variable(&self, name: &str) -> Option<(OsString, OsString)> {
        let known = self.held_back.iter().find(|(known, _)| known == name);
        known.cloned().or_else(|| {
            self.passed.get_key_value(std::ffi::OsStr::new(name)).map(|(n, v)| (n.clone(), v.clone()))
        })
    }

    /// What a plugin gets that is no part of a task's work.
    pub fn for_plugins(&self) -> Environment {
        let meant = |name: &OsString| name.as_encoded_bytes().starts_with(plugins::VARIABLES.as_bytes());
        let own = self.held_back.iter().filter(|(name, _)| meant(name)).cloned();
        self.passed.iter().map(|(name, value)| (name.clone(), value.clone())).chain(own).collect()
    }

    /// The names of the caller's variables that a pattern means.
    pub(super) fn matching(&self, pattern: &str) -> Vec<String> {
        let known = self.held_back.iter().map(|(name, _)| name).chain(self.passed.keys());
        known
            .filter(|name| names(pattern, name))
            .filter_map(|name| name.to_str().map(str::to_owned))
            .collect()
    }

    /// The environment of a task's program. Later ones win: what every program gets, what the
    /// workspace sets, what the task asks for, what the task sets.
    pub(super) fn environment(
        &self,
        task: &Task,
        workspace: &Workspace,
    ) -> Arc<BTreeMap<OsString, OsString>> {
        if task.env.is_empty() && task.env_pass.is_empty() && workspace.env.is_empty() {
            return self.passed.clone();
        }
        let asked = |name: &OsString| task.env_pass.iter().any(|pattern| names(pattern, name));
        let mut environment = self.passed.as_ref().clone();
        environment.extend(workspace.env.iter().map(|(name, value)| (name.into(), value.into())));
        environment.extend(self.held_back.iter().filter(|(name, _)| asked(name)).cloned());
        environment.extend(task.env.iter().map(|(name, value)| (name.into(), value.into())));
        Arc::new(environment)
    }
}

fn names(pattern: &str, name: &OsString) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.as_encoded_bytes().starts_with(prefix.as_bytes()),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::{Command, Work};
    use conductor_core::values::ids::TaskId;

    use super::*;

    #[test]
    fn secrets_of_the_caller_stay_out_unless_asked_for() {
        let mut task = Task::new(TaskId::parse("t").unwrap(), Work::Run(Command::Line("true".into())));
        task.env.insert("MINE".into(), "1".into());
        task.env.insert("LANG".into(), "C".into());
        task.env_pass = vec!["DATABASE_URL".into(), "AWS_*".into()];
        let caller = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("LANG", "de"),
            ("ANTHROPIC_API_KEY", "sk"),
            ("GITHUB_TOKEN", "t"),
            ("DATABASE_URL", "db"),
            ("AWS_REGION", "eu"),
            ("CONDUCTOR_HOME", "/x"),
        ];
        let caller = caller.into_iter().map(|(name, value)| (name.into(), value.into()));
        let shown: Vec<String> = Caller::new(caller)
            .environment(&task, &Workspace::default())
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect();
        assert_eq!(shown, ["AWS_REGION=eu", "DATABASE_URL=db", "LANG=C", "LC_ALL=C", "MINE=1", "PATH=/bin"]);
    }
}
