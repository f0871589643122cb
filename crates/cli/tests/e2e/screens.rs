//! What a person at a terminal sees of a run that is steered from another one, made narrower and wider, and interrupted.

use crate::harness::{World, example, expect_no_leftovers, wait_for};
use crate::tmux::{Terminal, bars, masked};

/// Lines that the user's shell has printed before, more than fit on the screen.
const BEFORE: &str = "for n in $(seq 40); do echo typed before: $n.; done";

/// A run below what was there before.
fn open<'w>(world: &'w mut World, size: (u16, u16), args: &str) -> Option<Terminal<'w>> {
    Terminal::with(world, size, BEFORE, &format!("{} run tasks.yaml {args}", crate::harness::CONDUCTOR))
}

/// What was there before and all of what was said, once it is over.
#[track_caller]
fn ended(terminal: &Terminal<'_>, code: i32) -> String {
    let text = terminal.ended(code);
    let before: String = (1..=40).map(|n| format!("typed before: {n}.\n")).collect();
    assert!(text.starts_with(&before), "what was there before is gone:\n{text}");
    text[before.len()..].to_owned()
}

/// Screens one below the other, each under what had been done. Lines of before are left out.
struct Album(String);

impl Album {
    fn add(&mut self, title: &str, screen: &str) {
        let lines = screen.lines().filter(|line| !line.starts_with("typed before: "));
        self.0 += &format!("--- {title}\n");
        lines.for_each(|line| self.0 += &format!("{line}\n"));
    }
}

/// Whether the block is whole: one bar or head, so many at work and no other row, and these words.
fn shows(screen: &str, at_work: usize, words: &[&str]) -> bool {
    bars(screen) == 1
        && screen.contains(&format!("{at_work} running"))
        && screen.matches(" working").count() == at_work
        && screen.contains("path 2 ")
        && words.iter().all(|word| screen.contains(word))
}

const STEERED: &str = "
tasks:
  - { id: build, run: AGENT say building then await build }
  - { id: lint, run: AGENT say linting then await lint }
  - { id: docs, run: AGENT say writing then await docs }
  - { id: test, run: AGENT say testing then await test, dependencies: [build] }
";

fn let_end(terminal: &Terminal<'_>, task: &str) {
    terminal.world.write(task, "");
    wait_for(task, || terminal.everything().contains(&format!("ok      {task} ")).then_some(()));
}

#[test]
fn a_run_is_steered_from_another_terminal() {
    let mut world = World::in_place(STEERED);
    let Some(terminal) = open(&mut world, (80, 24), "-p 1") else { return };
    let mut album = Album(String::new());
    let shown = |at_work: usize, there: &[&str], gone: &[&str]| {
        wait_for(&format!("{at_work} at work, {there:?} and not {gone:?}"), || {
            let screen = terminal.screen();
            let fits = shows(&screen, at_work, there) && !gone.iter().any(|word| screen.contains(word));
            fits.then_some(screen)
        })
    };
    album.add("run -p 1", &shown(1, &["building"], &[]));
    let steer = |args: &[&str]| terminal.world.conductor(args).expect(0);
    steer(&["parallel", "2"]);
    album.add("parallel 2", &shown(2, &["building", "linting"], &[]));
    steer(&["pause"]);
    album.add("pause", &shown(2, &["paused"], &[]));
    steer(&["cancel", "lint"]);
    album.add("cancel lint", &shown(1, &["paused", "cancel  lint"], &["linting"]));
    steer(&["resume"]);
    album.add("resume", &shown(2, &["building", "writing"], &["paused"]));
    let_end(&terminal, "build");
    terminal.wait_for(&["testing"]);
    let_end(&terminal, "docs");
    let_end(&terminal, "test");
    album.add("the end", &ended(&terminal, 9));
    insta::assert_snapshot!(masked(terminal.world, &album.0));
}

#[test]
fn a_run_is_made_narrower_and_wider() {
    let mut world = World::in_place(STEERED);
    let Some(terminal) = open(&mut world, (80, 24), "-p 2") else { return };
    let mut album = Album(String::new());
    let path = |columns: u16| if columns < 60 { "  path 2 left" } else { "  critical path 2 tasks left" };
    for columns in [80, 50, 120] {
        terminal.resize(columns, 24);
        let screen = wait_for(&format!("a block for {columns} columns"), || {
            let screen = terminal.screen();
            let fits = screen.lines().all(|line| line.chars().count() < usize::from(columns));
            (fits
                && is_as_wide(&screen, columns)
                && shows(&screen, 2, &["building", "linting", path(columns)]))
            .then_some(screen)
        });
        album.add(&format!("{columns} columns"), &screen);
    }
    for name in ["build", "lint", "docs", "test"] {
        let_end(&terminal, name);
    }
    album.add("the end", &ended(&terminal, 0));
    insta::assert_snapshot!(masked(terminal.world, &album.0));
}

/// The bar takes what room there is, up to a width.
fn is_as_wide(screen: &str, columns: u16) -> bool {
    let bar = |screen: &str| screen.chars().filter(|cell| "━─".contains(*cell)).count();
    match columns {
        50 => bar(screen) < 24,
        _ => bar(screen) >= 24,
    }
}

/// One that ends when told to, one that waits for its turn.
const TWO: &str = "
tasks:
  - { id: running, run: AGENT say at it then touch started then await go then touch done }
  - { id: waiting, run: AGENT touch done }
";

/// One that hears nothing.
const DEAF: &str =
    "tasks: [{ id: deaf, run: AGENT say at it then ignore-term then touch started then sleep 600 }]";

/// What there is after Ctrl-C, down to the last line of the block.
const INTERRUPTED: [&str; 4] = [
    "starting nothing new",
    "working   at it",
    "! finishing: Ctrl-C again stops what runs",
    "critical path 1 task",
];
const STOPPING: [&str; 4] = [
    "stopping what runs",
    "stopping  at it",
    "! stopping: Ctrl-C again kills what runs",
    "critical path 1 task",
];

#[test]
fn ctrl_c_once_finishes_what_runs() {
    let mut world = World::in_place(TWO);
    let Some(terminal) = open(&mut world, (80, 24), "") else { return };
    let mut album = Album(String::new());
    terminal.wait_for(&["1 running", "working   at it"]);
    terminal.press(&["C-c"]);
    album.add("Ctrl-C", &terminal.wait_for(&INTERRUPTED));
    terminal.world.write("go", "");
    let after = ended(&terminal, 130);
    assert!(after.contains("1 of 2 completed, 1 not done"), "{after}");
    album.add("the end", &after);
    insta::assert_snapshot!(masked(terminal.world, &album.0));
}

#[test]
fn ctrl_c_twice_stops_what_runs_and_says_how_to_resume() {
    let mut world = World::in_place(TWO);
    let Some(terminal) = open(&mut world, (80, 24), "") else { return };
    let mut album = Album(String::new());
    terminal.wait_for(&["1 running", "working   at it"]);
    terminal.press(&["C-c"]);
    album.add("Ctrl-C", &terminal.wait_for(&INTERRUPTED));
    terminal.press(&["C-c"]);
    let after = ended(&terminal, 130);
    let next = format!("next   conductor run --resume {}", terminal.world.run_id());
    assert!(after.contains("stopped running  to be resumed") && after.contains(&next), "{after}");
    album.add("Ctrl-C again", &after);
    expect_no_leftovers(&terminal.world.run_id());
    insta::assert_snapshot!(masked(terminal.world, &album.0));
}

#[test]
fn ctrl_c_thrice_kills_what_will_not_end() {
    let mut world = World::in_place(DEAF);
    let Some(terminal) = open(&mut world, (80, 24), "") else { return };
    let mut album = Album(String::new());
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running", "working   at it"]);
    terminal.press(&["C-c"]);
    album.add("Ctrl-C", &terminal.wait_for(&INTERRUPTED));
    terminal.press(&["C-c"]);
    album.add("Ctrl-C again", &terminal.wait_for(&STOPPING));
    terminal.press(&["C-c"]);
    let after = ended(&terminal, 130);
    assert!(after.contains("conductor: killing what runs\n"), "{after}");
    album.add("Ctrl-C a third time", &after);
    expect_no_leftovers(&terminal.world.run_id());
    insta::assert_snapshot!(masked(terminal.world, &album.0));
}

/// What draws is the same module that `run` draws with.
#[test]
fn who_panics_leaves_the_terminal_as_it_was() {
    let mut world = World::new();
    let Some(terminal) = Terminal::with(&mut world, (80, 24), BEFORE, &example("panics")) else { return };
    let text = wait_for("the end", || {
        let text = terminal.everything();
        text.contains("ended with ").then_some(text)
    });
    terminal.expect_sane(&text);
    assert!(text.contains("ended with 101\n"), "{text}");
    let told = "typed before: 40.\na line that stays\na block of two lines\nis drawn\n\n";
    let (_, said) = text.split_once(told).unwrap_or_else(|| panic!("no {told:?} in\n{text}"));
    assert!(said.contains("panicked at") && said.contains("in the middle of it"), "{text}");
}
