//! The words an agent gets: the task and what it should know, by a template that users can replace.

mod ui;

use std::io::ErrorKind;
use std::path::Path;

use conductor_core::plan::{Isolation, Limits, Plan, Task, Work};
use conductor_core::values::ids::TaskId;
use minijinja::{Environment, UndefinedBehavior, context};
use thiserror::Error;

use crate::agents;
use crate::agents::skills::Applied;
use crate::worker::feedback::Feedback;

/// Ours, where the repository has none of its own.
const TEMPLATE: &str = include_str!("prompt.md.j2");

/// A repository's own template, below its root.
pub const OWN: &str = ".conductor/prompt.md.j2";

#[derive(Debug, Error)]
pub enum PromptError {
    #[error("{OWN}: {0:#}")]
    Template(#[from] minijinja::Error),
    #[error("{OWN} cannot be read: {0}")]
    Unreadable(std::io::Error),
    #[error("{OWN}: it makes an empty prompt of the task")]
    Empty,
}

impl PromptError {
    /// The line of the template at which it went wrong.
    pub fn line(&self) -> Option<usize> {
        match self {
            PromptError::Template(error) => error.line(),
            PromptError::Unreadable(_) | PromptError::Empty => None,
        }
    }
}

/// The tools that an agent is offered beside its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered {
    /// It can propose tasks.
    pub adds: bool,
}

impl Offered {
    /// For those who report (`report: true`), and for all where the run takes follow-ups.
    pub fn of(plan: &Plan, task: &Task, limits: &Limits) -> Option<Offered> {
        let takes =
            || agents::agent(plan, task.agent_name()).is_ok_and(|agent| agent.abilities().takes_tools);
        let adds = limits.follow_ups > 0;
        ((adds || task.report) && takes()).then_some(Offered { adds })
    }
}

/// What is worth saying beyond the task itself.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    pub plan: &'a Plan,
    pub isolation: Isolation,
    /// Where it works; nothing where that is the root of the repository.
    pub directory: Option<&'a Path>,
    /// Tasks it builds on that are done, with the commits by which they are on the branch.
    pub before: &'a [(TaskId, Option<String>)],
    /// The branch its work is merged into.
    pub branch: Option<String>,
    pub ports: Option<&'a str>,
    /// Which tools to report with are offered, if any.
    pub tools: Option<Offered>,
    /// What skills said before the work.
    pub skills: &'a [Applied],
    /// What earlier tasks of the project taught; empty where there is nothing for this one.
    pub expertise: &'a str,
    /// What it is told first, where it goes on.
    pub feedback: Option<&'a Feedback>,
    /// The conversation has begun before: what the task is has been said.
    pub known: bool,
}

impl<'a> Facts<'a> {
    /// What is known of a task before its first attempt.
    pub fn of(plan: &'a Plan, isolation: Isolation) -> Facts<'a> {
        Facts {
            plan,
            isolation,
            directory: None,
            before: &[],
            branch: None,
            ports: None,
            tools: None,
            skills: &[],
            expertise: "",
            feedback: None,
            known: false,
        }
    }
}

/// The instructions of the specialist a task is for, where its agent takes such apart from the prompt.
pub fn manner<'p>(plan: &'p Plan, task: &Task) -> Option<&'p str> {
    /// One argument of a program is no longer than this.
    const LONGEST: usize = 100 << 10;
    let prompt = &plan.subagent(task)?.prompt;
    let apart = agents::agent(plan, task.agent_name()).is_ok_and(|agent| agent.knows_specialists());
    (apart && !prompt.is_empty() && prompt.len() <= LONGEST).then_some(prompt)
}

/// The template of the repository with this root, where it has one of its own.
fn own(root: &Path) -> Result<Option<String>, PromptError> {
    match std::fs::read_to_string(root.join(OWN)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(PromptError::Unreadable(error)),
    }
}

/// Whether the template of the repository makes a prompt of the first task that has one; nothing where it has none of its
/// own.
pub fn check(plan: &Plan, root: &Path) -> Result<(), PromptError> {
    let Some(task) = plan.tasks.iter().find(|task| matches!(task.work, Work::Prompt(_))) else {
        return Ok(());
    };
    match own(root)? {
        Some(_) => words(task, &Facts::of(plan, task.isolation_or(Isolation::Worktree)), root).map(drop),
        None => Ok(()),
    }
}

/// The prompt of a task, as the repository with this root has it.
pub fn words(task: &Task, facts: &Facts<'_>, root: &Path) -> Result<String, PromptError> {
    let Work::Prompt(prompt) = &task.work else { return Ok(String::new()) };
    let own = own(root)?;
    let plan = facts.plan;
    let subagent = plan.subagent(task).filter(|one| manner(plan, task).is_none() && !one.prompt.is_empty());
    let epic = task.epic.as_ref().map(|id| {
        let name = plan.epics.iter().find(|epic| epic.id == *id).and_then(|epic| epic.name.clone());
        context! { id, name => name.unwrap_or_else(|| id.clone()) }
    });
    let landed = facts.before.iter().map(|(id, commit)| {
        let name = plan.task(id).map(|task| task.name.as_str());
        let commit = commit.as_ref().map(|commit| commit.chars().take(10).collect::<String>());
        context! { id => id.as_str(), name, commit }
    });
    let skills = facts.skills.iter().map(|skill| {
        context! { name => skill.name.as_str(), words => skill.words.as_str(), ran => skill.ran }
    });
    let mut environment = Environment::new();
    // A name that is not there is a slip; asking for it is none.
    environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    let rendered = environment.render_str(
        own.as_deref().unwrap_or(TEMPLATE),
        context! {
            task => context! {
                id => task.id.as_str(),
                name => task.name.as_str(),
                prompt => prompt,
                expected_deliverable => task.expected_deliverable.as_deref(),
                files => &task.files,
                verify => &task.verify,
                epic => task.epic.as_deref(),
                agent => task.agent_name(),
                model => task.model.as_deref(),
                priority => task.priority.name(),
            },
            subagent => subagent.map(|one| context! { name => one.name.as_str(), instructions => one.prompt.as_str() }),
            epic,
            landed => landed.collect::<Vec<_>>(),
            skills => skills.collect::<Vec<_>>(),
            expertise => facts.expertise,
            workspace => workspace(facts.isolation),
            branch => facts.branch.as_deref(),
            commits => agents::agent(plan, task.agent_name()).is_ok_and(|agent| agent.commits()),
            ports => facts.ports,
            tools => facts.tools.map(|tools| context! { adds => tools.adds }),
            ui => ui::is_there(root) || facts.directory.is_some_and(ui::is_there),
            round => facts.feedback.map(|feedback| feedback.round),
            trouble => facts.feedback.map(Feedback::kind),
            feedback => facts.feedback.map(Feedback::words),
            known => facts.known,
        },
    )?;
    match rendered.trim().is_empty() && !facts.known {
        true => Err(PromptError::Empty),
        false => Ok(rendered),
    }
}

fn workspace(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Worktree => "worktree",
        Isolation::Clone => "clone",
        Isolation::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use conductor_core::plan::Epic;
    use conductor_core::plan::subagents::Subagent;
    use conductor_core::run::event::{Failure, FailureClass};

    use super::*;
    use crate::worker::feedback::News;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).unwrap()
    }

    fn plan() -> Plan {
        let mut task = Task::new(id("api"), Work::Prompt("Build the API.\n".into()));
        task.name = "The API".into();
        task.expected_deliverable = Some("src/api.rs with tests".into());
        task.verify = vec!["cargo test".into()];
        task.files = vec!["src/api.rs".into()];
        task.epic = Some("backend".into());
        task.agent = Some("gemini".into());
        task.subagent_type = Some("expert".into());
        let mut schema = Task::new(id("schema"), Work::Prompt("x".into()));
        schema.name = "Design the schema".into();
        let expert = Subagent { name: "expert".into(), prompt: "Be brief.".into(), ..Subagent::default() };
        let epic = Epic {
            id: "backend".into(),
            name: Some("The backend".into()),
            dependencies: Vec::new(),
            isolation_scope: Default::default(),
            land: None,
            epic_landing: Default::default(),
        };
        Plan { tasks: vec![task, schema], subagents: vec![expert], epics: vec![epic], ..Plan::default() }
    }

    #[test]
    fn a_prompt_says_what_there_is_to_know() {
        let plan = plan();
        let before = [(id("schema"), Some("0123456789abcdef".to_owned()))];
        let skill = |name: &str, ran| Applied { name: name.into(), words: "Mind the gap.\n".into(), ran };
        let skills = [skill("design", true), skill("style", false)];
        let facts = Facts {
            before: &before,
            ports: Some("20000-20009"),
            branch: Some("conductor/abc".into()),
            skills: &skills,
            ..Facts::of(&plan, Isolation::Worktree)
        };
        let words = |facts: &Facts<'_>| words(&plan.tasks[0], facts, Path::new("/nowhere")).unwrap();
        insta::assert_snapshot!("first", words(&facts));
        let mut kept = plan.tasks[0].clone();
        kept.agent = Some("codex".into());
        let told = super::words(&kept, &facts, Path::new("/nowhere")).unwrap();
        assert!(told.contains("You cannot commit here") && !told.contains("Commit in small steps"), "{told}");
        let failure = Failure::new(FailureClass::Unverified, "`cargo test` failed: exit code 101").with("E1");
        let round = Feedback::mend(1, failure);
        let again = Facts { feedback: Some(&round), ..facts.clone() };
        insta::assert_snapshot!("again", words(&Facts { known: true, ..again.clone() }));
        assert!(words(&again).contains(&words(&facts)), "an agent new to the task gets all of it");
        for (class, begins) in [
            (FailureClass::Conflict, "What you did does not fit"),
            (FailureClass::Killed, "The work was interrupted."),
        ] {
            let round = Feedback::mend(1, Failure::new(class, "f.txt"));
            assert!(
                words(&Facts { feedback: Some(&round), known: true, ..facts.clone() }).starts_with(begins)
            );
        }
        let failure = Failure::new(FailureClass::Conflict, "both changed f.txt");
        let going_on = |news| {
            words(&Facts { feedback: Some(&Feedback { round: 0, news }), known: true, ..facts.clone() })
        };
        let answered = going_on(News::Answered("It may.".into()));
        assert!(answered.starts_with("You stopped to ask, and were answered."), "{answered}");
        assert!(answered.contains("It may."), "{answered}");
        assert!(going_on(News::CutShort).starts_with("The work was interrupted."));
        let round = Feedback { round: 0, news: News::SetBack(failure) };
        let set_back = words(&Facts { feedback: Some(&round), ..facts.clone() });
        assert!(set_back.starts_with("What you did could not be landed"), "{set_back}");
        assert!(set_back.contains("both changed f.txt") && set_back.contains("Build the API."), "{set_back}");
        let bare = Task::new(id("bare"), Work::Prompt("Do it.".into()));
        let facts = Facts::of(&plan, Isolation::None);
        insta::assert_snapshot!("bare", super::words(&bare, &facts, Path::new("/nowhere")).unwrap());
    }

    #[test]
    fn b14_a_prompt_says_what_to_do_when_complete_and_how_to_look_at_a_user_interface() {
        let (dir, plan) = (tempfile::tempdir().unwrap(), plan());
        std::fs::write(dir.path().join("index.html"), "<p>").unwrap();
        let told = |adds| {
            let tools = Some(Offered { adds });
            let facts = Facts { tools, ..Facts::of(&plan, Isolation::Worktree) };
            words(&plan.tasks[0], &facts, dir.path()).unwrap()
        };
        insta::assert_snapshot!("complete", told(true));
        assert!(told(false).contains("`log_issue`") && !told(false).contains("`add_task`"));
        let below = Facts { directory: Some(dir.path()), ..Facts::of(&plan, Isolation::Worktree) };
        let told = words(&plan.tasks[0], &below, Path::new("/nowhere")).unwrap();
        assert!(told.contains("browser"), "{told}");
    }

    /// Each beginning that the template has for an agent that goes on, one below the other.
    #[test]
    fn b14_every_reason_to_go_on_has_words_of_its_own() {
        let plan = plan();
        let failure = |class: FailureClass, words: &str| Failure::new(class, words);
        let mend = |class, words: &str| Feedback::mend(1, failure(class, words));
        let all = [
            ("conflict", mend(FailureClass::Conflict, "both changed f.txt")),
            ("unverified", mend(FailureClass::Unverified, "`cargo test` failed: exit code 101")),
            ("sent_back", mend(FailureClass::SentBack, "src/api.rs:42: use the constant")),
            ("killed", mend(FailureClass::Killed, "it was cut short")),
            (
                "set_back",
                Feedback { round: 0, news: News::SetBack(failure(FailureClass::Conflict, "in f.txt")) },
            ),
            ("answered", Feedback { round: 0, news: News::Answered("It may.".into()) }),
            ("cut short", Feedback { round: 0, news: News::CutShort }),
        ];
        let told = all.iter().map(|(name, feedback)| {
            let of = Facts::of(&plan, Isolation::Worktree);
            let facts = Facts { feedback: Some(feedback), known: true, ..of };
            format!("--- {name}\n{}\n", words(&plan.tasks[0], &facts, Path::new("/nowhere")).unwrap())
        });
        insta::assert_snapshot!("going_on", told.collect::<String>());
    }

    /// What it says of where the work is done, and what earlier tasks taught.
    #[test]
    fn b14_the_cloud_a_clone_and_expertise_are_told() {
        let plan = plan();
        let told = |agent: &str, isolation, expertise| {
            let task = Task { agent: Some(agent.into()), ..plan.tasks[0].clone() };
            let facts = Facts { ports: Some("20000-20009"), expertise, ..Facts::of(&plan, isolation) };
            words(&task, &facts, Path::new("/nowhere")).unwrap()
        };
        insta::assert_snapshot!("cloud", told("cloud", Isolation::Worktree, ""));
        insta::assert_snapshot!("clone", told("codex", Isolation::Clone, ""));
        let notes = "- Tests need `make db` first (seen in 3 tasks).\n";
        insta::assert_snapshot!("expertise", told("gemini", Isolation::Worktree, notes));
    }

    #[test]
    fn b14_tools_are_offered_where_follow_ups_are_taken_or_a_task_reports() {
        let plan = plan();
        let offered = |agent: &str, follow_ups, report| {
            let task = Task { agent: Some(agent.into()), report, ..plan.tasks[0].clone() };
            Offered::of(&plan, &task, &Limits { follow_ups, ..Limits::default() })
        };
        assert_eq!(offered("claude", 0, false), None);
        assert_eq!(offered("claude", 0, true), Some(Offered { adds: false }));
        assert_eq!(offered("claude", 3, false), Some(Offered { adds: true }));
        assert_eq!(offered("gemini", 3, true), None, "it takes none for a single conversation");
    }

    #[test]
    fn an_agent_that_takes_instructions_apart_does_not_get_them_twice() {
        let mut plan = plan();
        let words = |plan: &Plan| {
            words(&plan.tasks[0], &Facts::of(plan, Isolation::None), Path::new("/nowhere")).unwrap()
        };
        assert!(
            words(&plan).starts_with("You work as expert. Be brief.")
                && manner(&plan, &plan.tasks[0]).is_none()
        );
        plan.tasks[0].agent = Some("claude".into());
        assert!(!words(&plan).contains("Be brief."));
        assert_eq!(manner(&plan, &plan.tasks[0]), Some("Be brief."));
    }

    #[test]
    fn a_prompt_that_is_a_command_stays_one() {
        let plan = Plan::default();
        let task = Task::new(id("t"), Work::Prompt("/flow:summary now".into()));
        let words = words(&task, &Facts::of(&plan, Isolation::None), Path::new("/nowhere")).unwrap();
        assert!(words.starts_with("/flow:summary now\n"), "{words}");
    }

    #[test]
    fn a_repository_can_have_its_own_words() {
        let (dir, plan) = (tempfile::tempdir().unwrap(), plan());
        let words = || words(&plan.tasks[0], &Facts::of(&plan, Isolation::None), dir.path());
        std::fs::create_dir(dir.path().join(".conductor")).unwrap();
        std::fs::write(dir.path().join(OWN), "{{ task.id }}: {{ task.prompt | trim }}").unwrap();
        assert_eq!(words().unwrap(), "api: Build the API.");
        let asks = "{% if task.promt %}x{% endif %}{% if absent %}x{% endif %}{{ task.id }}";
        std::fs::write(dir.path().join(OWN), asks).unwrap();
        assert_eq!(words().unwrap(), "api");
        for (bad, line) in [
            ("{{ task.id ", Some(1)),
            ("Do it.\n{{ task.promt }}", Some(2)),
            ("{% if x %}Do it.{% endif %}", None),
        ] {
            std::fs::write(dir.path().join(OWN), bad).unwrap();
            let error = words().unwrap_err();
            assert!(error.to_string().starts_with(OWN), "{error}");
            assert_eq!(error.line(), line, "{error}");
            assert_eq!(check(&plan, dir.path()).unwrap_err().to_string(), error.to_string());
        }
        std::fs::write(dir.path().join(OWN), b"\xff{{ task.prompt }}").unwrap();
        assert!(words().unwrap_err().to_string().contains("cannot be read"));
        std::fs::remove_file(dir.path().join(OWN)).unwrap();
        assert!(words().is_ok());
        std::fs::create_dir(dir.path().join(OWN)).unwrap();
        assert!(words().unwrap_err().to_string().contains("cannot be read"));
    }
}
