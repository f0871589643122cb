use std::path::Path;
use std::sync::{Arc, Mutex};

use conductor_core::plan::groups::{self, Steps};
use conductor_core::plan::{Command, Plan, Work};
use conductor_core::values::units::{Now, Tick, Timestamp};

use super::*;
use crate::git::users_git::init;
use crate::stores::NewRun;

/// A state directory, a place the user is in, and what the user was told.
struct World {
    folder: tempfile::TempDir,
    home: Home,
    told: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("state")).unwrap();
        std::fs::create_dir(folder.path().join("here")).unwrap();
        World { folder, home, told: Arc::default() }
    }

    fn here(&self) -> PathBuf {
        self.folder.path().join("here")
    }

    /// Runs are stored oldest first.
    async fn store(&self, name: &str, directory: &Path, plan: Plan) {
        let store = stores::open(&self.home).await.unwrap();
        let count = store.runs().await.unwrap().len();
        let now = Now { at: Timestamp(count as i64 * 1000), tick: Tick(0), jitter: 0.5 };
        let tasks = plan.tasks.len();
        let (_, first) = Run::create(plan, now);
        let new = NewRun { id: id(name), directory: directory.to_owned(), source: String::new(), tasks };
        store.create(&new, &first).await.unwrap();
    }

    /// Its log is shorter than what was acknowledged of it.
    fn damage(&self, name: &str) {
        std::fs::write(self.home.run(&id(name)).join("head"), 9u64.to_le_bytes()).unwrap();
    }

    async fn open(&self) -> Archive {
        let told = self.told.clone();
        let tell = move |notice: &Notice| told.lock().unwrap().push(notice.to_string());
        Archive::open(self.home.clone(), self.here(), Box::new(tell)).await.unwrap()
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

fn id(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn plan(tasks: &[&str]) -> Plan {
    let task = |name: &&str| Task::new(TaskId::parse(name).unwrap(), Work::Run(Command::Line("x".into())));
    Plan { tasks: tasks.iter().map(task).collect(), ..Plan::default() }
}

/// A plan whose tasks are one group, to be carried out.
fn grouped(group: &str) -> Plan {
    let mut plan = plan(&["a", "b"]);
    plan.tasks.iter_mut().for_each(|task| task.group = Some(group.to_owned()));
    let chosen = groups::choose(&plan, None).unwrap();
    groups::arrange(chosen.plan, &Steps::default(), groups::Circumstances::default()).unwrap()
}

fn names(runs: &[StoredRun]) -> Vec<&str> {
    runs.iter().map(|run| run.id.as_str()).collect()
}

#[tokio::test]
async fn a_run_is_named_by_the_beginning_of_its_name() {
    let world = World::new();
    for name in ["calmotter", "calmowl", "briskfox"] {
        world.store(name, &world.here(), plan(&["a"])).await;
    }
    let archive = world.open().await;
    let check = |word: &str| match archive.named(word) {
        Ok(run) => run.id.to_string(),
        Err(FindError::NoSuchRun { meant: Some(meant), .. }) => format!("did you mean {meant}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(check("b"), "briskfox");
    assert_eq!(check("calmot"), "calmotter");
    assert_eq!(check("calm"), "'calm' could be run calmowl or calmotter; give more of it");
    assert_eq!(check("briskfix"), "did you mean briskfox");
    assert_eq!(check("quite\nelse"), "there is no run 'quite else'");
    assert_eq!(check(""), "there is no run ''", "no word names no run");
}

#[tokio::test]
async fn a_run_that_was_written_and_is_not_known_is_damage() {
    let world = World::new();
    world.store("kept", &world.here(), plan(&["a"])).await;
    let gone = world.home.run(&id("gone"));
    std::fs::create_dir_all(&gone).unwrap();
    std::fs::copy(world.home.run(&id("kept")).join("head"), gone.join("head")).unwrap();
    let error = world.open().await.named("gone").unwrap_err();
    assert!(matches!(error, FindError::Store(StoreError::Damaged { .. })), "{error}");
    assert!(error.to_string().contains("it knows nothing of run gone, which had been written"), "{error}");
}

#[tokio::test]
async fn unnamed_are_those_of_this_directory_or_repository_newest_first() {
    let world = World::new();
    let below = world.here().join("below");
    std::fs::create_dir(&below).unwrap();
    let archive = world.open().await;
    assert!(matches!(archive.candidates(None), Err(FindError::NothingHere)));
    for (name, directory) in [("one", world.here()), ("two", below), ("three", world.folder.path().into())] {
        world.store(name, &directory, plan(&["a"])).await;
    }
    assert_eq!(names(&world.open().await.here().unwrap()), ["one"], "there is no repository");
    init(&world.here());
    let archive = world.open().await;
    assert_eq!(names(&archive.here().unwrap()), ["two", "one"]);
    assert_eq!(names(&archive.candidates(Some("th")).unwrap()), ["three"], "a name counts anywhere");
    assert!(world.told().is_empty());
}

#[tokio::test]
async fn a_repository_that_git_refuses_is_told_and_this_directory_is_left() {
    let world = World::new();
    let below = world.here().join("below");
    std::fs::create_dir(&below).unwrap();
    world.store("one", &world.here(), plan(&["a"])).await;
    world.store("two", &below, plan(&["a"])).await;
    std::fs::write(world.here().join(".git"), "gitdir: /nowhere\n").unwrap();
    assert_eq!(names(&world.open().await.here().unwrap()), ["one"]);
    let told = world.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].ends_with("; only runs of this very directory are seen"), "{told:?}");
}

#[tokio::test]
async fn a_task_is_the_newest_that_fits_or_else_the_newest() {
    let world = World::new();
    for (name, tasks) in [("old", ["build", "test"]), ("mid", ["build", "lint"]), ("new", ["docs", "site"])] {
        world.store(name, &world.here(), plan(&tasks)).await;
    }
    let archive = world.open().await;
    let run = |found: Result<FoundTask, FindError>| found.map(|task| task.found.stored.id.to_string());
    assert_eq!(run(archive.task(None, "build", |_, _| true).await).unwrap(), "mid");
    let fits = |found: &Found, _: usize| found.stored.id.as_str() == "old";
    assert_eq!(run(archive.task(None, "build", fits).await).unwrap(), "old");
    assert_eq!(run(archive.task(None, "build", |_, _| false).await).unwrap(), "mid");
    assert_eq!(run(archive.task(Some("o"), "build", |_, _| false).await).unwrap(), "old");
    let error = archive.task(None, "dosc", |_, _| true).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no task 'dosc' in run new");
    assert!(matches!(error, FindError::NoSuchTask { meant: Some(meant), .. } if meant == "docs"));
}

#[tokio::test]
async fn an_unreadable_run_is_left_out_unless_it_is_named() {
    let world = World::new();
    world.store("whole", &world.here(), plan(&["a"])).await;
    world.store("wrong", &world.here(), plan(&["a"])).await;
    world.damage("wrong");
    let archive = world.open().await;
    let found = archive.task(None, "a", |_, _| true).await.unwrap();
    assert_eq!(found.found.stored.id, id("whole"));
    let told = world.told();
    assert_eq!(told.len(), 1);
    assert!(told[0].starts_with("run wrong cannot be read and is left out: "), "{told:?}");
    assert!(archive.task(Some("wrong"), "a", |_, _| true).await.is_err());
}

#[tokio::test]
async fn a_group_is_as_its_newest_run_carried_it_out() {
    let world = World::new();
    for (name, group) in [("first", "red"), ("second", "blue"), ("third", "red")] {
        world.store(name, &world.here(), grouped(group)).await;
    }
    world.store("fourth", &world.here(), plan(&["a"])).await;
    let archive = world.open().await;
    let groups = archive.groups().await.unwrap();
    let told: Vec<_> = groups.iter().map(|one| (one.run.as_str(), one.metadata.group_id.as_str())).collect();
    assert_eq!(told, [("third", "red"), ("second", "blue")]);
    assert_eq!(archive.group(None, "red").await.unwrap().0.stored.id, id("third"));
    assert_eq!(archive.group(Some("fi"), "red").await.unwrap().0.stored.id, id("first"));
    let error = archive.group(None, "bleu").await.unwrap_err();
    assert_eq!(error.to_string(), "no run here has carried out a group 'bleu'");
    assert!(matches!(error, FindError::NoSuchGroup { meant: Some(meant), .. } if meant == "blue"));
}

#[test]
fn a_run_whose_directory_is_gone_has_no_repository() {
    let directory = PathBuf::from("/nowhere/at/all");
    let (source, status) = (String::new(), "completed".to_owned());
    let stored =
        StoredRun { id: id("r"), directory, source, tasks: 1, status, created: Timestamp(0), shared: None };
    let error = repository(&stored).unwrap_err();
    assert_eq!(error.to_string(), "run r works in /nowhere/at/all, which is gone");
}
