//! Tasks that several race for.

use conductor_core::plan::{Task, Wins};

use crate::{check, plan, said};

fn tasks(text: &str) -> Vec<Task> {
    plan(text).tasks
}

#[test]
fn those_who_race_stand_behind_their_task_and_are_like_it() {
    let tasks = tasks(
        "\
config: { agent: gemini, model: large, fallback_agents: [opencode], verify: make test }
tasks:
  - id: schema
    run: make schema
  - id: api
    prompt: Build the API
    dependencies: schema
    files: src/api
    max_cost: 3
    race: [claude, { agent: codex, model: o9 }, gemini]
    race_for: best
  - id: ui
    prompt: Build the user interface
    dependencies: api
    attempts_in_parallel: 2
",
    );
    let told: Vec<(&str, &str, Option<&str>)> =
        tasks.iter().map(|task| (task.id.as_str(), task.agent_name(), task.model.as_deref())).collect();
    let expected = [
        ("schema", "shell", None),
        ("api", "gemini", Some("large")),
        ("api.claude", "claude", None),
        ("api.codex", "codex", Some("o9")),
        ("api.gemini", "gemini", Some("large")),
        ("ui", "gemini", Some("large")),
        ("ui.1", "gemini", Some("large")),
        ("ui.2", "gemini", Some("large")),
    ];
    assert_eq!(told, expected);
    assert_eq!(tasks[1].race().map(|race| race.wins), Some(Wins::Best));
    assert_eq!(tasks[5].race().map(|race| race.wins), Some(Wins::First));
    for entrant in &tasks[2..5] {
        assert_eq!(entrant.entrant_of(), Some(&tasks[1].id));
        assert!(entrant.fallback_agents.is_empty() && !tasks[1].fallback_agents.is_empty());
        let alike = |task: &Task| {
            (
                task.work.clone(),
                task.dependencies.clone(),
                task.files.clone(),
                task.verify.clone(),
                task.max_cost,
            )
        };
        assert_eq!(alike(entrant), alike(&tasks[1]));
    }
}

#[test]
fn everything_that_is_wrong_with_a_race_is_told() {
    let long = "x".repeat(45);
    check(
        &format!(
            "\
epics: [{{ id: one, isolation_scope: epic }}]
tasks:
  - {{ id: a, run: make, race: [claude, codex] }}
  - {{ id: b, prompt: p, race: [claude, codex], changes: forbidden, isolation: none }}
  - {{ id: c, prompt: p, race: [claude, codex], epic: one }}
  - {{ id: d, prompt: p, race: [claude, codex], attempts_in_parallel: 2 }}
  - {{ id: {long}, prompt: p, race: [claude, codex] }}
  - {{ id: f, prompt: p, race: [claude, codex] }}
  - {{ id: F.Codex, prompt: p }}
  - {{ id: g, prompt: p, race: claude }}
  - {{ id: h, prompt: p, attempts_in_parallel: 9 }}
  - {{ id: i, prompt: p, race_for: best }}
  - {{ id: j, prompt: p, attempts_in_parallel: 2, race_for: bets }}
  - {{ id: k, prompt: p, race: [claude, {{ agnet: codex }}] }}
  - {{ id: l, prompt: p, rase: [claude, codex] }}
"
        ),
        "\
3:25 bad-race task 'a': a command is not raced for (give the task a prompt)
4:25 bad-race task 'b': a task that may change nothing has nothing to land, and so is not raced for (leave 'changes: forbidden' out, or the race)
4:25 bad-race task 'b': who races needs a workspace of its own (leave 'isolation: none' out, or the race)
5:25 bad-race task 'c': its epic shares one workspace, in which only one can work (give the epic isolation_scope: task)
6:48 bad-race a task is raced for by agents or by attempts, not both [6:25 the agents are here] (a name may stand in 'race' several times)
7:69 bad-id those who race for task 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…' cannot be named: a task id has at most 50 characters, this one has 52 (they are called by the task's id and their agent's name; give the task a shorter id)
8:25 duplicate-id one who races for task 'f' would be called 'f.codex' (there is a task 'F.Codex' already; rename that one)
10:31 out-of-range 'race' wants 2 to 8 agents, found 1 (a list such as [claude, codex])
11:47 out-of-range 'attempts_in_parallel' must be between 2 and 8
12:25 bad-race 'race_for' says who wins a race, but this task has no race (name the agents in 'race', or their number in 'attempts_in_parallel')
13:60 unknown-value 'race_for' cannot be 'bets' (did you mean 'best'?)
14:42 missing-key one who races needs 'agent'
14:42 unknown-key one who races has no key 'agnet' (did you mean 'agent'?)
15:25 unknown-key a task has no key 'rase' (did you mean 'race'?)",
    );
}

#[test]
fn a_config_races_for_nothing() {
    let told = said("config: { race: [claude, codex] }\ntasks:\n  - { id: a, prompt: p }\n");
    assert!(told.starts_with("1:11 unknown-key the config has no key 'race'"), "{told}");
}
