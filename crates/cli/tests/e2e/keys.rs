//! A run at a terminal: the key `t`, and the terminal in its first state whenever another program has it.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::harness::{World, is_alive, wait_for};

const ONE: &str = "
tasks:
  - { id: first, run: AGENT touch started then await go }
  - { id: second, run: 'true' }
";

/// A terminal with the program on it, which has it all to itself.
struct Terminal {
    master: File,
    slave: File,
    child: Child,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    fn start(world: &World, args: &[&str]) -> Terminal {
        let mut command = world.command_of("setsid");
        command.args(["--ctty", crate::harness::CONDUCTOR]).args(args);
        Terminal::of(command)
    }

    fn start_in_repository(world: &World, args: &[&str]) -> Terminal {
        let mut command = world.command_of("setsid");
        command.args(["--ctty", crate::harness::CONDUCTOR]).args(args).current_dir(world.path("repo"));
        Terminal::of(command)
    }

    fn of(mut command: Command) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(name).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, all) = (File::from(master.try_clone().unwrap()), shown.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = reader.read(&mut bytes) {
                all.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
        Terminal { master: master.into(), slave, child, shown }
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap()).into_owned()
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        wait_for(&format!("{text:?} on the terminal, which shows\n{}", self.shown()), || {
            self.shown().contains(text).then_some(())
        });
    }

    fn press(&mut self, keys: &[u8]) {
        self.master.write_all(keys).unwrap();
    }

    /// Whether it waits for whole lines and shows what is typed, as a shell leaves it.
    fn is_plain(&self) -> bool {
        let modes = tcgetattr(&self.slave).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    fn state(&self) -> char {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit_once(')').unwrap().1.trim_start().chars().next().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn code(&mut self) -> Option<i32> {
        wait_for("its end", || self.child.try_wait().unwrap()).code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if is_alive(self.child.id()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}

#[test]
fn a_key_tells_what_is_at_work_and_the_terminal_is_left_as_it_was() {
    let world = World::with(ONE);
    let mut terminal = Terminal::start(&world, &["run", "tasks.yaml"]);
    world.wait_for_file("started");
    wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
    // In no name of a run or of a folder.
    terminal.press(b"#%t");
    terminal.wait_for("at work\r\n  first  ");
    terminal.wait_for("second  waits for a slot");
    assert!(!terminal.shown().contains("#%"), "what is typed is not shown:\n{}", terminal.shown());
    world.write("go", "");
    assert_eq!(terminal.code(), Some(0));
    assert!(terminal.is_plain());
}

/// A run in the background comes back to a terminal, is left going on, comes back again, and is seen to its end.
#[test]
fn a_run_in_the_background_comes_back_to_a_terminal_and_is_left_again() {
    let world = World::with(ONE);
    world.conductor(&["attach"]).expect(4);
    world.conductor(&["run", "tasks.yaml", "--detach"]).expect(0).says("conductor attach");
    world.wait_for_file("started");
    for key in [b"d", b"q"] {
        let mut terminal = Terminal::start(&world, &["attach"]);
        terminal.wait_for("d or q leaves the run going on");
        wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
        terminal.press(b"t");
        terminal.wait_for("at work\r\n  first  ");
        terminal.press(key);
        assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
        assert!(terminal.is_plain());
        terminal.wait_for("goes on; back to it: conductor attach");
    }
    let mut terminal = Terminal::start(&world, &["attach", &world.run_id()]);
    terminal.wait_for("d or q leaves the run going on");
    world.write("go", "");
    assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
    terminal.wait_for("second");
    assert!(terminal.is_plain());
    assert!(terminal.shown().contains("attached to run"), "{}", terminal.shown());
    let log = world.home().join("runs").join(world.run_id()).join("orchestrator.log");
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!((log.matches("ok      first").count(), log.matches("resuming").count()), (1, 0), "{log}");
}

/// Ctrl-C asks the run what it asks it in the foreground, and a signal that ends the view does not end the run.
#[test]
fn a_view_that_is_ended_leaves_the_run_and_ctrl_c_lets_what_runs_finish() {
    let world = World::with(ONE);
    world.conductor(&["run", "tasks.yaml", "--detach"]).expect(0);
    world.wait_for_file("started");
    let mut terminal = Terminal::start(&world, &["attach"]);
    terminal.wait_for("d or q leaves the run going on");
    terminal.signal(Signal::TERM);
    assert_eq!(terminal.code(), Some(143), "{}", terminal.shown());
    assert!(terminal.is_plain());
    let mut terminal = Terminal::start(&world, &["attach"]);
    wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
    terminal.press(b"\x03");
    terminal.wait_for("starting nothing new");
    world.write("go", "");
    terminal.code();
    assert_eq!(world.logged("attempt_started"), ["first"]);
    assert_eq!(world.logged("task_completed"), ["first"]);
}

/// An agent at work is given away with the run: it is the same process that a view finds again, and that gets done.
#[test]
fn a_key_gives_a_run_away_with_the_agent_that_is_at_work() {
    const AGENT: &str = r#"
read -r task
echo $$ >> HERE/pids
touch HERE/begun
while [ ! -e HERE/go ]; do sleep 0.01; done
echo done > work.txt
echo '{"type":"result","ok":true,"text":"done"}'
"#;
    let tasks = "{ config: { agent: worker }, tasks: [{ id: a, prompt: work }] }";
    let world = crate::questions::world(tasks, &[("worker", AGENT)]);
    let mut terminal = Terminal::start_in_repository(&world, &["run", "../tasks.yaml"]);
    world.wait_for_file("begun");
    wait_for("its process to be noted", || (world.logged("process_started") == ["a"]).then_some(()));
    wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
    let agent = crate::outliving::held(&world);
    assert_eq!(agent.len(), 1);
    terminal.press(b"d");
    assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
    terminal.wait_for("goes on in the background; back to it: conductor attach");
    assert_eq!(crate::outliving::held(&world), agent);
    let mut terminal = Terminal::start_in_repository(&world, &["attach"]);
    terminal.wait_for("d or q leaves the run going on");
    world.write("go", "");
    assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
    assert_eq!(world.logged("attempt_started"), ["a"]);
    assert_eq!(world.logged("attempt_reattached"), ["a"]);
    assert_eq!(world.logged("task_completed"), ["a"]);
    assert_eq!(crate::outliving::pids(&world).len(), 1);
}

/// A run of a command that holds its process, and of what comes after it.
#[test]
fn a_key_gives_the_run_away_as_soon_as_nothing_holds_it() {
    let world = World::with(ONE);
    let mut terminal = Terminal::start(&world, &["run", "tasks.yaml"]);
    world.wait_for_file("started");
    wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
    terminal.press(b"d");
    terminal.wait_for("waiting for the command of first");
    terminal.press(b"d");
    terminal.wait_for("the run stays here");
    terminal.press(b"d");
    wait_for("the second time", || (terminal.shown().matches("waiting for").count() == 2).then_some(()));
    world.write("go", "");
    assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
    assert!(terminal.is_plain());
    terminal.wait_for("goes on in the background; back to it: conductor attach");
    world.conductor(&["wait"]).expect(0);
    assert_eq!(world.logged("task_completed"), ["first", "second"]);
    let order = world.sql(
        "SELECT group_concat(substr(body, 3, 12), ' ') FROM events WHERE body LIKE '{\"run_handed_over\"%' OR body LIKE '{\"attempt_started\"%'",
    );
    assert_eq!(order.trim(), "attempt_star run_handed_o attempt_star");
}

#[test]
fn a_stopped_run_gives_the_terminal_back_and_takes_it_again() {
    let world = World::with(ONE);
    let mut terminal = Terminal::start(&world, &["run", "tasks.yaml"]);
    world.wait_for_file("started");
    wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
    terminal.press(b"\x1a");
    wait_for("it to be stopped", || (terminal.state() == 'T').then_some(()));
    assert!(terminal.is_plain(), "the shell gets the terminal back as it was");
    terminal.signal(Signal::CONT);
    wait_for("keys to be read again", || (!terminal.is_plain()).then_some(()));
    world.write("go", "");
    assert_eq!(terminal.code(), Some(0));
    assert!(terminal.is_plain());
}

#[test]
fn however_often_it_is_interrupted_the_terminal_is_as_it_was() {
    for (times, deaf) in [(1, false), (2, false), (4, true)] {
        let ignore = if deaf { "ignore-term then " } else { "" };
        let world =
            World::with(&format!("tasks: [{{ id: a, run: AGENT {ignore}touch started then sleep 600 }}]"));
        let mut terminal = Terminal::start(&world, &["run", "tasks.yaml"]);
        world.wait_for_file("started");
        wait_for("keys to be read", || (!terminal.is_plain()).then_some(()));
        let said = ["starting nothing new", "stopping what runs", "killing what runs"];
        for (at, words) in said.iter().enumerate().take(times) {
            terminal.press(b"\x03");
            if at < 2 || deaf {
                terminal.wait_for(words);
            }
        }
        match times {
            1 => terminal.signal(Signal::TERM),
            4 => {
                let _ = kill_process(Pid::from_child(&terminal.child), Signal::INT);
            }
            _ => {}
        }
        let code = terminal.code();
        assert!(matches!(code, Some(130 | 143)), "{times}: {code:?}\n{}", terminal.shown());
        assert!(terminal.is_plain(), "after {times}");
    }
}

#[test]
fn one_in_the_background_leaves_the_terminal_alone() {
    let world = World::with(ONE);
    let mut terminal = Terminal::start(&world, &["run", "tasks.yaml", "--detach"]);
    assert_eq!(terminal.code(), Some(0), "{}", terminal.shown());
    assert!(terminal.is_plain());
    world.wait_for_file("started");
    assert!(terminal.is_plain());
    world.write("go", "");
    world.conductor(&["wait"]).expect(0);
    assert!(terminal.is_plain());
}

#[test]
fn a_watched_status_is_drawn_over_itself() {
    let mut world = World::with(ONE);
    world.set("TERM", "xterm");
    let live = world.start(&["run", "tasks.yaml"]);
    world.wait_for_file("started");
    let mut terminal = Terminal::start(&world, &["status", "--watch"]);
    terminal.wait_for("at work\x1b[K\r\r\n  first  ");
    terminal.wait_for("\x1b[J");
    world.write("go", "");
    live.ended().expect(0);
    assert_eq!(terminal.code(), Some(0));
    terminal.wait_for("completed, 2 of 2 done");
}
