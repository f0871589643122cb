//! Progress on a real terminal: tmux plays it, keys are pressed in it, and its screen is what a person sees.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::harness::{CONDUCTOR, World, children, wait_for};
use crate::tmux::{Terminal, bars, masked, seen};

/// One is done, one has failed and taken another with it, two are at work and one waits.
const MIXED: &str = "
limits: { max_cost: 2.5 }
tasks:
  - { id: schema, run: AGENT say made the tables }
  - { id: broken, run: AGENT say about to fail then exit 3, dependencies: [schema] }
  - { id: after-broken, run: 'true', dependencies: [broken] }
  - id: api
    run: AGENT say writing src/api.rs with 漢字 then await go
    dependencies: [{ id: broken, when: finished }]
  - id: a-task-with-a-name-that-is-far-too-long
    run: AGENT await go-on
    dependencies: [{ id: broken, when: finished }]
  - { id: end, run: 'true', dependencies: [api, a-task-with-a-name-that-is-far-too-long] }
";

/// Lets both end, one after the other.
fn let_go(terminal: &Terminal<'_>) {
    terminal.world.write("go", "");
    wait_for("the first to end", || terminal.everything().contains("ok      api ").then_some(()));
    terminal.world.write("go-on", "");
}

#[test]
fn a_run_reads_well_at_every_size() {
    for (name, size) in [("80x24", (80, 24)), ("120x40", (120, 40)), ("40x10", (40, 10))] {
        let mut world = World::in_place(MIXED);
        let Some(terminal) = Terminal::open(&mut world, size, "run tasks.yaml -p 3") else { return };
        let said = if size.0 > 40 { "writing src/api.rs" } else { "api" };
        let during = wait_for("both to be at work", || {
            let screen = terminal.screen();
            let words = ["2 running", said, "a-task", "path 2"];
            let whole = words.iter().all(|word| screen.contains(word));
            (whole && screen.matches(" working").count() == 2).then_some(screen)
        });
        let_go(&terminal);
        let after = terminal.ended(100);
        let text = masked(terminal.world, &format!("{during}\n--- after\n{after}"));
        insta::assert_snapshot!(format!("terminal_{name}"), text);
    }
}

#[test]
fn a_new_size_is_drawn_for_and_nothing_that_stays_is_lost() {
    let mut world = World::in_place(MIXED);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml -p 3") else { return };
    terminal.wait_for(&["2 running", "writing src/api.rs"]);
    for (columns, rows) in [(40, 10), (120, 40), (60, 24), (20, 5), (80, 24)] {
        terminal.resize(columns, rows);
        wait_for("a block that fits", || {
            let screen = terminal.screen();
            let head = screen.lines().rev().find(|line| line.contains("4/6") || line.contains("3/6"))?;
            let fits = head.chars().count() < usize::from(columns);
            (fits && screen.matches("/6  ").count() == 1).then_some(())
        });
    }
    terminal.press(&["Enter", "x", "Enter"]);
    let_go(&terminal);
    let text = terminal.ended(100);
    for told in ["[1/6] ", "[2/6] ", "[3/6] ", "[4/6] ", "[5/6] ", "[6/6] "] {
        assert_eq!(text.matches(told).count(), 1, "{told:?} in\n{text}");
    }
}

#[test]
fn without_colours_there_are_none() {
    let mut world = World::in_place(MIXED);
    world.set("NO_COLOR", "1");
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml -p 3") else { return };
    terminal.wait_for(&["2 running", "working"]);
    assert!(!terminal.tmux(&["capture-pane", "-p", "-e"]).contains('\x1b'));
    let_go(&terminal);
    terminal.ended(100);
}

/// One that ends when told to, one that waits for its turn.
const TWO: &str = "
tasks:
  - { id: running, run: AGENT touch started then await go then touch done }
  - { id: waiting, run: AGENT touch done }
";

#[test]
fn termination_gives_the_terminal_back() {
    let mut world = World::in_place(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    let shell: u32 = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]).trim().parse().unwrap();
    let program = children(shell)[0] as i32;
    rustix::process::kill_process(Pid::from_raw(program).unwrap(), Signal::TERM).unwrap();
    let text = terminal.ended(143);
    assert!(text.contains("conductor run --resume"), "{text}");
}

/// The log of a CI service has no use for a block that is drawn anew.
#[test]
fn without_a_user_at_the_terminal_there_are_plain_lines() {
    for (name, value) in [("CI", "true"), ("TERM", "dumb")] {
        let mut world = World::in_place("tasks: [{ id: a, run: 'true' }]");
        let args = format!("run tasks.yaml; env {name}={value} {CONDUCTOR} run tasks.yaml");
        let Some(terminal) = Terminal::open(&mut world, (80, 24), &args) else { return };
        let text = wait_for("the end", || {
            let text = terminal.everything();
            text.contains("ended with ").then_some(text)
        });
        assert_eq!(text.matches("start   a").count(), 1, "only where {name}={value}:\n{text}");
    }
}

/// Ctrl-\ ends us on the spot; the terminal is left in order all the same.
#[test]
fn quitting_hard_gives_the_terminal_back() {
    let mut world = World::in_place(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    terminal.press(&["C-\\"]);
    let text = wait_for("the end", || {
        let text = terminal.everything();
        text.contains("ended with ").then_some(text)
    });
    assert!(text.contains("ended with 131\n"), "{text}");
    terminal.expect_sane(&text);
}

#[test]
fn put_into_the_background_and_back_it_goes_on_drawing() {
    let mut world = World::in_place(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "version") else { return };
    terminal.wait_for(&["ended with 0"]);
    terminal.tmux(&["respawn-pane", "-k", "bash --norc --noprofile -i"]);
    terminal.press(&[&format!("PS1='> '; {CONDUCTOR} run tasks.yaml; echo ended with $?"), "Enter"]);
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    terminal.press(&["C-z"]);
    let screen = terminal.wait_for(&["Stopped"]);
    assert_eq!(bars(&screen), 0, "{screen}");
    assert_eq!(terminal.tmux(&["display-message", "-p", "#{cursor_flag}"]), "1\n");
    terminal.press(&["fg", "Enter"]);
    terminal.wait_for(&["1 running"]);
    terminal.world.write("go", "");
    terminal.wait_for(&["2 of 2 completed"]);
}

const FRAME: &str = "\x1b[?2026h";

#[test]
fn it_is_drawn_no_more_often_than_an_eye_needs() {
    let many: String =
        (0..300).map(|n| format!("  - {{ id: t{n}, run: 'true', dependencies: [first] }}\n")).collect();
    let tasks = format!(
        "tasks:\n  - {{ id: first, run: AGENT touch started then await go }}\n{many}  \
         - {{ id: last, run: AGENT await rest then sleep 3, dependencies: [first] }}\n"
    );
    let mut world = World::in_place(&tasks);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml -p 4") else { return };
    terminal.world.wait_for_file("started");
    let file = terminal.record();
    let frames = || seen(&file).matches(FRAME).count();
    let begun = Instant::now();
    terminal.world.write("go", "");
    terminal.wait_for(&["301/302", "1 running"]);
    let (busy, lasted) = (frames(), begun.elapsed());
    let most = lasted.as_secs_f64() * 10.0 + 2.0;
    assert!(busy >= 1 && busy as f64 <= most, "{busy} frames in {lasted:?}");
    let begun = Instant::now();
    terminal.world.write("rest", "");
    terminal.ended(0);
    let quiet = frames() - busy;
    let most = begun.elapsed().as_secs_f64() + 5.0;
    assert!(quiet as f64 <= most, "{quiet} frames in {:?}, where only the clock went on", begun.elapsed());
}

#[test]
fn a_notification_catches_the_eye_and_the_block_stays_whole() {
    let tasks = "
notifications: { on_failure: [{ type: terminal, message: 'look at {task_id}; now' }, { type: sound }] }
tasks:
  - { id: bad, run: AGENT touch started then await go then exit 3 }
  - { id: other, run: AGENT await go-on }
";
    let mut world = World::in_place(tasks);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml -p 2") else { return };
    terminal.world.wait_for_file("started");
    let file = terminal.record();
    terminal.world.write("go", "");
    let screen = terminal.wait_for(&["conductor: look at bad; now", "1 failed  1 running"]);
    assert_eq!(bars(&screen), 1, "{screen}");
    wait_for("the terminal to be asked", || {
        let bytes = seen(&file);
        let asked = bytes.contains("\x1b]9;look at bad  now\x07");
        (asked && bytes.contains("\x1b]777;notify;Conductor;look at bad  now\x07\x07")).then_some(())
    });
    terminal.world.write("go-on", "");
    terminal.ended(100);
}

/// An agent's question stands out, with the command that answers it, until the user has answered.
#[test]
fn a_question_stands_out_until_it_is_answered() {
    let asker = "#!/bin/sh\nread -r task\ncase \"$task\" in *\"It is allowed\"*) ;; *)\n\
        echo '{\"type\":\"question\",\"id\":1,\"tool\":\"Bash\",\"input\":{\"command\":\"terraform apply\"}}'\n\
        read -r refused; read -r interrupt; exit 1 ;; esac\n\
        echo '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";
    let mut world = World::in_place(
        "
tasks:
  - { id: deploy, prompt: Deploy it., agent: asker, changes: optional, permissions: { ask: [Bash] } }
  - { id: other, run: AGENT await go }
",
    );
    let (bin, program) = (world.path("bin"), world.path("bin/conductor-agent-asker"));
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(&program, asker).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    world.set("PATH", path);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml -p 2") else { return };
    terminal.wait_for(&["? deploy asks: Bash: terraform apply  conductor task approve deploy"]);
    terminal.world.conductor(&["task", "approve", "deploy"]).expect(0);
    wait_for("the question to go", || (!terminal.screen().contains("? deploy asks")).then_some(()));
    terminal.world.write("go", "");
    terminal.ended(0);
}
