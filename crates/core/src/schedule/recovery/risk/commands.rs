//! What a command would do, by its program and the words behind it.

use super::{LOOKED_AT, Risk, cut, once, quoted};

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

pub(super) fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let env = name == ".env"
        || name.strip_prefix(".env.").is_some_and(|kind| !matches!(kind, "example" | "sample" | "template"));
    env || matches!(name, "id_rsa" | "id_ed25519" | "credentials.json" | ".netrc" | ".pgpass")
        || name.ends_with(".pem")
}
