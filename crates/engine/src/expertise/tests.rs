//! The store of one project: what goes in, what comes out, and how fast.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use conductor_core::expertise::{
    Draft, Fate, Item, ItemId, Kind, Lesson, Measure, Need, Retirement, Source, UNUSED_DAYS, compare,
    words_of,
};
use conductor_core::plan::{Plan, Task, Work};
use conductor_core::run::event::{AgentChoice, Event, Failure, FailureClass, Outcome as Ended, Record};
use conductor_core::values::ids::{Attempt, RunId, TaskId};
use conductor_core::values::units::{Millis, Tick, Timestamp};

use super::course::Course;
use super::{Author, Expertise, ExpertiseError, Project};

fn id(text: &str) -> TaskId {
    TaskId::parse(text).unwrap()
}

fn draft(claim: &str, scope: &str) -> Draft {
    Draft {
        claim: claim.into(),
        kind: Kind::Pattern,
        domain: "api".into(),
        scope: vec![scope.into()],
        check: None,
    }
}

fn item(claim: &str, scope: &str) -> Item {
    Item::new(ItemId::of(Kind::Pattern, claim), draft(claim, scope), Source::User)
}

fn lesson(claim: &str, once_landed: bool) -> Lesson {
    Lesson {
        key: claim.into(),
        draft: draft(claim, "src/**"),
        source: Source::Rule,
        commit: None,
        quote: None,
        once_landed,
    }
}

async fn store(folder: &Path, name: &str) -> Expertise {
    let root = folder.join(name);
    std::fs::create_dir_all(&root).unwrap();
    Expertise::open(&folder.join("home"), Project { key: root.clone(), root }).await.unwrap()
}

fn need(file: &str, words: &str) -> Need {
    Need { files: vec![file.into()], words: words_of(words), domain: "api".into() }
}

async fn given(store: &Expertise, need: &Need) -> Vec<String> {
    let selection = store.select(need, ("r", "t"), 0).await.unwrap();
    let mut claims: Vec<String> = selection.chosen.into_iter().map(|one| one.item.draft.claim).collect();
    claims.sort();
    claims
}

#[tokio::test]
async fn items_are_found_by_files_and_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    for (claim, scope) in [
        ("Handlers return Problem.", "src/api/**"),
        ("Migrations are numbered.", "migrations/*.sql"),
        ("Retry the payment webhook twice.", "jobs/**"),
    ] {
        store.put(&item(claim, scope), Author::User, "added", Timestamp(1)).await.unwrap();
    }
    assert_eq!(given(&store, &need("src/api/pay.rs", "x")).await, ["Handlers return Problem."]);
    assert_eq!(given(&store, &need("src/**", "x")).await, ["Handlers return Problem."], "a folder above");
    assert_eq!(given(&store, &need("docs/a.md", "x")).await, [""; 0]);
    let by_words = need("docs/a.md", "Describe when a payment webhook is sent \"again\" AND not");
    assert_eq!(given(&store, &by_words).await, ["Retry the payment webhook twice."]);
}

#[tokio::test]
async fn two_projects_share_nothing_and_a_newer_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (store(folder.path(), "a").await, store(folder.path(), "b").await);
    one.put(&item("Only here.", "src/**"), Author::User, "added", Timestamp(1)).await.unwrap();
    assert_eq!(other.all().await.unwrap(), []);
    assert_eq!(given(&other, &need("src/a.rs", "only here")).await, [""; 0]);
    // Even where two projects would have the same file.
    let same = Project { key: folder.path().join("c"), root: folder.path().join("c") };
    let path = same.database(&folder.path().join("home"), 0);
    let first = Project { key: folder.path().join("a"), root: folder.path().join("a") };
    let first = first.database(&folder.path().join("home"), 0);
    drop(one);
    // The connection is closed by a thread of its own: when its log is gone, all of it is in the file.
    let log = PathBuf::from(format!("{}-wal", first.display()));
    let end = Instant::now() + Duration::from_secs(30);
    while log.exists() {
        assert!(Instant::now() < end, "the connection is not closed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    std::fs::copy(first, &path).unwrap();
    let third = Expertise::open(&folder.path().join("home"), same).await.unwrap();
    assert_eq!(third.all().await.unwrap(), [], "a file that is another project's is left alone");
}

#[tokio::test]
async fn every_version_stays_and_a_way_back_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    let first = item("First \u{201c}words\u{201d}.", "src/**");
    store.put(&first, Author::User, "added", Timestamp(1)).await.unwrap();
    let mut second = first.clone();
    second.draft.claim = "Second.".into();
    store.put(&second, Author::User, "edited", Timestamp(2)).await.unwrap();
    store.put(&second, Author::User, "edited", Timestamp(3)).await.unwrap();
    let versions = store.versions(&first.id).await.unwrap();
    assert_eq!(versions.len(), 2, "what differs in nothing is no version");
    store.roll_back(&first.id, 1, Timestamp(4)).await.unwrap();
    let after = store.versions(&first.id).await.unwrap();
    assert_eq!(after.len(), 3);
    assert_eq!(after[2].body.as_bytes(), versions[0].body.as_bytes());
    assert_eq!(after[..2], versions[..], "what was, stays");
    assert_eq!(store.get(&first.id).await.unwrap().unwrap().item, first);
    let missing = store.roll_back(&first.id, 9, Timestamp(5)).await;
    assert!(matches!(missing, Err(ExpertiseError::NoVersion { version: 9, .. })));
}

#[tokio::test]
async fn secrets_never_enter() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    let secret = concat!("gh", "p_abcdefghijklmnopqrstuvwxyz0123456789");
    let refused =
        store.put(&item(&format!("Log in with {secret}"), "src/**"), Author::User, "x", Timestamp(1)).await;
    assert!(matches!(refused, Err(ExpertiseError::Secret("claim"))), "{refused:?}");
    let log = Log::new(&["t"]).learns("t", lesson(&format!("The token is {secret}"), false));
    log.taken_in_by(&store, "r1").await;
    assert_eq!(store.all().await.unwrap(), []);
}

/// A log as a run writes it.
struct Log(Vec<Record>);

impl Log {
    fn new(tasks: &[&str]) -> Log {
        let tasks = tasks.iter().map(|task| Task::new(id(task), Work::Prompt("Do it".into()))).collect();
        let plan = Arc::new(Plan { tasks, ..Plan::default() });
        Log(Vec::new()).and(Event::RunCreated { plan, options: None })
    }

    fn and(mut self, event: Event) -> Log {
        let seq = self.0.len() as u64 + 1;
        self.0.push(Record { seq, at: Timestamp(seq as i64), tick: Tick(0), event });
        self
    }

    fn starts(self, task: &str) -> Log {
        let choice = AgentChoice { agent: "claude".into(), model: Some("opus".into()), why: String::new() };
        self.and(Event::AttemptStarted {
            task: id(task),
            attempt: Attempt(1),
            executor: 1,
            choice: Some(Box::new(choice)),
            on: Default::default(),
        })
    }

    fn uses(self, task: &str, item: &ItemId, fate: Fate, held_out: bool) -> Log {
        let (given, withheld) = match fate {
            Fate::Given => (vec![item.clone()], Vec::new()),
            _ => (Vec::new(), vec![item.clone()]),
        };
        self.and(Event::ExpertiseUsed { task: id(task), attempt: Attempt(1), given, withheld, held_out })
    }

    fn learns(self, task: &str, lesson: Lesson) -> Log {
        self.and(Event::ExpertiseLearned { task: id(task), attempt: Attempt(1), lessons: vec![lesson] })
    }

    fn ends(self, task: &str, landed: bool) -> Log {
        let failure = Failure::new(FailureClass::Unverified, "no");
        let outcome = if landed { Ended::Succeeded } else { Ended::Failed(failure.clone()) };
        let ended = self.and(Event::AttemptEnded {
            task: id(task),
            attempt: Attempt(1),
            outcome,
            elapsed: Millis(1_000),
            executor: 1,
            change: None,
            phases: None,
        });
        match landed {
            true => ended.and(Event::TaskCompleted { task: id(task), commit: None }),
            false => ended.and(Event::TaskFailed { task: id(task), failure }),
        }
    }

    async fn taken_in_by(&self, store: &Expertise, run: &str) {
        let run = RunId::parse(run).unwrap();
        let (mut course, mut read) = (Course::default(), store.read_up_to(&run).await.unwrap());
        store.project(&run, &mut course, &self.0, &mut read, UNUSED_DAYS).await.unwrap();
    }
}

#[tokio::test]
async fn a_log_counts_once_however_often_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    let known = item("Known.", "src/**");
    store.put(&known, Author::User, "added", Timestamp(1)).await.unwrap();
    let log = Log::new(&["a", "b", "c", "d"])
        .starts("a")
        .uses("a", &known.id, Fate::Given, false)
        .learns("a", lesson("Learned.", false))
        .learns("a", lesson("Landed.", true))
        .ends("a", true)
        .starts("b")
        .uses("b", &known.id, Fate::Given, false)
        .learns("b", lesson("Never landed.", true))
        .ends("b", false)
        .starts("c")
        .uses("c", &known.id, Fate::Withheld, false)
        .ends("c", true)
        .starts("d")
        .uses("d", &known.id, Fate::Withheld, true)
        .ends("d", true);
    log.taken_in_by(&store, "r1").await;
    log.taken_in_by(&store, "r1").await;
    let claims: Vec<String> =
        store.all().await.unwrap().into_iter().map(|one| one.item.draft.claim).collect();
    assert!(claims.contains(&"Learned.".to_owned()) && claims.contains(&"Landed.".to_owned()), "{claims:?}");
    assert!(!claims.contains(&"Never landed.".to_owned()), "{claims:?}");
    let tally = store.get(&known.id).await.unwrap().unwrap().tally;
    assert_eq!(
        (tally.used, tally.helpful, tally.harmful, tally.withheld, tally.withheld_good),
        (2, 1, 1, 1, 1)
    );
    let observations = store.observations().await.unwrap();
    let (one_by_one, counted) = (compare(observations.clone()), store.comparison().await.unwrap());
    assert_eq!((counted.with, counted.without), (one_by_one.with, one_by_one.without));
    let with: Vec<bool> = observations.iter().map(|one| one.with).collect();
    assert_eq!(
        with,
        [true, true, false],
        "one that was not held out and was given nothing is on neither side"
    );
    let evidence = store.find(ItemId::of(Kind::Pattern, "Learned.").as_str()).await.unwrap().item.evidence;
    assert_eq!((evidence[0].task.as_str(), evidence[0].event), ("a", 4));
    let by_agent = store.by_agent().await.unwrap();
    assert_eq!((by_agent[0].tasks, by_agent[0].landed, by_agent[0].model.as_deref()), (4, 3, Some("opus")));
}

#[tokio::test]
async fn what_harms_is_retired_and_what_hurts_as_a_whole_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    let bad = item("Bad advice.", "src/**");
    store.put(&bad, Author::User, "added", Timestamp(1)).await.unwrap();
    let names: Vec<String> = (0..90).map(|n| format!("t{n}")).collect();
    let mut log = Log::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for (n, name) in names.iter().enumerate() {
        let (fate, held_out, landed) = match n % 3 {
            0 => (Fate::Given, false, false),
            1 => (Fate::Withheld, false, true),
            _ => (Fate::Withheld, true, true),
        };
        log = log.starts(name).uses(name, &bad.id, fate, held_out).ends(name, landed);
    }
    let run = RunId::parse("r1").unwrap();
    let (mut course, mut read) = (Course::default(), 0);
    let projected = store.project(&run, &mut course, &log.0, &mut read, UNUSED_DAYS).await.unwrap();
    assert!(projected.settled && projected.goes.contains(&(bad.id.clone(), Retirement::Harms)));
    assert!(store.pause_where_it_hurts(Timestamp(9)).await.unwrap().is_some());
    assert_eq!(store.paused().await.unwrap().unwrap().by, Measure::Landed.into());
    assert_eq!(store.pause_where_it_hurts(Timestamp(9)).await.unwrap(), None, "it is told once");
    store.resume(Timestamp(10_000)).await.unwrap();
    assert_eq!((store.paused().await.unwrap(), store.observations().await.unwrap().len()), (None, 0));
    let retired = Event::ExpertiseRetired { item: bad.id.clone(), why: Retirement::Harms };
    let more = [Record { seq: read + 1, at: Timestamp(5), tick: Tick(0), event: retired }];
    store.project(&run, &mut course, &more, &mut read, UNUSED_DAYS).await.unwrap();
    assert_eq!(given(&store, &need("src/a.rs", "x")).await, [""; 0]);
}

#[tokio::test]
async fn the_repositorys_file_is_taken_in_and_what_left_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    let path = store.project.shared_file();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "version: 1\nitems:\n  - claim: One.\n  - claim: Two.\n").unwrap();
    assert_eq!(store.sync_file(Timestamp(1)).await.unwrap().taken, 2);
    assert_eq!(store.sync_file(Timestamp(2)).await.unwrap().taken, 0);
    std::fs::write(&path, "version: 1\nitems:\n  - claim: Two.\n").unwrap();
    let done = store.sync_file(Timestamp(3)).await.unwrap();
    assert_eq!((done.taken, done.retired), (0, 1));
    std::fs::write(&path, "version: 1\nitems:\n  - claim: One.\n  - claim: Two.\n").unwrap();
    assert_eq!(store.sync_file(Timestamp(4)).await.unwrap().taken, 1, "what is there again counts again");
    std::fs::write(&path, "version: 7\n").unwrap();
    assert!(matches!(store.sync_file(Timestamp(5)).await, Err(ExpertiseError::File(_))));
    let (path, items) = store.export_file().await.unwrap();
    let text = std::fs::read(&path).unwrap();
    assert_eq!(items, 2);
    store.sync_file(Timestamp(6)).await.unwrap();
    store.export_file().await.unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), text);
}

/// The figure that is promised is that of a program as it is installed; unoptimised it may take ten times as long.
#[tokio::test]
async fn a_selection_among_ten_thousand_items_takes_a_moment() {
    const WORDS: [&str; 24] = [
        "payment", "webhook", "retry", "token", "schema", "index", "cache", "queue", "worker", "report",
        "export", "import", "search", "filter", "render", "upload", "notify", "session", "invoice", "order",
        "stock", "price", "user", "group",
    ];
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path(), "a").await;
    store
        .put_many(
            &(0..10_000_usize)
                .map(|n| {
                    let word = |k: usize| WORDS[(n * 7 + k * (n % 11 + 1)) % WORDS.len()];
                    let claim =
                        format!("The {} of the {} needs the {} of case {n}.", word(0), word(1), word(2));
                    item(&claim, &format!("src/part{}/**", n % 200))
                })
                .collect::<Vec<_>>(),
        )
        .await
        .unwrap();
    let mut times = Vec::new();
    for n in 0..50 {
        let need = need(
            &format!("src/part{n}/x.rs"),
            "Make the payment webhook retry when the queue is full, with a report",
        );
        let begun = Instant::now();
        let selection = store.select(&need, ("r", &n.to_string()), 15).await.unwrap();
        times.push(begun.elapsed());
        assert!(!selection.chosen.is_empty());
    }
    times.sort();
    eprintln!("selection among 10,000 items: median {:?}, worst {:?}", times[25], times[49]);
    let most = if cfg!(debug_assertions) { 40 } else { 2 };
    assert!(times[25].as_millis() < most, "median {:?}", times[25]);
}
