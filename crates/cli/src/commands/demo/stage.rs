//! The demonstration's project, and the parts the stand-in plays in it.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use conductor_standin::{Script, StandIn, Usage};

use crate::error::{CliError, Exit};

/// A project as small as can be that still has checks which fail.
const FILES: [(&str, &str); 6] = [
    ("README.md", include_str!("shop/README.md")),
    ("prices.txt", include_str!("shop/prices.txt")),
    ("till.sh", include_str!("shop/till.sh")),
    ("check.sh", include_str!("shop/check.sh")),
    ("lib/total.sh", include_str!("shop/lib/total.sh")),
    ("lib/rules.sh", include_str!("shop/lib/rules.sh")),
];
const TASKS: &str = include_str!("shop/tasks.yaml");

/// What the model comes to in the end.
const RECEIPT: &str = include_str!("later/receipt.sh");
const RULES: &str = include_str!("later/rules.sh");

/// Before an answer, so that eyes can follow.
const THINKING: u64 = 400;

/// Makes the repository.
pub(super) fn set(repository: &Path, agent: &str) -> Result<(), CliError> {
    let failed = |error: io::Error| {
        CliError::new(Exit::Unexpected, format!("cannot write to {}: {error}", repository.display()))
    };
    fs::create_dir_all(repository.join("lib")).map_err(failed)?;
    for (name, text) in FILES {
        fs::write(repository.join(name), text).map_err(failed)?;
    }
    fs::write(repository.join("tasks.yaml"), TASKS.replace("AGENT", &chosen(agent))).map_err(failed)?;
    git(repository, &["init", "--quiet", "."])?;
    git(repository, &["symbolic-ref", "HEAD", "refs/heads/main"])?;
    git(repository, &["config", "user.name", "Conductor's demonstration"])?;
    git(repository, &["config", "user.email", "demo@localhost"])?;
    git(repository, &["config", "commit.gpgsign", "false"])?;
    git(repository, &["add", "."])?;
    git(repository, &["commit", "--quiet", "-m", "A till that does not work yet"])
}

/// Left to choose a model, gemini asks one which to take, and a script has no answer to that.
fn chosen(agent: &str) -> String {
    match agent {
        "gemini" => "agent: gemini\n  model: gemini-2.5-flash".to_owned(),
        other => format!("agent: {other}"),
    }
}

fn git(directory: &Path, args: &[&str]) -> Result<(), CliError> {
    let output = Command::new("git").current_dir(directory).args(args).output().map_err(|error| {
        CliError::new(Exit::Unexpected, format!("git cannot be started: {error}"))
            .help("install git, or make sure it is on PATH")
    })?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let why = String::from_utf8_lossy(&output.stderr);
            Err(CliError::new(Exit::Unexpected, format!("git {} failed: {}", args.join(" "), why.trim())))
        }
    }
}

/// Gives every prompt its part.
pub(super) fn cast(stand_in: &StandIn) {
    for (name, script) in parts() {
        // The stand-in uses no tokens, so that no price list makes a cost of them.
        stand_in.script(
            name,
            script.usage_by_default(Usage { input: 0, output: 0, cache_read: 0, cache_write: 0 }),
        );
    }
}

fn parts() -> [(&'static str, Script); 5] {
    let adding = "        sum=$((sum + price))";
    let refusing = "        [ -n \"$price\" ] || return 2\n        sum=$((sum + price))";
    let no_rules = "    # no rules yet";
    let untold = "The rules of the house are not written down yet.";
    let told = "Three items or more are a tenth off. 8 % value added tax come on top.";
    [
        (
            "total",
            act("I see: it forgets what came before.")
                .edit("lib/total.sh", "        sum=$price", adding)
                .slow(THINKING)
                .finish("The till adds up now.")
                .text("True, what is not sold must be refused.")
                .slow(THINKING)
                .edit("lib/total.sh", adding, refusing)
                .slow(THINKING)
                .finish("It adds up, and refuses what is not sold."),
        ),
        (
            "discount",
            act("A rule for three items.")
                .edit(
                    "lib/rules.sh",
                    no_rules,
                    "    if [ \"$items\" -ge 3 ]; then cents=$((cents * 90 / 100)); fi",
                )
                .slow(THINKING)
                .finish("Three items are a tenth off."),
        ),
        (
            "vat",
            act("The tax is added last.")
                .edit("lib/rules.sh", no_rules, "    cents=$((cents * 108 / 100))")
                .slow(2 * THINKING)
                .finish("8 % are added."),
        ),
        (
            "receipt",
            Script::new()
                .slow(THINKING)
                .lie("All done! The receipt is written and works perfectly.", 1)
                .text("I write the script.")
                .write_file("receipt.sh", RECEIPT)
                .slow(THINKING)
                .finish("receipt.sh prints a line for each item."),
        ),
        (
            "manual",
            act("Both rules, in a sentence each.")
                .edit("README.md", untold, told)
                .slow(THINKING)
                .finish("Written."),
        ),
    ]
    .map(|(name, script)| match name {
        // Whichever of the two lands second finds the other's line where its own should be.
        "discount" | "vat" => (name, both_rules(script)),
        _ => (name, script),
    })
}

fn act(first_words: &str) -> Script {
    Script::new().text(first_words).slow(THINKING)
}

/// The second round of a task that met the other's rule.
fn both_rules(script: Script) -> Script {
    let lines: Vec<String> = RULES.lines().map(|line| format!("'{line}'")).collect();
    let lines = lines.join(" ");
    script
        .text("Both rules are meant to hold: first the discount, then the tax.")
        .slow(THINKING)
        .run(format!("printf '%s\\n' {lines} > lib/rules.sh"))
        .slow(THINKING)
        .finish("Both rules hold.")
}
