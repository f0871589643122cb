//! Work that is hard to take back: a push, a recursive delete, a migration, a deployment, secrets.
//!
//! Told by the words of a command, or of a prompt that says to do it. Where it is mistaken, a checkpoint is made that
//! nobody needs; it forbids nothing.

use serde::{Deserialize, Serialize};

use crate::plan::{Task, Work};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Risk {
    Push,
    Delete,
    Migration,
    Deploy,
    Secrets,
}

impl Risk {
    pub fn name(self) -> &'static str {
        match self {
            Risk::Push => "push",
            Risk::Delete => "recursive delete",
            Risk::Migration => "migration",
            Risk::Deploy => "deployment",
            Risk::Secrets => "secrets",
        }
    }
}

/// How much of a text is looked at, and how much of it is quoted.
const LOOKED_AT: usize = 20_000;
const QUOTED: usize = 80;

/// What is risky about a task, each once, with the words that say so.
pub fn risks(task: &Task) -> Vec<(Risk, String)> {
    let mut all: Vec<(Risk, String)> = task.setup().iter().flat_map(|command| of_command(command)).collect();
    all.extend(match &task.work {
        Work::Run(command) => of_command(&command.to_string()),
        Work::Prompt(prompt) => of_prompt(prompt),
    });
    once(all)
}

/// As `risks`, of one thing an agent wants to do.
pub fn of_tool(tool: &str, what: &str) -> Vec<(Risk, String)> {
    match tool {
        "Bash" => of_command(what),
        "Edit" | "Write" | "MultiEdit" if is_secret_file(what) => vec![(Risk::Secrets, quoted(what))],
        _ => Vec::new(),
    }
}

fn once(mut all: Vec<(Risk, String)>) -> Vec<(Risk, String)> {
    let mut seen = Vec::new();
    all.retain(|(risk, _)| {
        !seen.contains(risk) && {
            seen.push(*risk);
            true
        }
    });
    all
}

fn cut(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

fn quoted(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), QUOTED).to_owned()
}

// ---- commands

/// What only leads to the command that is meant.
const LEADING: [&str; 13] =
    ["sudo", "env", "time", "nohup", "exec", "command", "xargs", "npx", "bunx", "then", "do", "else", "nice"];

/// What reads, says or tests, whatever words stand behind it.
const QUIET: [&str; 21] = [
    "cat", "grep", "rg", "echo", "printf", "ls", "head", "tail", "less", "test", "[", "wc", "diff", "sed",
    "awk", "cd", "mkdir", "touch", "which", "pytest", "jest",
];

/// What those do that come before names of things to look at, test or build.
const QUIET_VERBS: [&str; 14] = [
    "test", "check", "build", "bench", "doc", "log", "show", "diff", "status", "add", "commit", "checkout",
    "list", "lint",
];

/// What a shell would run for this, one command after the other.
pub fn of_command(command: &str) -> Vec<(Risk, String)> {
    let command = cut(command, LOOKED_AT);
    let parts = command.split([';', '|', '&', '\n', '(', ')', '`', '{', '}']);
    once(parts.flat_map(|part| of_simple(part).into_iter().map(|risk| (risk, quoted(part)))).collect())
}

fn of_simple(command: &str) -> Vec<Risk> {
    let unquoted = |word: &str| word.trim_matches(['"', '\'', '\\']).to_owned();
    let words: Vec<String> =
        command.split_whitespace().map(unquoted).filter(|word| !word.is_empty()).collect();
    let leads = |word: &&String| LEADING.contains(&word.as_str()) || is_assignment(word);
    let words: Vec<&str> = words.iter().skip_while(leads).map(String::as_str).collect();
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let program = program.rsplit('/').next().unwrap_or(program);
    // A shell that is given its command as an argument runs that.
    if matches!(program, "sh" | "bash" | "zsh") && arguments.first().is_some_and(|first| first.ends_with('c'))
    {
        return of_simple(&arguments[1..].join(" "));
    }
    let deeds: Vec<&str> = arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
    let checks: [(Risk, bool); 5] = [
        (Risk::Push, pushes(program, arguments, &deeds)),
        (Risk::Delete, deletes(program, arguments, &deeds)),
        (Risk::Migration, migrates(program, &deeds)),
        (Risk::Deploy, deploys(program, &deeds)),
        (Risk::Secrets, touches_secrets(program, &deeds)),
    ];
    let quiet = QUIET.contains(&program);
    checks.into_iter().filter(|(_, is)| *is && !quiet).map(|(risk, _)| risk).collect()
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn pushes(program: &str, arguments: &[&str], deeds: &[&str]) -> bool {
    let first = deeds.first().copied().unwrap_or_default();
    match program {
        // Options before the command may have values of their own: `git -C folder push`.
        "git" => {
            let mut words = arguments.iter().copied();
            let command = loop {
                match words.next() {
                    Some("-C" | "-c" | "--git-dir" | "--work-tree") => drop(words.next()),
                    Some(option) if option.starts_with('-') => {}
                    other => break other,
                }
            };
            command == Some("push")
        }
        "docker" | "podman" | "gem" | "helm" | "dotnet" => deeds.iter().take(2).any(|word| *word == "push"),
        "npm" | "yarn" | "pnpm" | "cargo" | "poetry" => first == "publish",
        "twine" => first == "upload",
        "gh" => matches!(deeds, ["pr", "merge", ..] | ["release", "create", ..]),
        _ => false,
    }
}

fn deletes(program: &str, arguments: &[&str], deeds: &[&str]) -> bool {
    let flag = |letters: [char; 2]| {
        arguments
            .iter()
            .any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
    };
    let long = |name: &str| arguments.contains(&name);
    match program {
        "rm" => flag(['r', 'R']) || long("--recursive"),
        "git" => deeds.first() == Some(&"clean") && (flag(['f', 'f']) || long("--force")),
        "find" => long("-delete"),
        "rsync" => arguments.iter().any(|word| word.starts_with("--delete")),
        "aws" | "gsutil" | "gcloud" => deeds.contains(&"rm") && (long("--recursive") || flag(['r', 'R'])),
        "rimraf" => true,
        _ => false,
    }
}

fn migrates(program: &str, deeds: &[&str]) -> bool {
    let sql = deeds.join(" ").to_lowercase();
    let drops = ["drop table", "drop database", "drop schema", "truncate table", "alter table"];
    if matches!(program, "psql" | "mysql" | "sqlite3" | "sqlcmd" | "mariadb")
        && drops.iter().any(|words| sql.contains(words))
    {
        return true;
    }
    let only_looks =
        |word: &&&str| matches!(**word, "status" | "info" | "add" | "new" | "list" | "create" | "generate");
    if deeds.iter().find(only_looks).is_some() {
        return false;
    }
    let migrate = |word: &str| parts(word).any(|part| part == "migrate") && !word.ends_with(":status");
    let runs = |pair: &[&str]| matches!(pair, ["migration" | "migrations", "run" | "up" | "apply"]);
    match program {
        "alembic" => matches!(deeds.first(), Some(&"upgrade" | &"downgrade")),
        "goose" | "dbmate" => deeds.iter().any(|word| matches!(*word, "up" | "down")),
        "liquibase" => deeds.first() == Some(&"update"),
        _ => migrate(program) || verbs(deeds).iter().any(|word| migrate(word)) || deeds.windows(2).any(runs),
    }
}

fn deploys(program: &str, deeds: &[&str]) -> bool {
    let first = deeds.first().copied().unwrap_or_default();
    match program {
        "kubectl" => matches!(first, "apply" | "delete" | "rollout" | "replace" | "scale"),
        "helm" => matches!(first, "install" | "upgrade" | "uninstall" | "rollback"),
        "terraform" | "tofu" => matches!(first, "apply" | "destroy"),
        "pulumi" => matches!(first, "up" | "destroy"),
        "ansible-playbook" => true,
        _ => {
            let deploy = |word: &str| parts(word).any(|part| part == "deploy" || part == "deployment");
            deploy(program) || verbs(deeds).iter().any(|word| deploy(word))
        }
    }
}

fn touches_secrets(program: &str, deeds: &[&str]) -> bool {
    let secret = |word: &str| {
        parts(word).any(|part| matches!(part, "secret" | "secrets" | "secretsmanager" | "credentials"))
    };
    match program {
        "vault" => {
            matches!(deeds, ["kv", "put" | "delete" | "patch" | "destroy", ..] | ["write" | "delete", ..])
        }
        "git" => false,
        _ => verbs(deeds).iter().any(|word| secret(word)) || deeds.iter().any(|word| is_secret_file(word)),
    }
}

/// Where the name of a deed stands: `npm run deploy`, `gcloud app deploy`, `make deploy`.
fn verbs<'a>(deeds: &'a [&'a str]) -> &'a [&'a str] {
    let end = deeds.iter().take(3).position(|word| QUIET_VERBS.contains(word)).unwrap_or(3);
    &deeds[..end.min(deeds.len())]
}

fn parts(word: &str) -> impl Iterator<Item = &str> {
    let name = word.strip_suffix(".md").map_or(word, |_| "");
    name.split(['/', '.', '-', ':'])
}

fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let env = name == ".env"
        || name.strip_prefix(".env.").is_some_and(|kind| !matches!(kind, "example" | "sample" | "template"));
    env || matches!(name, "id_rsa" | "id_ed25519" | "credentials.json" | ".netrc" | ".pgpass")
        || name.ends_with(".pem")
}

// ---- prompts

/// What a prompt can tell somebody to do, on what.
struct Deed {
    risk: Risk,
    verbs: &'static [&'static str],
    nouns: &'static [&'static str],
}

const DEEDS: [Deed; 9] = [
    Deed {
        risk: Risk::Push,
        verbs: &["push"],
        nouns: &[
            "branch", "branches", "commit", "commits", "change", "changes", "main", "master", "origin",
            "remote", "upstream", "tag", "tags", "image", "images", "registry", "github", "gitlab", "it",
        ],
    },
    Deed {
        risk: Risk::Push,
        verbs: &["publish"],
        nouns: &["package", "packages", "crate", "crates", "image", "npm", "pypi", "release", "registry"],
    },
    Deed {
        risk: Risk::Delete,
        verbs: &["delete", "remove", "wipe", "purge", "erase"],
        nouns: &[
            "directory",
            "directories",
            "folder",
            "folders",
            "recursively",
            "bucket",
            "buckets",
            "everything",
            "disk",
            "database",
            "databases",
        ],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["run", "apply", "execute", "perform"],
        nouns: &["migration", "migrations"],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["migrate"],
        nouns: &["database", "databases", "schema", "data", "tables", "records", "users", "production"],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["drop", "truncate"],
        nouns: &["table", "tables", "database", "schema"],
    },
    Deed {
        risk: Risk::Deploy,
        verbs: &["deploy", "redeploy"],
        nouns: &[
            "it",
            "production",
            "prod",
            "staging",
            "server",
            "servers",
            "cluster",
            "site",
            "website",
            "app",
            "application",
            "service",
            "services",
            "version",
            "release",
            "kubernetes",
            "live",
            "everything",
        ],
    },
    Deed {
        risk: Risk::Secrets,
        verbs: &["rotate", "revoke", "regenerate"],
        nouns: &[
            "secret",
            "secrets",
            "credential",
            "credentials",
            "password",
            "passwords",
            "key",
            "keys",
            "token",
            "tokens",
            "certificate",
            "certificates",
        ],
    },
    Deed {
        risk: Risk::Secrets,
        verbs: &["set", "store", "change", "replace", "update", "delete", "write"],
        nouns: &["secret", "secrets", "credential", "credentials", "password", "passwords"],
    },
];

/// Words that may stand before one that tells somebody to do something.
const BEFORE: [&str; 11] =
    ["please", "then", "and", "now", "finally", "also", "first", "next", "afterwards", "lastly", "to"];
/// Words with which a thing's name is over, so that it is no part of a longer one, as in "password form".
const AFTER: [&str; 22] = [
    "in", "on", "of", "for", "to", "with", "from", "and", "at", "by", "that", "which", "when", "once", "if",
    "into", "or", "again", "now", "then", "after", "under",
];
/// How far what is done may stand from the word that says so.
const NEAR: usize = 6;

/// What a prompt says to do. Strict: a word that tells to do it, and near it what it is done to.
pub fn of_prompt(prompt: &str) -> Vec<(Risk, String)> {
    let prompt = cut(prompt, LOOKED_AT);
    let sentences = prompt.split(['\n', ';', '!', '?']).flat_map(|line| line.split(". "));
    once(sentences.flat_map(|sentence| of_sentence(sentence).map(|risk| (risk, quoted(sentence)))).collect())
}

fn of_sentence(sentence: &str) -> impl Iterator<Item = Risk> {
    let quotes_rm = sentence.contains("rm -rf ") && !sentence.to_lowercase().contains("not ");
    let words: Vec<Word> = sentence.split_whitespace().filter_map(Word::new).collect();
    let told = move |deed: &Deed| {
        let is_told = |(at, word): (usize, &Word)| {
            deed.verbs.contains(&word.text.as_str())
                && is_imperative(&words, at)
                && is_done_to(&words[at..], deed.nouns)
        };
        words.iter().enumerate().any(is_told)
    };
    let deeds: Vec<Risk> = DEEDS.iter().filter(|deed| told(deed)).map(|deed| deed.risk).collect();
    quotes_rm.then_some(Risk::Delete).into_iter().chain(deeds)
}

struct Word {
    text: String,
    /// Whether the thought is over behind it.
    ends: bool,
}

impl Word {
    fn new(word: &str) -> Option<Word> {
        let text = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let ends = word.ends_with([',', '.', ':', ')', '"', '`', '\'']);
        (!text.is_empty()).then_some(Word { text, ends })
    }
}

/// Whether a word stands where it tells somebody to do it.
fn is_imperative(words: &[Word], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| &words[at]) else { return true };
    let negated = words[..at].iter().rev().take(3).any(|word| {
        matches!(word.text.as_str(), "not" | "never" | "don't" | "cannot" | "without" | "how" | "able")
    });
    let numbered = at == 1 && before.text.chars().all(|c| c.is_ascii_digit());
    !negated && (before.ends || numbered || BEFORE.contains(&before.text.as_str()))
}

/// Whether one of these things is what the first word is done to.
fn is_done_to(words: &[Word], nouns: &[&str]) -> bool {
    for (at, word) in words.iter().enumerate().skip(1).take(NEAR) {
        if nouns.contains(&word.text.as_str()) {
            let over = word.ends || words.get(at + 1).is_none_or(|next| AFTER.contains(&next.text.as_str()));
            if over {
                return true;
            }
        }
        if word.ends {
            return false;
        }
    }
    false
}
