//! The full-screen view on a real terminal: every key on a run that another process drives, and the terminal in its first
//! state however the view is left.

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{CONDUCTOR, World, children, wait_for};
use crate::questions;
use crate::repository::{conductor, conflicted, git, on_branch};
use crate::reviews;
use crate::tmux::{Terminal, seen};

/// One is done, one has failed and taken another with it, two are at work and one waits for one of them.
const MIXED: &str = "
tasks:
  - { id: good, run: AGENT say all is well }
  - { id: bad, run: AGENT say about to fail then exit 3 }
  - { id: after-bad, run: 'true', dependencies: [bad] }
  - { id: long, run: AGENT say writing src/api.rs then await go, dependencies: [{ id: bad, when: finished }] }
  - { id: other, run: AGENT await go, dependencies: [{ id: bad, when: finished }] }
  - { id: last, run: 'true', dependencies: [long] }
";

const SIZE: (u16, u16) = (120, 36);

/// A run in the background, and nothing left to begin.
fn with_run(tasks: &str) -> World {
    let world = World::in_place(tasks);
    world.conductor(&["run", "tasks.yaml", "-p", "2", "--detach"]).expect(0);
    world
}

fn mixed() -> World {
    let world = with_run(MIXED);
    wait_for("both to be at work", || {
        let started = world.logged("attempt_started");
        (started.contains(&"long".to_owned()) && started.contains(&"other".to_owned())).then_some(())
    });
    world
}

/// Waits until an event about a task is in the log.
#[track_caller]
fn logged(terminal: &Terminal<'_>, event: &str, task: &str) {
    wait_for(&format!("{event} of {task}, with {}", terminal.screen()), || {
        terminal.world.logged(event).contains(&task.to_owned()).then_some(())
    });
}

fn let_end(world: &World) {
    world.write("go", "");
    let run = world.run_id();
    world.conductor(&["wait", &run]);
}

/// What a user wants first, with the keys for it, how many there may be, and what is then on the screen. That an agent's
/// question is answered in two is another run's: see `what_an_agent_asks_is_allowed_in_two_keys`.
const FIRST_TRIES: [(&str, &[&str], usize, &[&str]); 4] = [
    (
        "find what failed, and its last lines",
        &["f"],
        3,
        &["bad ✗ failed", "about to fail", "it stays failed"],
    ),
    ("see why a task does not run", &["G", "w"], 2, &["last ○ pending", "waits for long (running)"]),
    ("let one more run at once", &["+"], 1, &["slots 2/3"]),
    ("see what an agent says right now", &["r", "1"], 2, &["long ● working", "writing src/api.rs"]),
];

#[test]
fn few_keys_are_enough_on_a_real_run() {
    let mut world = mixed();
    let Some(terminal) = Terminal::open(&mut world, SIZE, "tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    for (what, keys, most, words) in FIRST_TRIES {
        assert!(keys.len() <= most, "{what}: {} keys, and {most} are meant to be enough", keys.len());
        terminal.press(keys);
        terminal.wait_for(words);
    }
    terminal.press(&["q"]);
    let text = terminal.ended(0);
    assert!(text.contains("goes on; back to it: conductor tui"), "{text}");
    drop(terminal);
    let Some(terminal) = Terminal::open(&mut world, SIZE, "tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/3"]);
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}

#[test]
fn a_log_is_there_again_after_the_changes() {
    let mut world = mixed();
    let Some(terminal) = Terminal::open(&mut world, SIZE, "tui") else { return };
    terminal.press(&["f", "2"]);
    terminal.wait_for(&["bad ✗ failed", "about to fail"]);
    terminal.press(&["3"]);
    wait_for("the changes", || (!terminal.screen().contains("about to fail")).then_some(()));
    terminal.press(&["2"]);
    terminal.wait_for(&["about to fail"]);
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}

#[test]
fn keys_ask_the_run_of_another_process() {
    let mut world = mixed();
    let Some(terminal) = Terminal::open(&mut world, SIZE, "tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    terminal.press(&["p"]);
    terminal.wait_for(&["◔ paused", "is paused; what is at work goes on"]);
    terminal.press(&["p"]);
    terminal.wait_for(&["● running"]);
    terminal.press(&["-"]);
    terminal.wait_for(&["slots 2/1"]);
    terminal.press(&["+", "+"]);
    terminal.wait_for(&["slots 2/3"]);
    terminal.press(&["f", "R"]);
    logged(&terminal, "task_reopened", "bad");
    terminal.wait_for(&["attempt 2 of 2"]);
    terminal.press(&["r"]);
    terminal.wait_for(&["long ● working"]);
    terminal.press(&["s"]);
    terminal.wait_for(&["to the agent of long:"]);
    terminal.press(&["-l", "mind the tests"]);
    terminal.press(&["Enter"]);
    logged(&terminal, "words_sent", "long");
    terminal.press(&["-l", ":cancel other"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["cancel other, which is running? what needs it is skipped  y/n"]);
    terminal.press(&["n"]);
    terminal.press(&["x", "y"]);
    logged(&terminal, "task_cancelled", "other");
    terminal.press(&["c"]);
    terminal.wait_for(&["the run may cost at most: $"]);
    terminal.press(&["-l", "12.50"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["of $12.50"]);
    terminal.press(&["-l", "c+2.50"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["of $15.00"]);
    terminal.press(&["-l", ":why last"]);
    terminal.press(&["Enter"]);
    terminal.press(&["-l", "unonsense"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["priority of last, instead of medium: nonsense", "one of critical, high"]);
    terminal.press(&["C-u"]);
    terminal.press(&["-l", "high"]);
    terminal.press(&["Enter"]);
    logged(&terminal, "priority_changed", "last");
    terminal.press(&["-l", ":skip la"]);
    terminal.press(&["Tab", "Enter", "y"]);
    logged(&terminal, "task_skipped", "last");
    terminal.press(&["a"]);
    terminal.wait_for(&["there is nothing to approve"]);
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}

#[test]
fn keys_show_what_there_is_to_see() {
    let mut world = mixed();
    world.set("PAGER", format!("cat > {}", world.path("paged").display()));
    let Some(terminal) = Terminal::open(&mut world, SIZE, "tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    let file = terminal.record();
    for (key, words) in [
        ("1", "about to fail"),
        ("2", "about to fail"),
        ("3", "worked in place"),
        ("4", "If you do nothing"),
        ("5", "attempt 1  failed"),
        ("6", "is needed by"),
        ("?", "keys and commands"),
    ] {
        terminal.press(&["f", key]);
        terminal.wait_for(&[words]);
    }
    terminal.press(&["-l", "clipboard"]);
    terminal.wait_for(&["Copy the task's id"]);
    terminal.press(&["Escape"]);
    terminal.press(&["f", "2", "y"]);
    terminal.wait_for(&["lines are copied"]);
    wait_for("the clipboard", || seen(&file).contains("\x1b]52;c;").then_some(()));
    terminal.press(&["L"]);
    wait_for("the pager", || {
        std::fs::read_to_string(terminal.world.path("paged"))
            .ok()
            .filter(|text| text.contains("about to fail"))
    });
    // The view is back.
    terminal.wait_for(&["slots 2/2"]);
    terminal.press(&["/"]);
    terminal.press(&["-l", "long"]);
    terminal.wait_for(&["filter: long", "/long"]);
    terminal.press(&["Enter", "2"]);
    terminal.wait_for(&["writing src/api.rs"]);
    terminal.press(&["Escape"]);
    terminal.wait_for(&["after-bad"]);
    terminal.press(&["["]);
    terminal.wait_for(&["Esc now"]);
    terminal.press(&["R"]);
    terminal.wait_for(&["this is the past"]);
    terminal.press(&["Escape", "b"]);
    terminal.wait_for(&["runs, newest first", "1 run is active here"]);
    terminal.press(&["Escape", "t"]);
    terminal.wait_for(&["theme cyberpunk"]);
    wait_for("the theme to be remembered", || {
        let remembered = std::fs::read_to_string(terminal.world.home().join("tui.json")).ok()?;
        remembered.contains("cyberpunk").then_some(())
    });
    let mouse = || terminal.tmux(&["display-message", "-p", "#{mouse_any_flag}"]);
    assert_eq!(mouse(), "1\n");
    terminal.press(&["m"]);
    wait_for("the mouse to be off", || (mouse() == "0\n").then_some(()));
    terminal.resize(80, 24);
    terminal.wait_for(&["1 conv 2 log 3 diff 4 why 5 att 6 graph"]);
    terminal.press(&["-l", ":version"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["conductor version", "Enter or Esc closes"]);
    terminal.press(&["Escape", "q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}

#[test]
fn what_an_agent_asks_is_allowed_in_two_keys() {
    let mut world = questions::world(questions::ASKING, &[("asker", questions::ASKER)]);
    conductor(&world, &["run", "../tasks.yaml", "--detach"]).expect(0);
    wait_for("the question", || {
        let ended = world.logged("attempt_ended");
        ended.contains(&"deploy".to_owned()).then_some(())
    });
    let Some(terminal) = Terminal::open_in(&mut world, "repo", SIZE, "tui") else { return };
    terminal.wait_for(&["deploy ◆ permission", "may it use Bash?", "terraform apply", "a allow", "D deny"]);
    terminal.press(&["n", "a"]);
    logged(&terminal, "question_answered", "deploy");
    terminal.wait_for(&["✓ completed", "2/2 done"]);
    terminal.press(&["d"]);
    terminal.wait_for(&["+yes"]);
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    assert_eq!(on_branch(&world, "answer.txt"), "yes");
}

#[test]
fn work_is_sent_back_and_approved_though_no_process_drives_the_run() {
    let mut world = reviews::left_for_review(reviews::TWO);
    let run = world.run_id();
    let Some(terminal) = Terminal::open_in(&mut world, "repo", SIZE, &format!("tui {run}")) else { return };
    terminal.wait_for(&["api ◆ review", "a approve", "D send back", "p resume"]);
    terminal.press(&["d"]);
    terminal.wait_for(&["+by api"]);
    terminal.press(&["a"]);
    logged(&terminal, "review_given", "api");
    terminal.press(&["p"]);
    terminal.wait_for(&["take it up again"]);
    terminal.press(&["y"]);
    terminal.wait_for(&["1/2 done", "◆1"]);
    terminal.press(&["n"]);
    terminal.wait_for(&["docs ◆ review"]);
    terminal.press(&["D"]);
    terminal.press(&["-l", "say more"]);
    terminal.press(&["Enter"]);
    logged(&terminal, "review_given", "docs");
    terminal.press(&["q"]);
    terminal.ended(0);
}

#[test]
fn a_conflict_is_solved_in_the_editor_and_lands() {
    let mut world = conflicted();
    world.set("EDITOR", "sh -c 'sed -i -e \"/^[<=>]/d\" \"$1\"' editor");
    let run = world.run_id();
    let Some(terminal) = Terminal::open_in(&mut world, "repo", SIZE, &format!("tui {run}")) else { return };
    terminal.wait_for(&["right ≠ conflict", "o resolve"]);
    terminal.press(&["o"]);
    terminal.wait_for(&["the conflict is solved: check right and land it?"]);
    terminal.press(&["y"]);
    terminal.wait_for(&["right landed on conductor/"]);
    terminal.press(&["Escape", "q"]);
    terminal.ended(0);
    drop(terminal);
    assert_eq!(on_branch(&world, "f.txt"), "a\nLEFT\nRIGHT\nc");
}

#[test]
fn a_pull_request_is_opened_by_gh() {
    let mut world = questions::world("tasks: [{ id: one, run: 'echo 1 > one.txt' }]", &[]);
    conductor(&world, &["run", "../tasks.yaml"]).expect(0);
    let remote = world.path("remote.git").display().to_string();
    git(&world, &["init", "-q", "--bare", &remote]);
    git(&world, &["remote", "add", "origin", &remote]);
    let gh = world.path("bin/gh");
    std::fs::write(&gh, format!("#!/bin/sh\necho \"$@\" > {}\n", world.path("gh-words").display())).unwrap();
    std::fs::set_permissions(&gh, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let run = world.run_id();
    let Some(terminal) = Terminal::open_in(&mut world, "repo", SIZE, &format!("tui {run}")) else { return };
    terminal.wait_for(&["✓ completed"]);
    terminal.press(&["P"]);
    terminal.wait_for(&["and open a pull request with gh?  y/n"]);
    terminal.press(&["y"]);
    terminal.wait_for(&["Enter goes back to conductor:"]);
    terminal.press(&["Enter"]);
    terminal.wait_for(&["is open"]);
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    assert_eq!(world.read("gh-words").trim(), format!("pr create --head conductor/{run} --fill"));
    let pushed = git(&world, &["ls-remote", "origin"]);
    assert!(pushed.contains(&format!("refs/heads/conductor/{run}")), "{pushed}");
}

#[test]
fn the_board_starts_a_run_and_a_run_that_is_over_is_gone_through() {
    let mut world = World::in_place("tasks: [{ id: one, run: 'true' }, { id: two, run: AGENT say hello }]");
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "tui") else { return };
    terminal.wait_for(&["tasks.yaml", "no run yet: Enter starts one", "○ one"]);
    terminal.press(&["j", "Space", "Enter"]);
    terminal.wait_for(&["1 of 2 tasks, in the background?"]);
    terminal.press(&["y"]);
    terminal.wait_for(&["✓ completed", "1/1 done", "hello"]);
    terminal.press(&["[", "[", "[", "[", "[", "[", "[", "["]);
    terminal.wait_for(&["event 1 of", "0/1 done"]);
    terminal.press(&["Escape", "b"]);
    terminal.wait_for(&["✓ completed", "by run"]);
    terminal.press(&["q"]);
    terminal.ended(0);
}

#[test]
fn a_run_can_be_shown_from_its_start_and_ends_with_its_code() {
    let mut world = World::in_place(MIXED);
    let Some(terminal) = Terminal::open(&mut world, SIZE, "run tasks.yaml -p 2 --ui tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    terminal.world.write("go", "");
    terminal.wait_for(&["✗ failed", "4/6 done"]);
    terminal.press(&["q"]);
    let text = terminal.ended(100);
    assert!(text.contains("4 of 6 completed"), "{text}");
}

#[test]
fn without_a_terminal_it_says_what_says_the_same() {
    let world = World::in_place(MIXED);
    world
        .conductor(&["tui"])
        .expect(2)
        .says("there is no terminal to draw on")
        .says("conductor status --watch");
    let world = World::in_place("tasks: [{ id: one, run: 'true' }]");
    world.conductor(&["run", "tasks.yaml", "--ui", "tui"]).expect(0).says("1 of 1 completed");
}

fn program(terminal: &Terminal<'_>) -> Pid {
    let shell: u32 = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]).trim().parse().unwrap();
    wait_for("the program", || children(shell).first().and_then(|pid| Pid::from_raw(*pid as i32)))
}

#[test]
fn a_signal_gives_the_terminal_back_and_leaves_the_run_going() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 143), (Signal::INT, 130), (Signal::QUIT, 130)] {
        let mut world = mixed();
        let Some(terminal) = Terminal::open(&mut world, (80, 24), "tui") else { return };
        terminal.wait_for(&["1/6 done"]);
        kill_process(program(&terminal), signal).unwrap();
        terminal.ended(code);
        drop(terminal);
        let run = world.run_id();
        world.conductor(&["status", &run]).expect(0).says("running");
        let_end(&world);
    }
}

/// A shell with job control, in which the view was started by hand.
fn in_a_shell<'w>(world: &'w mut World) -> Option<Terminal<'w>> {
    let terminal = Terminal::open(world, (80, 24), "version")?;
    terminal.wait_for(&["ended with 0"]);
    terminal.tmux(&["respawn-pane", "-k", "bash --norc --noprofile -i"]);
    terminal.press(&[&format!("PS1='> '; {CONDUCTOR} tui; echo left with $?"), "Enter"]);
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    Some(terminal)
}

/// While it is stopped the terminal is the shell's: its screen, its cursor, its line editing.
#[track_caller]
fn expect_stopped(terminal: &Terminal<'_>) {
    let screen = terminal.wait_for(&["Stopped"]);
    assert!(!screen.contains("1/6 done"), "{screen}");
    let modes = "#{cursor_flag} #{alternate_on} #{mouse_any_flag}";
    let modes = terminal.tmux(&["display-message", "-p", modes]);
    assert!(modes.starts_with("1 0 0"), "{modes}");
    terminal.press(&["stty -a | grep -o ' icanon' | sed s/^/has/", "Enter"]);
    terminal.wait_for(&["\nhas icanon"]);
    terminal.press(&["clear; fg", "Enter"]);
    terminal.wait_for(&["1/6 done"]);
}

/// By the key; what is typed afterwards reaches the view.
#[test]
fn put_into_the_background_and_back_it_is_drawn_again() {
    let mut world = mixed();
    let Some(terminal) = in_a_shell(&mut world) else { return };
    terminal.press(&["C-z"]);
    expect_stopped(&terminal);
    terminal.press(&["+"]);
    terminal.wait_for(&["slots 2/3"]);
    terminal.press(&["q"]);
    terminal.wait_for(&["goes on; back to it"]);
    drop(terminal);
    let_end(&world);
}

#[test]
fn without_colours_there_are_none_and_without_unicode_only_ascii() {
    let mut world = mixed();
    world.set("NO_COLOR", "1");
    let Some(terminal) = Terminal::with(&mut world, (80, 24), "export LC_ALL=C", &format!("{CONDUCTOR} tui"))
    else {
        return;
    };
    let screen = terminal.wait_for(&["1/6 done", "x bad", "* long", ". last"]);
    assert!(screen.is_ascii(), "{screen}");
    let colored = terminal.tmux(&["capture-pane", "-p", "-e"]);
    // 39 and 49 are the terminal's own.
    let codes = (30..39).chain(40..49);
    let colors = codes.filter(|code| colored.contains(&format!("\x1b[{code}")));
    assert_eq!(colors.collect::<Vec<u32>>(), [0; 0], "{colored:?}");
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}

/// What is drawn while only the clock goes on: no more than a frame or two a second.
#[test]
fn it_is_drawn_when_something_changes() {
    let mut world = mixed();
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "tui") else { return };
    terminal.wait_for(&["1/6 done", "slots 2/2"]);
    let file = terminal.record();
    let frames = || seen(&file).matches("\x1b[?2026h").count();
    let begun = std::time::Instant::now();
    wait_for("three frames", || (frames() >= 3).then_some(()));
    let (count, lasted) = (frames() as f64, begun.elapsed().as_secs_f64());
    assert!(count <= lasted * 3.0 + 3.0, "{count} frames in {lasted} s");
    terminal.press(&["q"]);
    terminal.ended(0);
    drop(terminal);
    let_end(&world);
}
