//! A home for an agent CLI in which it finds the stand-in and nothing else: no account, no key, no telemetry, no
//! updates, and no way to the network that would work.
//!
//! The user's settings are not read: the environment starts empty, and settings lie in the given home.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::Agent;

/// A key that opens nothing.
const KEY: &str = "stand-in-dummy-key";

/// No process listens there: what a CLI sends anywhere but to loopback goes nowhere.
const NOWHERE: &str = "http://127.0.0.1:9";

/// What a CLI is to find.
#[derive(Clone, Copy, Debug)]
pub struct Lodging<'a> {
    /// The folder with its program.
    pub bin: &'a Path,
    pub home: &'a Path,
    /// Of the stand-in, see `StandIn::base_url`.
    pub base_url: &'a str,
    /// How often it may ask again, where that can be told it.
    pub retries: u32,
}

impl Lodging<'_> {
    /// Writes the CLI's settings into the home and gives the whole environment it is to have.
    pub fn furnish(&self, agent: Agent) -> io::Result<Vec<(&'static str, OsString)>> {
        let mut environment = self.bare()?;
        match agent {
            Agent::Claude => environment.extend(self.claude()),
            Agent::Codex => environment.extend(self.codex()?),
            Agent::Gemini => environment.extend(self.gemini()?),
            Agent::Opencode => environment.extend(self.opencode()?),
        }
        // gemini's client sends even what is for loopback through a proxy.
        if agent != Agent::Gemini {
            environment.extend([("HTTP_PROXY", NOWHERE), ("HTTPS_PROXY", NOWHERE)].map(owned));
            environment.push(owned(("NO_PROXY", "127.0.0.1,localhost")));
        }
        Ok(environment)
    }

    /// The environment of a program that needs no settings.
    pub fn bare(&self) -> io::Result<Vec<(&'static str, OsString)>> {
        let scratch = self.home.join("tmp");
        fs::create_dir_all(&scratch)?;
        Ok(vec![("PATH", self.path()), ("HOME", self.home.into()), ("TMPDIR", scratch.into())])
    }

    /// The CLI with one prompt, its events on stdout. It may write and run what it likes where it is started.
    pub fn one_shot(&self, agent: Agent, prompt: &str) -> io::Result<Command> {
        let mut command = Command::new(self.bin.join(agent.program()));
        command.env_clear().envs(self.furnish(agent)?);
        match agent {
            Agent::Claude => {
                command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]).args([
                    "--permission-mode",
                    "acceptEdits",
                    "--allowedTools",
                    "Read,Write,Edit,Bash,Agent,mcp__tasks",
                ])
            }
            Agent::Codex => {
                command.args(["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", prompt])
            }
            Agent::Gemini => command.args([
                "-p",
                prompt,
                "-o",
                "stream-json",
                "-y",
                "--skip-trust",
                "-m",
                "gemini-2.5-flash",
            ]),
            Agent::Opencode => command.args(["run", "--format", "json", "--pure", prompt]),
        };
        Ok(command)
    }

    /// Node and a shell are wherever they are; the CLI itself is ours.
    fn path(&self) -> OsString {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.bin.to_owned()).chain(std::env::split_paths(&inherited));
        std::env::join_paths(folders).unwrap_or(inherited)
    }

    fn claude(&self) -> Vec<(&'static str, OsString)> {
        let mut environment = [
            ("ANTHROPIC_BASE_URL", self.base_url),
            ("ANTHROPIC_API_KEY", KEY),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            ("DISABLE_TELEMETRY", "1"),
        ]
        .map(owned)
        .to_vec();
        environment.push(("CLAUDE_CODE_MAX_RETRIES", self.retries.to_string().into()));
        environment
    }

    fn codex(&self) -> io::Result<Vec<(&'static str, OsString)>> {
        let settings = format!(
            "model = \"gpt-5.5-codex\"\n\
             model_provider = \"stand-in\"\n\
             [model_providers.stand-in]\n\
             name = \"stand-in\"\n\
             base_url = \"{}/v1\"\n\
             env_key = \"OPENAI_API_KEY\"\n\
             wire_api = \"responses\"\n\
             request_max_retries = 0\n\
             stream_max_retries = {}\n\
             [analytics]\n\
             enabled = false\n\
             [feedback]\n\
             enabled = false\n",
            self.base_url, self.retries
        );
        self.put(".codex", "config.toml", &settings)?;
        Ok(vec![owned(("OPENAI_API_KEY", KEY))])
    }

    fn gemini(&self) -> io::Result<Vec<(&'static str, OsString)>> {
        let settings = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": false},
            "telemetry": {"enabled": false},
            "general": {
                "enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true,
                "maxAttempts": self.retries + 1,
            },
        });
        self.put(".gemini", "settings.json", &settings.to_string())?;
        let environment = [
            ("GEMINI_API_KEY", KEY),
            ("GOOGLE_GEMINI_BASE_URL", self.base_url),
            // Its launcher ignores signals and costs a second.
            ("GEMINI_CLI_NO_RELAUNCH", "true"),
        ];
        Ok(environment.map(owned).to_vec())
    }

    fn opencode(&self) -> io::Result<Vec<(&'static str, OsString)>> {
        let model = json!({
            "name": "stand-in",
            "limit": {"context": 200_000, "output": 8000},
            "cost": {"input": 3, "output": 15, "cache_read": 0.3},
        });
        let settings = json!({
            "provider": {"stand-in": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "stand-in",
                "options": {"baseURL": format!("{}/v1", self.base_url), "apiKey": KEY},
                "models": {"stand-in": model},
            }},
            "model": "stand-in/stand-in",
            "small_model": "stand-in/stand-in",
            "permission": {"edit": "allow", "bash": "allow"},
            "autoupdate": false,
            "share": "disabled",
        });
        self.put(".config/opencode", "opencode.json", &settings.to_string())?;
        Ok([("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")].map(owned).to_vec())
    }

    fn put(&self, folder: &str, file: &str, text: &str) -> io::Result<()> {
        let folder = self.home.join(folder);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(file), text)
    }
}

fn owned((name, value): (&'static str, &str)) -> (&'static str, OsString) {
    (name, value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_an_agent_finds_is_on_this_machine() {
        for agent in Agent::ALL {
            let home = tempfile::tempdir().unwrap();
            let base_url = "http://127.0.0.1:1234/job/a";
            let lodging = Lodging { bin: Path::new("/bin"), home: home.path(), base_url, retries: 1 };
            let command = lodging.one_shot(agent, "Do it").unwrap();
            let set = command.get_envs().map(|(name, value)| (name.to_owned(), value.unwrap().to_owned()));
            let environment: Vec<(OsString, OsString)> = set.collect();
            assert!(environment.contains(&("HOME".into(), home.path().into())), "{agent:?}");
            let addresses = environment.iter().map(|(_, value)| value.to_string_lossy());
            let elsewhere =
                addresses.filter(|value| value.contains("://") && !value.starts_with("http://127.0.0.1:"));
            assert_eq!(elsewhere.count(), 0, "{agent:?}");
        }
    }
}
