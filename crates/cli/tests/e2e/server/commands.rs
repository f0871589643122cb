//! What the command line can do, the API can.

use std::process::Command;

use super::client::Served;
use crate::harness::{CONDUCTOR, World};

/// Commands that mean something only in a terminal.
const ELSEWHERE: [(&str, &str); 53] = [
    ("import github", "writes files into the folder one is in"),
    ("import markdown", "writes files into the folder one is in"),
    ("import linear", "writes files into the folder one is in"),
    ("import task-master", "writes files into the folder one is in"),
    ("import vibe-kanban", "writes files into the folder one is in"),
    ("import plugin", "writes files into the folder one is in"),
    ("tui", "is a terminal's"),
    ("plugin list", "of programs of the user"),
    ("plugin add", "of programs of the user"),
    ("plugin remove", "of programs of the user"),
    ("plugin new", "writes files into the folder one is in"),
    ("plugin test", "of programs of the user"),
    ("plugin verify", "of programs of the user"),
    ("trust", "the user's own word, given at a terminal"),
    ("store copy", "moves the stores of the user's own machine"),
    ("setup", "writes the user's own configuration"),
    ("sync push", "sends the user's runs away, with the user's own keys"),
    ("sync pull", "takes what others wrote into the user's home, with the user's own keys"),
    ("sync status", "asks a remote with the user's own keys"),
    ("sync claim", "of the user's own machines"),
    ("sync release", "of the user's own machines"),
    ("sync forget", "of the user's own machines"),
    ("sync key", "of the user's own machines"),
    ("completions", "for shells"),
    ("man", "for terminals"),
    ("help", "the reference page"),
    ("demo", "shows a terminal"),
    ("init", "writes files into the folder one is in"),
    ("template new", "writes files into the folder one is in"),
    ("mcp", "speaks over standard input"),
    ("serve", "is the server"),
    ("open", "POST /api/login/codes"),
    ("browser probe", "opens a window of the user's"),
    ("browser learn", "opens a window of the user's"),
    ("browser list", "of windows on the user's screen"),
    ("browser peek", "of windows on the user's screen"),
    ("browser attach", "of windows on the user's screen"),
    ("config path", "names files of the user"),
    ("run", "POST /api/projects/{project}/parallel/start, POST /api/runs/{run}/resume"),
    ("wait", "GET /api/runs/{run}/events/stream"),
    ("handover", "puts a program of the user's own in the place of the run's process"),
    ("attach", "GET /api/runs/{run}/events/stream"),
    ("worker", "works until it is stopped, with keys of its own"),
    ("workers token", "shows a secret, which lets a machine run commands"),
    ("group wait", "GET /api/runs/{run}/events/stream"),
    ("graph", "GET /api/projects/{project}/dependencies/graph"),
    ("cost", "GET /api/projects/{project}/costs"),
    ("status", "GET /api/runs/{run}"),
    ("logs", "GET /api/runs/{run}/tasks/{task}/log"),
    ("events", "GET /api/runs/{run}/events"),
    ("version", "GET /api/version"),
    ("runs list", "GET /api/runs"),
    ("runs show", "GET /api/runs/{run}/summary"),
];

/// Verbs that have a route of their own.
const OWN: [(&str, &str); 38] = [
    ("pause", "POST /api/runs/{run}/pause"),
    ("resume", "POST /api/runs/{run}/continue"),
    ("cancel", "POST /api/runs/{run}/cancel"),
    ("parallel", "POST /api/runs/{run}/slots"),
    ("cap", "POST /api/runs/{run}/caps"),
    ("task priority", "POST /api/runs/{run}/tasks/{task}/priority"),
    ("task approve", "POST /api/runs/{run}/tasks/{task}/approve"),
    ("task deny", "POST /api/runs/{run}/tasks/{task}/deny"),
    ("task send", "POST /api/runs/{run}/tasks/{task}/send"),
    ("task retry", "POST /api/runs/{run}/tasks/{task}/retry"),
    ("task skip", "POST /api/runs/{run}/tasks/{task}/skip"),
    ("task cancel", "POST /api/runs/{run}/tasks/{task}/cancel"),
    ("project add", "POST /api/projects"),
    ("project list", "GET /api/projects"),
    ("project show", "GET /api/projects/{project}"),
    ("project remove", "DELETE /api/projects/{project}"),
    ("webhook add", "POST /api/projects/{project}/webhooks"),
    ("webhook list", "GET /api/projects/{project}/webhooks"),
    ("webhook remove", "DELETE /api/projects/{project}/webhooks/{webhook}"),
    ("webhook deliveries", "GET /api/projects/{project}/webhooks/{webhook}/deliveries"),
    ("user add", "POST /api/users"),
    ("user list", "GET /api/users"),
    ("user grant", "PATCH /api/users/{user}"),
    ("user disable", "PATCH /api/users/{user}"),
    ("user enable", "PATCH /api/users/{user}"),
    ("user passwd", "PATCH /api/users/{user}"),
    ("token add", "POST /api/tokens"),
    ("token list", "GET /api/tokens"),
    ("token revoke", "DELETE /api/tokens/{token}"),
    ("workers list", "GET /api/workers"),
    ("workers drain", "POST /api/workers/{worker}/drain"),
    ("workers revoke", "DELETE /api/workers/{worker}"),
    ("plan", "POST /api/projects/{project}/plans"),
    ("orchestrate", "POST /api/projects/{project}/orchestrations"),
    ("group execute", "POST /api/projects/{project}/groups/execute"),
    ("report", "GET /api/runs/{run}/report"),
    ("explain", "GET /api/runs/{run}/tasks/{task}/explanation"),
    ("review", "GET /api/projects/{project}/reviews"),
];

/// Every command of the program, with those below it.
fn verbs() -> Vec<String> {
    let mut verbs = Vec::new();
    for verb in listed(&[]) {
        let below = listed(&[&verb]);
        match below.is_empty() {
            true => verbs.push(verb),
            false => verbs.extend(below.into_iter().map(|one| format!("{verb} {one}"))),
        }
    }
    verbs.retain(|verb| !verb.ends_with(" help"));
    verbs
}

/// The commands that the help of a command lists.
fn listed(words: &[&str]) -> Vec<String> {
    let help =
        Command::new(CONDUCTOR).args(words).arg("--help").env_clear().env("NO_COLOR", "1").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let command = |line: &str| {
        let rest = line.strip_prefix("  ")?;
        let name: String =
            rest.chars().take_while(|letter| letter.is_ascii_lowercase() || *letter == '-').collect();
        (!name.is_empty() && !name.starts_with('-') && rest[name.len()..].starts_with(' ')).then_some(name)
    };
    match words.is_empty() || help.contains("\nCommands:") {
        true => {
            let part = help.split("\nOptions:").next().unwrap_or_default();
            part.lines().filter_map(command).collect()
        }
        false => Vec::new(),
    }
}

#[test]
fn what_a_command_does_the_api_does() {
    let routes: Vec<String> =
        conductor_server::routes().into_iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    let commands = conductor_server::commands();
    let verbs = verbs();
    assert!(verbs.len() > 50, "{verbs:?}");
    let carried = |verb: &str| {
        commands.iter().any(|(command, _)| *command == verb || command.starts_with(&format!("{verb} ")))
    };
    let lacking: Vec<&String> = verbs
        .iter()
        .filter(|verb| {
            let named = |(name, _): &(&str, &str)| *name == verb.as_str();
            !carried(verb) && !ELSEWHERE.iter().any(named) && !OWN.iter().any(named)
        })
        .collect();
    assert!(lacking.is_empty(), "the API lacks {lacking:?}");
    for (verb, route) in OWN {
        assert!(routes.iter().any(|known| known == route), "{verb}: there is no {route}");
    }
    for (verb, place) in ELSEWHERE.iter().filter(|(_, place)| place.contains(" /api/")) {
        for route in place.split(", ") {
            assert!(routes.iter().any(|known| known == route), "{verb}: there is no {route}");
        }
    }
}

#[test]
fn the_reference_page_asks_no_other_server() {
    let world = World::new();
    let served = Served::start(&world);
    for path in ["/api/docs", "/api/docs.js", "/api/docs.css", "/open.js"] {
        let answer = served.by(&served.owner(), "GET", path, &serde_json::json!({})).expect(200);
        assert!(!answer.body.contains("http://") && !answer.body.contains("https://"), "{path}");
    }
}
