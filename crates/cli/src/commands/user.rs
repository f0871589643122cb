//! `conductor user` and `conductor token`: who may use the server.

use std::io::{self, BufRead as _, IsTerminal as _};

use conductor_engine::host::clock;
use conductor_engine::records::flat::timestamp;
use conductor_server::access::Role;
use conductor_server::records::{NewToken, Records, RecordsError, Token, User, UserError};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use serde_json::{Value, json};

use super::project::{noted, records};
use super::{answer, answer_either, answer_json, block_on};
use crate::args::{self, RoleName};
use crate::console;
use crate::error::{CliError, Exit};
use crate::output::table::columns;

pub(crate) fn run(user: &args::User) -> Result<Exit, CliError> {
    block_on(async {
        let records = records().await?;
        let (verb, name) = match user {
            args::User::List(args) => return list(&records, args.json).await,
            args::User::Add(args) => ("add", &args.name),
            args::User::Grant(args) => ("grant", &args.name),
            args::User::Disable(of) => ("disable", &of.name),
            args::User::Enable(of) => ("enable", &of.name),
            args::User::Passwd(of) => ("passwd", &of.name),
        };
        noted(&records, &format!("user {verb} {name}"), change(&records, user)).await
    })
}

async fn change(records: &Records, user: &args::User) -> Result<Exit, CliError> {
    match user {
        args::User::Add(args) => add(records, args).await,
        args::User::List(args) => list(records, args.json).await,
        args::User::Grant(args) => {
            check_project(records, args.project.as_deref()).await?;
            records.grant(&args.name, args.project.as_deref(), Some(role(args.role))).await?;
            done(records, &args.name, args.json).await
        }
        args::User::Disable(of) => {
            records.disable_user(&of.name, true).await?;
            done(records, &of.name, of.json).await
        }
        args::User::Enable(of) => {
            records.disable_user(&of.name, false).await?;
            done(records, &of.name, of.json).await
        }
        args::User::Passwd(of) => {
            records.user(&of.name).await?;
            records.set_password(&of.name, &password()?).await?;
            done(records, &of.name, of.json).await
        }
    }
}

fn role(name: RoleName) -> Role {
    match name {
        RoleName::Viewer => Role::Viewer,
        RoleName::Operator => Role::Operator,
        RoleName::Admin => Role::Admin,
    }
}

/// A role in a project that is not there would wait for the next project of that name.
async fn check_project(records: &Records, project: Option<&str>) -> Result<(), CliError> {
    if let Some(project) = project {
        records.project(project).await?;
    }
    Ok(())
}

async fn add(records: &Records, args: &args::UserAdd) -> Result<Exit, CliError> {
    check_project(records, args.project.as_deref()).await?;
    let password = if args.no_password { None } else { Some(password()?) };
    records.add_user(&args.name, password.as_deref(), args.project.as_deref(), role(args.role)).await?;
    done(records, &args.name, args.json).await
}

async fn done(records: &Records, name: &str, as_json: bool) -> Result<Exit, CliError> {
    let user = records.user(name).await?;
    let state = if user.disabled { "disabled" } else { "enabled" };
    let words = format!("user {} is {state}: {}", user.name, may(&user));
    answer_either(as_json, &words, "conductor.user/1", told(&user))?;
    Ok(Exit::Done)
}

fn may(user: &User) -> String {
    let one = |(project, role): &(Option<String>, Role)| match project {
        Some(project) => format!("{role} in {project}"),
        None => format!("{role} in all projects"),
    };
    match user.grants.is_empty() {
        true => "may do nothing".to_owned(),
        false => user.grants.iter().map(one).collect::<Vec<_>>().join(", "),
    }
}

fn told(user: &User) -> Value {
    let grant = |(project, role): &(Option<String>, Role)| json!({ "project": project, "role": role.name() });
    let grants: Vec<Value> = user.grants.iter().map(grant).collect();
    json!({ "name": user.name, "disabled": user.disabled, "created_at": timestamp(user.created), "grants": grants })
}

async fn list(records: &Records, as_json: bool) -> Result<Exit, CliError> {
    let users = records.users().await.map_err(RecordsError::from)?;
    if as_json {
        let users: Vec<Value> = users.iter().map(told).collect();
        answer_json(&json!({ "schema": "conductor.users/1", "users": users }))?;
        return Ok(Exit::Done);
    }
    if users.is_empty() {
        answer("there are no users; the owner's token does everything on this machine\n")?;
        return Ok(Exit::Done);
    }
    let state = |user: &User| if user.disabled { "disabled" } else { "enabled" }.to_owned();
    let row = |user: &User| [user.name.clone(), state(user), may(user)];
    answer(&columns(["USER", "STATE", "MAY"], users.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

/// Typed twice and not shown; from standard input where that is no terminal, for scripts.
fn password() -> Result<String, CliError> {
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line)?;
        return Ok(line.trim_end_matches(['\n', '\r']).to_owned());
    }
    let first = hidden("password: ")?;
    match hidden("once more: ")? == first {
        true => Ok(first),
        false => Err(CliError::new(Exit::Usage, "the two are not the same; nothing was changed")),
    }
}

fn hidden(question: &str) -> Result<String, CliError> {
    let stdin = io::stdin();
    let before = tcgetattr(&stdin).map_err(io::Error::from)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    console::ask(question);
    tcsetattr(&stdin, OptionalActions::Flush, &silent).map_err(io::Error::from)?;
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    tcsetattr(&stdin, OptionalActions::Flush, &before).map_err(io::Error::from)?;
    console::say("");
    read?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

pub(crate) fn token(token: &args::Token) -> Result<Exit, CliError> {
    block_on(async {
        let records = records().await?;
        match token {
            args::Token::Add(args) => {
                noted(&records, &format!("token add {}", args.name), add_token(&records, args)).await
            }
            args::Token::List(args) => tokens(&records, args.json).await,
            args::Token::Revoke(of) => {
                noted(&records, &format!("token revoke {}", of.id), revoke(&records, of)).await
            }
        }
    })
}

async fn revoke(records: &Records, of: &args::OfToken) -> Result<Exit, CliError> {
    if !records.revoke_token(&of.id, None).await.map_err(RecordsError::from)? {
        let message = format!("there is no token '{}' that is good", of.id);
        return Err(CliError::new(Exit::Usage, message).help("`conductor token list` lists them"));
    }
    let words = format!("token {} is revoked", of.id);
    answer_either(of.json, &words, "conductor.revoked/1", json!({ "id": of.id }))?;
    Ok(Exit::Done)
}

async fn add_token(records: &Records, args: &args::TokenAdd) -> Result<Exit, CliError> {
    check_project(records, args.project.as_deref()).await?;
    let expires = clock::wall().0 + i64::from(args.days) * 24 * 60 * 60 * 1_000;
    let new = NewToken {
        user: &args.user,
        name: &args.name,
        role: role(args.role),
        project: args.project.as_deref(),
        expires: Some(expires),
        parent: None,
    };
    let (made, credential) = records.add_token(&new).await?;
    let mut value = token_told(&made);
    value["token"] = json!(credential);
    // Alone on standard output, for `TOKEN=$(conductor token add …)`.
    super::talk(format!(
        "token {}, {} until {}; it is shown this once",
        made.id,
        made.role,
        timestamp(expires)
    ));
    answer_either(args.json, &credential, "conductor.token/1", value)?;
    Ok(Exit::Done)
}

fn token_told(token: &Token) -> Value {
    json!({ "id": token.id, "user": token.user, "name": token.name, "role": token.role.name(),
        "project": token.project, "created_at": timestamp(token.created), "revoked": token.revoked,
        "expires_at": token.expires.map(timestamp), "used_at": token.used.map(timestamp) })
}

async fn tokens(records: &Records, as_json: bool) -> Result<Exit, CliError> {
    let tokens = records.tokens(None).await.map_err(RecordsError::from)?;
    if as_json {
        let tokens: Vec<Value> = tokens.iter().map(token_told).collect();
        answer_json(&json!({ "schema": "conductor.tokens/1", "tokens": tokens }))?;
        return Ok(Exit::Done);
    }
    if tokens.is_empty() {
        answer("there are no access tokens; `conductor token add` makes one\n")?;
        return Ok(Exit::Done);
    }
    let state = |token: &Token| match (token.revoked, token.expires) {
        (true, _) => "revoked".to_owned(),
        (false, Some(expires)) if expires < clock::wall().0 => "expired".to_owned(),
        (false, Some(expires)) => format!("until {}", timestamp(expires)),
        (false, None) => "for ever".to_owned(),
    };
    let row = |token: &Token| {
        let place = token.project.clone().unwrap_or_else(|| "all projects".to_owned());
        [
            token.id.clone(),
            token.name.clone(),
            token.user.clone(),
            token.role.to_string(),
            place,
            state(token),
        ]
    };
    answer(&columns(["ID", "NAME", "USER", "ROLE", "WHERE", "GOOD"], tokens.iter().map(row).collect()))?;
    Ok(Exit::Done)
}

impl From<UserError> for CliError {
    fn from(error: UserError) -> CliError {
        let exit = if matches!(error, UserError::Failed(_)) { Exit::Unexpected } else { Exit::Usage };
        let help = match &error {
            UserError::Unknown { meant: Some(meant), .. } => Some(format!("did you mean '{meant}'?")),
            UserError::Unknown { .. } => Some("`conductor user list` lists them".to_owned()),
            _ => None,
        };
        let cli_error = CliError::new(exit, error);
        match help {
            Some(help) => cli_error.help(help),
            None => cli_error,
        }
    }
}
