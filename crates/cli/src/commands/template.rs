//! `conductor template`: task files made from templates.

use std::collections::BTreeMap;

use conductor_core::values::suggest::did_you_mean;
use conductor_engine::host::for_shell;
use serde_json::json;

use super::{answer, answer_either, answer_json};
use crate::args::{self, TemplateNew};
use crate::end_block::one_line;
use crate::error::{CliError, Exit};
use crate::output::table::columns;
use crate::output::writing;
use crate::settings::diagnostics;
use crate::templates::{Template, all};

pub(crate) fn run(template: &args::Template) -> Result<Exit, CliError> {
    match template {
        args::Template::List(args) => list(args.json),
        args::Template::New(args) => new(args),
    }
}

fn list(as_json: bool) -> Result<Exit, CliError> {
    let templates = all()?;
    if as_json {
        let mut told = Vec::new();
        for template in &templates {
            let variables: Vec<_> = template
                .variables()?
                .into_iter()
                .map(|(name, required)| json!({ "name": name, "required": required }))
                .collect();
            let (name, from, about) = (&template.name, &template.from, template.about());
            told.push(json!({ "name": name, "from": from, "about": about, "variables": variables }));
        }
        answer_json(&json!({ "schema": "conductor.templates/1", "templates": told }))?;
        return Ok(Exit::Done);
    }
    let mut rows = Vec::new();
    for template in &templates {
        let shown = |(name, required): (String, bool)| if required { name } else { format!("[{name}]") };
        let variables = match template.variables() {
            Ok(variables) => variables.into_iter().map(shown).collect::<Vec<_>>().join(" "),
            Err(_) => "(cannot be read)".to_owned(),
        };
        rows.push([template.name.clone(), template.from.clone(), variables, template.about()]);
    }
    answer(&columns(["TEMPLATE", "FROM", "VARIABLES", "WHAT FOR"], rows))?;
    Ok(Exit::Done)
}

fn new(args: &TemplateNew) -> Result<Exit, CliError> {
    let templates = all()?;
    let Some(template) = templates.iter().find(|template| template.name == args.name) else {
        let cli_error =
            CliError::new(Exit::Usage, format!("there is no template '{}'", one_line(&args.name)));
        return Err(
            match did_you_mean(&args.name, templates.iter().map(|template| template.name.as_str())) {
                Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
                None => cli_error.help("see `conductor template list`"),
            },
        );
    };
    let given: BTreeMap<String, String> = args.variables.iter().cloned().collect();
    check_variables(template, &given)?;
    let text = template.render(&given)?;
    let name = match args.output.as_os_str() == "-" {
        true => "<stdout>".to_owned(),
        false => args.output.display().to_string(),
    };
    diagnostics::check_text(&name, &text)?;
    const SCHEMA: &str = "conductor.template-new/1";
    if args.output.as_os_str() == "-" {
        let value = json!({ "template": template.name, "written": null, "text": text });
        answer_either(args.json, &text, SCHEMA, value)?;
        return Ok(Exit::Done);
    }
    writing::may_write(&[&args.output], args.force, writing::ANOTHER_FILE)?;
    writing::write(&args.output, &text)?;
    let value = json!({ "template": template.name, "written": name });
    let words = format!("wrote {name}; next: conductor run {}", for_shell(&args.output));
    answer_either(args.json, &words, SCHEMA, value)?;
    Ok(Exit::Done)
}

/// Every one that is missing or unknown is named at once.
fn check_variables(template: &Template, given: &BTreeMap<String, String>) -> Result<(), CliError> {
    let known = template.variables()?;
    let missing: Vec<&str> = known
        .iter()
        .filter(|(name, required)| **required && !given.contains_key(*name))
        .map(|(name, _)| name.as_str())
        .collect();
    if !missing.is_empty() {
        let wanted: Vec<String> = missing.iter().map(|name| format!("--var {name}=…")).collect();
        let message = format!("template '{}' needs {}", template.name, missing.join(", "));
        return Err(CliError::new(Exit::Usage, message).help(format!("give {}", wanted.join(" "))));
    }
    if let Some(unknown) = given.keys().find(|name| !known.contains_key(*name)) {
        let names = known.keys().map(String::as_str);
        let message = format!("template '{}' has no variable '{}'", template.name, one_line(unknown));
        let cli_error = CliError::new(Exit::Usage, message);
        return Err(match did_you_mean(unknown, names.clone()) {
            Some(meant) => cli_error.help(format!("did you mean '{meant}'?")),
            None => cli_error.help(format!("it has {}", names.collect::<Vec<_>>().join(", "))),
        });
    }
    Ok(())
}
