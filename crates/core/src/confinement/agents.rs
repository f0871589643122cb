//! What each kind of agent needs of its user's home, and which hosts its models are behind.

use std::collections::BTreeMap;

use super::is_within;
use super::paths::{CACHES, TOOLS};

/// What an agent needs of the home directory, as paths below it. All else of the home is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Needs {
    /// Its sign-in and its conversations: they outlive the attempt.
    pub(super) write: &'static [&'static str],
    /// The same for folders that it would make itself.
    pub(super) make: &'static [&'static str],
    pub(super) read: &'static [&'static str],
    /// Files it changes and that later sessions of the user's read commands from: it gets copies.
    pub(super) copy: &'static [&'static str],
    /// The variable that says where `folder` is instead.
    pub(super) variable: Option<(&'static str, &'static str)>,
    pub(super) hosts: &'static [&'static str],
}

const CLAUDE: Needs = Needs {
    write: &[".claude/.credentials.json"],
    make: &[".claude/projects"],
    read: &[
        ".claude/agents",
        ".claude/commands",
        ".claude/hooks",
        ".claude/local",
        ".claude/output-styles",
        ".claude/plugins",
        ".claude/rules",
        ".claude/skills",
        ".local/share/claude",
    ],
    copy: &[
        ".claude.json",
        ".claude/.claude.json",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/CLAUDE.md",
    ],
    variable: Some(("CLAUDE_CONFIG_DIR", ".claude")),
    hosts: &["api.anthropic.com", "claude.ai", "console.anthropic.com", "platform.claude.com"],
};

const CODEX: Needs = Needs {
    write: &[".codex/auth.json"],
    make: &[".codex/sessions", ".codex/archived_sessions"],
    read: &[".codex/prompts", ".codex/skills", ".codex/rules", ".codex/packages"],
    copy: &[".codex/config.toml", ".codex/AGENTS.md", ".codex/version.json", ".codex/models_cache.json"],
    variable: Some(("CODEX_HOME", ".codex")),
    hosts: &["api.openai.com", "auth.openai.com", "chatgpt.com"],
};

const GEMINI: Needs = Needs {
    write: &[".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
    make: &[".gemini/tmp"],
    read: &[".gemini/commands", ".gemini/extensions", ".gemini/policies", ".gemini/skills"],
    copy: &[
        ".gemini/settings.json",
        ".gemini/GEMINI.md",
        ".gemini/installation_id",
        ".gemini/projects.json",
        ".gemini/trustedFolders.json",
        ".gemini/.env",
    ],
    variable: None,
    hosts: &[
        "generativelanguage.googleapis.com",
        "cloudcode-pa.googleapis.com",
        "oauth2.googleapis.com",
        "www.googleapis.com",
    ],
};

const OPENCODE: Needs = Needs {
    write: &[],
    make: &[".local/share/opencode", ".local/state/opencode"],
    read: &[
        ".config/opencode/agent",
        ".config/opencode/agents",
        ".config/opencode/command",
        ".config/opencode/commands",
        ".config/opencode/node_modules",
        ".config/opencode/plugin",
        ".config/opencode/plugins",
        ".config/opencode/skills",
        ".local/share/opencode/bin",
        ".opencode/bin",
    ],
    copy: &[
        ".config/opencode/AGENTS.md",
        ".config/opencode/config.json",
        ".config/opencode/opencode.json",
        ".config/opencode/opencode.jsonc",
        ".config/opencode/package.json",
    ],
    variable: None,
    hosts: &[
        "opencode.ai",
        "models.dev",
        "api.anthropic.com",
        "api.openai.com",
        "generativelanguage.googleapis.com",
        "openrouter.ai",
        "api.groq.com",
        "api.mistral.ai",
        "api.deepseek.com",
        "api.x.ai",
    ],
};

pub(super) const NOTHING: Needs =
    Needs { write: &[], make: &[], read: &[], copy: &[], variable: None, hosts: &[] };

/// What one that is built in needs; nothing where it is another program.
pub(super) fn needs(agent: &str) -> Option<Needs> {
    match agent {
        "claude" => Some(CLAUDE),
        "codex" => Some(CODEX),
        "gemini" => Some(GEMINI),
        "opencode" => Some(OPENCODE),
        "shell" => Some(NOTHING),
        _ => None,
    }
}

/// Hosts of the user's own: Azure serves each of its customers by a name of theirs.
pub(super) fn own_hosts(agent: &str, variables: &BTreeMap<String, String>) -> Vec<String> {
    let is_name =
        |name: &&String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let name = variables.get("AZURE_RESOURCE_NAME").filter(|_| agent == "opencode").filter(is_name);
    let domains = ["openai.azure.com", "cognitiveservices.azure.com"];
    name.into_iter().flat_map(|name| domains.map(|domain| format!("{name}.{domain}"))).collect()
}

/// Variables of the user's that say where an agent's model is.
pub(super) const MODEL_URLS: [&str; 5] = [
    "ANTHROPIC_BASE_URL",
    "OPENAI_BASE_URL",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
    "CODE_ASSIST_ENDPOINT",
];

/// Folders of the home that no program of such a name gets for its own: they are where secrets are.
const WITHHELD: [&str; 28] = [
    "ssh",
    "aws",
    "azure",
    "gnupg",
    "docker",
    "kube",
    "netrc",
    "config",
    "local",
    "cache",
    "conductor",
    "gcloud",
    "gh",
    "git",
    "password-store",
    "mozilla",
    "chromium",
    "google-chrome",
    "thunderbird",
    "terraform",
    "rclone",
    "hub",
    "glab-cli",
    "pip",
    "composer",
    "systemd",
    "autostart",
    "fish",
];

/// Where a program that we do not know keeps what it needs, by the custom of most: folders of its name. One that keeps the user's own
/// programs in such a folder (cargo, npm, uv) gets none: what an agent put there would be run by the user later, and its
/// sign-in is beside it.
pub(super) fn folders_of(program: &str) -> Vec<String> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    if name.len() < 2 || !name.bytes().all(is_plain) || WITHHELD.contains(&name) {
        return Vec::new();
    }
    let places = [".", ".config/", ".local/share/", ".local/state/", ".cache/"];
    let folders: Vec<String> = places.iter().map(|place| format!("{place}{name}")).collect();
    let mut known = TOOLS.iter().chain(&CACHES);
    let has_programs = known.any(|path| folders.iter().any(|folder| is_within(path, folder)));
    if has_programs { Vec::new() } else { folders }
}
