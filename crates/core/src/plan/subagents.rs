//! Specialists: who knows best how a task is to be done, and by which words of the task that is told.
//!
//! A specialist is an agent's manner, not another program: instructions that go along with the work. They come from the
//! file's config, from the repository and from a short list of our own, in this order. It reads no files.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::plan::groups::without_marks;
use crate::plan::models;
use crate::plan::{Plan, Task, Work};

/// The value of `subagent_type:` that asks for no specialist.
pub const NO_SPECIALIST: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Subagent {
    pub name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// A task that has one of these words may be for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<String>,
    /// Who does such tasks, where the task does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What they are told about their manner of work.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Where that was found, for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub from: String,
}

/// Built-in specialists with the words that call for them, the more general first: the first of equals wins.
const BUILT_IN: [(&str, &[&str], &str); 10] = [
    (
        "backend-architect",
        &["api", "backend", "server", "database", "endpoint", "rest", "graphql", "microservice"],
        "Begin with the interface and the data behind it; keep handlers thin and errors explicit, and think of who calls \
         this twice at the same time.",
    ),
    (
        "frontend-developer",
        &["ui", "component", "frontend", "react", "css", "html", "vue", "svelte", "layout", "accessibility"],
        "Follow the components and styles that are there; see to keyboard, screen readers and small screens, and to what \
         is shown while loading and when it fails.",
    ),
    (
        "test-automator",
        &["test", "testing", "pytest", "coverage", "unittest", "jest", "e2e", "fixture"],
        "Write tests that fail when the behaviour is wrong and for no other reason: no sleeping, no dependence on order or \
         network. Never weaken an assertion to make it pass.",
    ),
    (
        "database-architect",
        &["migration", "schema", "sql", "index", "postgres", "sqlite", "mysql", "orm"],
        "Make every migration safe on a filled table and possible to take back; say which queries an index is for, and \
         leave constraints to the database.",
    ),
    (
        "security-auditor",
        &[
            "security",
            "auth",
            "audit",
            "authentication",
            "authorization",
            "vulnerability",
            "csrf",
            "xss",
            "oauth",
        ],
        "Treat all input as hostile and check at the boundary; put no secret into code or logs, and tell of every hole \
         that is left.",
    ),
    (
        "devops-engineer",
        &["docker", "kubernetes", "deploy", "deployment", "terraform", "ci", "helm", "ansible", "pipeline"],
        "Make it repeatable from nothing and easy to take back; pin versions, and keep what differs between places in \
         configuration.",
    ),
    (
        "documentation-writer",
        &["documentation", "docs", "readme", "tutorial", "changelog", "docstring"],
        "Write for readers new to the code; try every command and example before it is written down.",
    ),
    (
        "performance-engineer",
        &["performance", "latency", "benchmark", "profiling", "throughput", "slow", "memory leak"],
        "Measure before and after, in numbers; change what the measurement names and nothing else.",
    ),
    (
        "mobile-developer",
        &["ios", "android", "swift", "kotlin", "mobile", "flutter"],
        "Mind being offline, being put to sleep and small screens; keep to the platform's customs.",
    ),
    (
        "data-engineer",
        &["etl", "dataset", "analytics", "dataframe", "pandas", "spark", "warehouse"],
        "Make every step repeatable on the same input; check what comes in and count what is dropped.",
    ),
];

/// Programs that do tasks, which no specialist can be named after.
const AGENTS: [&str; 5] = ["shell", "claude", "codex", "gemini", "opencode"];

/// All specialists, each once, and the words that call for them.
#[derive(Debug)]
pub struct Known {
    pub all: Vec<Subagent>,
    calls: HashMap<String, Vec<Call>>,
}

/// A word that calls for a specialist, found by its first part.
#[derive(Debug)]
struct Call {
    who: usize,
    which: usize,
    rest: Vec<String>,
}

impl Known {
    /// The first description of a specialist counts; what it leaves out is filled in from later ones.
    pub fn new(config: &[Subagent], found: &[Subagent]) -> Known {
        let mut all: Vec<Subagent> = Vec::new();
        for subagent in config.iter().chain(found).cloned().chain(built_in()) {
            match all.iter_mut().find(|known| known.name == subagent.name) {
                Some(first) => fill(first, subagent),
                None => all.push(subagent),
            }
        }
        let mut calls: HashMap<String, Vec<Call>> = HashMap::new();
        for (who, subagent) in all.iter().enumerate() {
            for (which, word) in called_by(subagent).enumerate() {
                let mut parts = parts(word);
                if let Some(first) = parts.next() {
                    calls.entry(first).or_default().push(Call { who, which, rest: parts.collect() });
                }
            }
        }
        Known { all, calls }
    }

    pub fn get(&self, name: &str) -> Option<&Subagent> {
        self.all.iter().find(|known| known.name == name)
    }

    /// Who is called for by most words of a text, and by which; the first of equals. Words stand by themselves, and a
    /// plural counts. A mark says whom a task is grouped with, and not what it is about.
    pub fn detect(&self, text: &str) -> Option<(&Subagent, Vec<String>)> {
        let text = without_marks(&text[..text.floor_char_boundary(ENOUGH)]);
        let text: Vec<String> = parts(&text).collect();
        let mut hits: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (at, word) in text.iter().enumerate() {
            let behind = &text[at + 1..];
            for first in [Some(word.as_str()), word.strip_suffix('s')].into_iter().flatten() {
                let calls = self.calls.get(first).map(Vec::as_slice).unwrap_or_default();
                for call in calls.iter().filter(|call| follows(behind, &call.rest, first == word)) {
                    hits.entry(call.who).or_default().insert(call.which);
                }
            }
        }
        let (who, which) = hits.into_iter().reduce(|a, b| if b.1.len() > a.1.len() { b } else { a })?;
        let words: Vec<&String> = called_by(&self.all[who]).collect();
        Some((&self.all[who], which.into_iter().map(|at| words[at].clone()).collect()))
    }
}

/// Further than this a text is not looked through.
const ENOUGH: usize = 64 << 10;

fn built_in() -> impl Iterator<Item = Subagent> {
    BUILT_IN.iter().map(|(name, words, prompt)| Subagent {
        name: (*name).to_owned(),
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        prompt: (*prompt).to_owned(),
        from: "built in".to_owned(),
        ..Subagent::default()
    })
}

/// Their full name is a word too.
fn called_by(subagent: &Subagent) -> impl Iterator<Item = &String> {
    subagent.words.iter().chain(std::iter::once(&subagent.name))
}

fn parts(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).map(str::to_lowercase)
}

/// Whether the rest of a word stands here; only the last part of it may be a plural.
fn follows(text: &[String], rest: &[String], first_is_whole: bool) -> bool {
    let Some((last, between)) = rest.split_last() else { return true };
    let Some(found) = text.get(..rest.len()) else { return false };
    let end = &found[rest.len() - 1];
    first_is_whole && found.starts_with(between) && (end == last || end.strip_suffix('s') == Some(last))
}

fn fill(first: &mut Subagent, more: Subagent) {
    let Subagent { description, words, agent, model, prompt, from, .. } = more;
    if first.description.is_empty() {
        first.description = description;
    }
    if first.words.is_empty() {
        first.words = words;
    }
    if first.prompt.is_empty() {
        (first.prompt, first.from) = (prompt, from);
    }
    first.agent = first.agent.take().or(agent);
    first.model = first.model.take().or(model);
}

/// Which specialist a task is for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Finding {
    NoSpecialist,
    /// Named by the task, or found by these words.
    Specialist(Box<Subagent>, Vec<String>),
    Unknown(String),
}

/// The specialist the task names; where it does not exist, the first that its `fallback_agents` name. Where
/// the task names none, the one its words call for.
pub(crate) fn find(task: &Task, known: &Known) -> Finding {
    let Work::Prompt(prompt) = &task.work else { return Finding::NoSpecialist };
    let by_name = |name: &String| known.get(name);
    match &task.subagent_type {
        Some(name) if name == NO_SPECIALIST => Finding::NoSpecialist,
        Some(name) => {
            let other = || task.fallback_agents.iter().filter(|name| !is_agent(name)).find_map(by_name);
            match by_name(name).or_else(other) {
                Some(found) => Finding::Specialist(Box::new(found.clone()), Vec::new()),
                None => Finding::Unknown(name.clone()),
            }
        }
        None => match known.detect(&format!("{}\n{prompt}", task.name)) {
            Some((found, words)) => Finding::Specialist(Box::new(found.clone()), words),
            None => Finding::NoSpecialist,
        },
    }
}

/// Writes down who does a task and what follows from that; `fallback_agents` keeps its programs only.
pub(crate) fn settle(plan: &mut Plan, place: usize, finding: Finding, known: &Known) {
    let (task, agents) = (&mut plan.tasks[place], &plan.agents);
    task.fallback_agents
        .retain(|name| is_agent(name) || agents.contains_key(name) || known.get(name).is_none());
    let Finding::Specialist(found, words) = finding else {
        task.subagent_type = task.subagent_type.take().filter(|name| name != NO_SPECIALIST);
        return;
    };
    let missing = task.subagent_type.replace(found.name.clone()).filter(|named| *named != found.name);
    if missing.is_some() {
        task.preparation.get_or_insert_default().missing_subagent = missing;
    }
    task.agent = task.agent.take().or_else(|| found.agent.clone());
    task.model =
        task.model.take().or_else(|| found.model.as_deref().and_then(|model| model_for(task, model)));
    if !words.is_empty() {
        task.preparation.get_or_insert_default().subagent_words = words;
    }
    if !plan.subagents.iter().any(|known| known.name == found.name) {
        plan.subagents.push(*found);
    }
}

/// Gives a task a specialist that is named elsewhere, or the first of the others that exists; one that the
/// task names itself stays. The error is the name that does not exist.
pub fn assign(
    plan: &mut Plan,
    place: usize,
    name: &str,
    others: &[String],
    known: &Known,
) -> Result<(), String> {
    let task = &mut plan.tasks[place];
    let by_words = task.preparation.as_ref().is_some_and(|known| !known.subagent_words.is_empty());
    if task.subagent_type.is_some() && !by_words {
        return Ok(());
    }
    task.subagent_type = Some(name.to_owned());
    task.preparation.iter_mut().for_each(|known| known.subagent_words.clear());
    task.fallback_agents.extend(others.iter().cloned());
    match find(task, known) {
        Finding::Unknown(name) => Err(name),
        finding => {
            settle(plan, place, finding, known);
            Ok(())
        }
    }
}

/// Models of specialists are named as Claude Code knows them; another agent gets one of the same tier.
fn model_for(task: &Task, model: &str) -> Option<String> {
    let claudes = models::Models::default().tier_of("claude", model);
    match claudes {
        Some(tier) if task.agent_name() != "claude" => Some(tier.name().to_owned()),
        _ if model == "inherit" => None,
        _ => Some(model.to_owned()),
    }
}

fn is_agent(name: &str) -> bool {
    AGENTS.contains(&name) || name.starts_with(crate::plan::ACP)
}

/// A Markdown file's head between two lines of `---`, as names and texts, and the body behind it. Read as leniently as
/// the programs do that these files are written for: a value may hold colons, go on in indented lines or be a list.
pub fn front_matter(text: &str) -> (BTreeMap<String, String>, &str) {
    let text = text.trim_start_matches('\u{feff}');
    let Some((head, body)) = parted(text) else { return (BTreeMap::new(), text.trim()) };
    let mut fields: BTreeMap<String, String> = BTreeMap::new();
    let mut last: Option<String> = None;
    for line in head.lines() {
        let indented = line.starts_with([' ', '\t']) || line.starts_with("- ");
        match (line.split_once(':').filter(|_| !indented), &last) {
            (Some((name, value)), _) => {
                let value = value.trim();
                let block = matches!(value, "|" | ">" | "|-" | ">-" | "|+" | ">+");
                fields.insert(name.trim().to_owned(), if block { String::new() } else { unquoted(value) });
                last = Some(name.trim().to_owned());
            }
            (None, Some(name)) if indented => {
                let more = unquoted(line.trim().trim_start_matches("- "));
                let value = fields.entry(name.clone()).or_default();
                let gap = match (value.is_empty(), line.trim_start().starts_with("- ")) {
                    (true, _) => "",
                    (false, true) => ", ",
                    (false, false) => " ",
                };
                *value = format!("{value}{gap}{more}");
            }
            _ => {}
        }
    }
    (fields, body.trim())
}

fn parted(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix("---")?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((&rest[..at], &rest[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

fn unquoted(value: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(value).to_owned()
}

/// The items of a list as front matter has them: `[a, b]`, `a, b`, or lines.
pub fn items(value: &str) -> Vec<String> {
    let inner = value.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(|item| unquoted(item.trim())).filter(|item| !item.is_empty()).collect()
}
