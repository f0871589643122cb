//! Progress on a real terminal: tmux plays it, keys are pressed in it, and its screen is what a person sees.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal};

use crate::harness::{CONDUCTOR, World, children, expect_no_leftovers, skipped, wait_for};

/// A terminal of a size, with a shell in it that ends by telling what the program left.
pub(crate) struct Terminal<'w> {
    world: &'w World,
    socket: PathBuf,
}

impl<'w> Terminal<'w> {
    fn open(world: &'w mut World, size: (u16, u16), args: &str) -> Option<Terminal<'w>> {
        Terminal::open_in(world, ".", size, args)
    }

    /// Nothing where there is no tmux to play it. The program works in `folder`.
    pub(crate) fn open_in(
        world: &'w mut World,
        folder: &str,
        size: (u16, u16),
        args: &str,
    ) -> Option<Terminal<'w>> {
        let told = Command::new("tmux").arg("-V").output();
        if !told.is_ok_and(|told| told.status.success()) {
            skipped("tmux is not installed; cargo xtask test gets it");
            return None;
        }
        world.set("LANG", "C.UTF-8");
        world.set("SHELL", "/bin/sh");
        let terminal = Terminal { socket: world.root().join("tmux"), world };
        let script = format!(
            "trap : INT QUIT; cd {folder}; {CONDUCTOR} {args}; code=$?; stty -a | grep -qw -- -echo && echo deaf; echo ended with $code; sleep 900"
        );
        let (columns, rows) = (size.0.to_string(), size.1.to_string());
        terminal.tmux(&["new-session", "-d", "-x", &columns, "-y", &rows, &script]);
        Some(terminal)
    }

    fn tmux(&self, args: &[&str]) -> String {
        let mut command = self.world.command_of("tmux");
        let output = command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.socket).args(args).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn screen(&self) -> String {
        let text = self.tmux(&["capture-pane", "-p"]);
        text.trim_end().lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    /// With everything that has scrolled out of sight, each line whole.
    fn everything(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    pub(crate) fn press(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, words: &[&str]) -> String {
        wait_for(&format!("{words:?} on the screen"), || {
            let screen = self.screen();
            words.iter().all(|word| screen.contains(word)).then_some(screen)
        })
    }

    /// What the program left, once it has: its cursor is there again, and what is typed can be seen.
    #[track_caller]
    pub(crate) fn ended(&self, code: i32) -> String {
        let text = wait_for("the end", || {
            let text = self.everything();
            text.contains("ended with ").then_some(text)
        });
        assert!(text.contains(&format!("ended with {code}\n")), "{text}");
        assert!(!text.contains("deaf\n") && !text.contains("panicked"), "{text}");
        assert_eq!(self.tmux(&["display-message", "-p", "#{cursor_flag}"]), "1\n", "the cursor is hidden");
        assert_eq!(bars(&self.screen()), 0, "the block is still there:\n{text}");
        text
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let mut command = self.world.command_of("tmux");
        let _ = command.arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

fn bars(screen: &str) -> usize {
    let is_bar = |line: &&str| {
        line.contains(['━', '─']) || !line.starts_with('[') && line.contains("/") && line.contains(" running")
    };
    screen.lines().filter(is_bar).count()
}

/// What differs from one time to the next is made the same: the run's name, times, how far the bar goes, folders.
fn masked(world: &World, text: &str) -> String {
    let text = text.replace(&world.run_id(), "RUN").replace(&world.root().display().to_string(), "HERE");
    let mut out = String::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| if is_time(word) { "TIME" } else { word });
        let mut line = words.collect::<Vec<_>>().join(" ");
        // How much of it there was is the machine's.
        if line.starts_with("work ") || line.starts_with("waited ") {
            continue;
        }
        for cell in ["━", "─"] {
            while line.contains(&cell.repeat(2)) {
                line = line.replace(&cell.repeat(2), cell);
            }
        }
        while line.contains("  TIME") {
            line = line.replace("  TIME", " TIME");
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// `850ms`, `4.2s,`, `3m05s:` and their like.
fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', ':']);
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.ends_with('s')
        && word.chars().all(|c| c.is_ascii_digit() || ".hms".contains(c))
}

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
        let mut world = World::with(MIXED);
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
    let mut world = World::with(MIXED);
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
    let mut world = World::with(MIXED);
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
fn ctrl_c_once_finishes_what_runs() {
    let mut world = World::with(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    terminal.press(&["C-c"]);
    let during = terminal.wait_for(&["starting nothing new", "Ctrl-C again"]);
    terminal.world.write("go", "");
    let after = terminal.ended(130);
    assert!(after.contains("1 of 2 completed, 1 not done"), "{after}");
    insta::assert_snapshot!(masked(terminal.world, &format!("{during}\n--- after\n{after}")));
}

#[test]
fn ctrl_c_twice_stops_what_runs_and_says_how_to_resume() {
    let mut world = World::with(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.press(&["C-c"]);
    terminal.wait_for(&["starting nothing new"]);
    terminal.press(&["C-c"]);
    let text = terminal.ended(130);
    let next = format!("next   conductor run --resume {}", terminal.world.run_id());
    assert!(text.contains("stopped running  to be resumed") && text.contains(&next), "{text}");
    expect_no_leftovers(&terminal.world.run_id());
}

#[test]
fn ctrl_c_thrice_kills_what_will_not_end() {
    let deaf = "tasks: [{ id: deaf, run: AGENT ignore-term then touch started then sleep 600 }]";
    let mut world = World::with(deaf);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    for said in ["starting nothing new", "stopping what runs", "killing what runs"] {
        terminal.press(&["C-c"]);
        terminal.wait_for(&[said]);
    }
    let text = terminal.ended(130);
    assert!(text.contains("conductor run --resume"), "{text}");
    expect_no_leftovers(&terminal.world.run_id());
}

#[test]
fn termination_gives_the_terminal_back() {
    let mut world = World::with(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    let shell: u32 = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]).trim().parse().unwrap();
    let program = children(shell)[0] as i32;
    rustix::process::kill_process(Pid::from_raw(program).unwrap(), Signal::TERM).unwrap();
    let text = terminal.ended(143);
    assert!(text.contains("conductor run --resume"), "{text}");
}

/// A log of somebody's service has no use for a block.
#[test]
fn where_nobody_sits_at_the_terminal_there_are_plain_lines() {
    for (name, value) in [("CI", "true"), ("TERM", "dumb")] {
        let mut world = World::with("tasks: [{ id: a, run: 'true' }]");
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
    let mut world = World::with(TWO);
    let Some(terminal) = Terminal::open(&mut world, (80, 24), "run tasks.yaml") else { return };
    terminal.world.wait_for_file("started");
    terminal.wait_for(&["1 running"]);
    terminal.press(&["C-\\"]);
    let text = wait_for("the end", || {
        let text = terminal.everything();
        text.contains("ended with ").then_some(text)
    });
    assert!(text.contains("ended with 131\n") && !text.contains("deaf"), "{text}");
    assert_eq!(terminal.tmux(&["display-message", "-p", "#{cursor_flag}"]), "1\n");
}

#[test]
fn put_into_the_background_and_back_it_goes_on_drawing() {
    let mut world = World::with(TWO);
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

impl Terminal<'_> {
    /// Every byte the terminal is sent from now on goes to a file too.
    fn record(&self) -> PathBuf {
        let file = self.world.root().join("bytes");
        self.tmux(&["pipe-pane", "-o", &format!("cat >> {}", file.display())]);
        file
    }
}

/// What it has been sent so far.
fn seen(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
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
    let mut world = World::with(&tasks);
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
    let mut world = World::with(tasks);
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

/// What an agent asks stands out, with how to answer, until somebody has.
#[test]
fn a_question_stands_out_until_it_is_answered() {
    let asker = "#!/bin/sh\nread -r task\ncase \"$task\" in *\"It is allowed\"*) ;; *)\n\
        echo '{\"type\":\"question\",\"id\":1,\"tool\":\"Bash\",\"input\":{\"command\":\"terraform apply\"}}'\n\
        read -r refused; read -r interrupt; exit 1 ;; esac\n\
        echo '{\"type\":\"result\",\"ok\":true,\"text\":\"done\"}'\n";
    let mut world = World::with(
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
