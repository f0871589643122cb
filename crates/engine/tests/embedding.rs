//! The engine in another program: runs are started, followed, asked, steered and waited for without the command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use conductor_core::file::{self, Source};
use conductor_core::plan::groups::Steps;
use conductor_core::plan::{Isolation, Plan};
use conductor_core::run::event::{Event, RunOutcome};
use conductor_core::run::{Stage, Status};
use conductor_core::values::ids::TaskId;
use conductor_engine::process;
use conductor_engine::runs::engine::{Engine, EngineError, Settings};

fn plan(text: &str) -> Plan {
    file::load(&Source::new("tasks.yaml", text.into()).unwrap()).unwrap().plan
}

fn place(folder: &Path, name: &str) -> Settings {
    let place = folder.join(name);
    std::fs::create_dir(&place).unwrap();
    Settings::in_directory(place)
}

async fn wait_for_file(path: &Path) {
    tokio::time::timeout(Duration::from_secs(30), async {
        while !path.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .unwrap_or_else(|_| panic!("{} is never there", path.display()));
}

const WAITING: &str = "
tasks:
  - { id: first, run: 'sleep 600 & touch begun; while [ ! -e go ]; do sleep 0.02; done; echo first > first.txt' }
  - { id: second, run: 'echo second > second.txt', dependencies: [first] }
";

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_are_driven_in_one_process_and_one_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let (here, there) = (place(folder.path(), "here"), place(folder.path(), "there"));
    let (in_here, in_there) = (here.directory.clone(), there.directory.clone());
    let mut one = engine.start(plan(WAITING), here).await.unwrap();
    let other = engine.start(plan(WAITING), there).await.unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let seeing = seen.clone();
    one.on_event(move |record| seeing.lock().unwrap().push(record.clone()));
    for directory in [&in_here, &in_there] {
        wait_for_file(&directory.join("begun")).await;
    }
    let status = one.status().await.unwrap();
    assert_eq!((status.running.len(), status.running[0].task.as_str()), (1, "first"));
    let (id, cancelled) = (one.id().clone(), other.id().clone());
    let appends = one.append_times().clone();
    other.cancel();
    let ended = other.wait().await.unwrap();
    assert_eq!(ended.run.stage(), Stage::Finished(RunOutcome::Cancelled));
    assert!(process::alive(&cancelled).is_empty(), "nothing is left of the one");
    assert!(!process::alive(&id).is_empty(), "and the other is untouched");
    std::fs::write(in_here.join("go"), "").unwrap();
    let ended = one.wait().await.unwrap();
    assert_eq!(ended.run.stage(), Stage::Finished(RunOutcome::Completed));
    assert_eq!(std::fs::read_to_string(in_here.join("second.txt")).unwrap(), "second\n");
    assert!(!in_there.join("first.txt").exists());
    assert!(process::alive(&id).is_empty());
    assert!(ended.output.join("execution_summary.json").is_file());
    let seen = seen.lock().unwrap().clone();
    let seqs: Vec<u64> = seen.iter().map(|record| record.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[1] == pair[0] + 1), "{seqs:?}");
    assert!(matches!(seen.last().unwrap().event, Event::RunFinished { .. }));
    let runs = engine.runs().await.unwrap();
    assert_eq!(runs.len(), 2);
    assert_eq!(engine.find(&id.as_str()[..6]).await.unwrap().id, id);
    assert!(matches!(engine.find("nothing").await, Err(EngineError::Find(_))));
    assert_eq!(engine.read(&id).await.unwrap().count(Status::Completed), 2);
    let mut tally = engine.tally(&id).await.unwrap();
    tally += &engine.tally(&cancelled).await.unwrap();
    assert_eq!((tally.tasks["completed"]["command"], tally.tasks["cancelled"]["none"]), (2, 1));
    assert!(appends.so_far().count() > 0, "it is measured how long events take to be durable");
}

/// As a server does with the runs of a terminal: by the log and the control socket alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_watched_from_outside_without_gap_or_double() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let (engine, onlooker) = (Engine::open(&state).await.unwrap(), Engine::open(&state).await.unwrap());
    let settings = place(folder.path(), "place");
    let directory = settings.directory.clone();
    let run = engine.start(plan(WAITING), settings).await.unwrap();
    let (mut all, mut late) = (onlooker.watch(run.id(), 0), onlooker.watch(run.id(), 3));
    let id = run.id().clone();
    wait_for_file(&directory.join("begun")).await;
    let watching = tokio::spawn(async move {
        let (mut seen, mut seen_late) = (Vec::new(), Vec::new());
        while let Some(records) = all.next().await.unwrap() {
            seen.extend(records);
        }
        while let Some(records) = late.next().await.unwrap() {
            seen_late.extend(records);
        }
        (seen, seen_late)
    });
    std::fs::write(directory.join("go"), "").unwrap();
    run.wait().await.unwrap();
    let (seen, seen_late) = watching.await.unwrap();
    let reader = conductor_engine::stores::open_to_look(engine.home()).await.unwrap();
    let log = reader.load(&id, 0).await.unwrap();
    assert_eq!(seen, log);
    assert_eq!(seen_late, log[3..]);
}

/// Each of several has its own slots, folders, records and end.
#[tokio::test(flavor = "multi_thread")]
async fn ten_runs_at_once_come_to_ten_ends() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let mut runs = Vec::new();
    for number in 0..10 {
        let settings = place(folder.path(), &format!("place{number}"));
        let text = format!(
            "tasks: [{{ id: a, run: 'echo {number} > a' }}, {{ id: b, run: 'cat a > b', dependencies: [a] }}]"
        );
        runs.push((number, settings.directory.clone(), engine.start(plan(&text), settings).await.unwrap()));
    }
    for (number, directory, mut run) in runs {
        let mut last = 0;
        while let Some(records) = run.next_events().await {
            last = records.last().map_or(last, |record| record.seq);
        }
        assert!(run.next_notice().await.is_none());
        assert_eq!(engine.read(run.id()).await.unwrap().seq(), last);
        let ended = run.wait().await.unwrap();
        assert_eq!(ended.run.count(Status::Completed), 2);
        assert_eq!(std::fs::read_to_string(directory.join("b")).unwrap(), format!("{number}\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_are_carried_out_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let text = "
tasks:
  - { id: schema, run: 'echo schema >> ../done', group: base }
  - { id: api, run: 'echo api >> ../done', group: top, dependencies: [schema] }
";
    let settings = place(folder.path(), "place");
    let run = engine.start_groups(plan(text), &Steps::default(), settings).await.unwrap();
    let ended = run.wait().await.unwrap();
    assert_eq!(ended.run.stage(), Stage::Finished(RunOutcome::Completed));
    assert_eq!(std::fs::read_to_string(folder.path().join("done")).unwrap(), "schema\napi\n");
    assert!(ended.output.join("groups/top/report.md").is_file());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_left_is_taken_up_again() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let settings = place(folder.path(), "place");
    let directory = settings.directory.clone();
    let run = engine.start(plan(WAITING), settings).await.unwrap();
    wait_for_file(&directory.join("begun")).await;
    let id = run.id().clone();
    assert!(matches!(engine.resume(&id).await, Err(EngineError::Home(_))), "it is driven already");
    run.control().ask(conductor_core::schedule::Request::Stop);
    assert!(matches!(run.wait().await.unwrap().run.stage(), Stage::Stopped(_)));
    std::fs::write(directory.join("go"), "").unwrap();
    let ended = engine.resume(&id).await.unwrap().wait().await.unwrap();
    assert_eq!(ended.run.count(Status::Completed), 2);
    assert!(matches!(engine.resume(&id).await, Err(EngineError::Over(over)) if over == id));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_started_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let settings = place(folder.path(), "place");
    let prompt = plan("tasks: [{ id: a, prompt: Do it, agent: claude }]");
    let agent_missing_or_apart = engine.start(prompt, settings.clone()).await.err().unwrap();
    assert!(
        matches!(agent_missing_or_apart, EngineError::Apart(_) | EngineError::Agent { .. }),
        "{agent_missing_or_apart}"
    );
    let mut circle = plan("tasks: [{ id: a, run: 'true' }, { id: b, run: 'true', dependencies: [a] }]");
    let on = conductor_core::plan::Dependency::on(TaskId::parse("b").unwrap());
    circle.tasks[0].dependencies.push(on);
    assert!(matches!(engine.start(circle, settings).await, Err(EngineError::Graph(_))));
    assert!(engine.runs().await.unwrap().is_empty());
    let runs = folder.path().join("state/runs");
    assert!(std::fs::read_dir(runs).map_or(0, Iterator::count) == 0);
}

/// Several agents would change the same files at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn several_agents_never_race_in_one_directory() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let text = "
config: { agents: { one: { command: ['true'] }, two: { command: ['true'] } } }
tasks: [{ id: a, prompt: Do it, race: [one, two] }]
";
    let mut settings = place(folder.path(), "place");
    let mut in_place = plan(text);
    in_place.tasks.iter_mut().for_each(|task| task.isolation = Some(Isolation::None));
    let by_task = engine.start(in_place, settings.clone()).await.err().unwrap();
    settings.options.isolation = Some(Isolation::None);
    let by_option = engine.start(plan(text), settings).await.err().unwrap();
    for refused in [by_task, by_option] {
        assert!(matches!(&refused, EngineError::RaceInPlace(task) if task.as_str() == "a"), "{refused}");
    }
    assert!(engine.runs().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_run_that_cannot_be_read_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(folder.path().join("state")).await.unwrap();
    let settings = place(folder.path(), "place");
    let text = "tasks: [{ id: a, run: 'true' }]";
    let earlier = engine.start(plan(text), settings.clone()).await.unwrap();
    let id = earlier.id().clone();
    earlier.wait().await.unwrap();
    // Its log holds less than what was acknowledged.
    std::fs::write(engine.home().run(&id).join("head"), 99_u64.to_le_bytes()).unwrap();
    let mut run = engine.start(plan(text), settings).await.unwrap();
    let notice = run.next_notice().await.unwrap();
    assert!(notice.starts_with(&format!("earlier run {id} cannot be read and is left out")), "{notice}");
    run.wait().await.unwrap();
}
