//! A state directory in which work has been done before: runs that finished, failed, were killed and were left, of this
//! file and of others, here and in another repository. Made by the program itself.

use rustix::process::Signal;

use crate::harness::{World, wait_for};
use crate::odd::{Odd, Place};

/// What every story runs. `HERE/fail` makes one task fail; `HERE/go` lets another go on.
pub(crate) const TASKS: &str = "
tasks:
  - { id: one, run: 'echo one > one.txt' }
  - { id: gate, run: 'test ! -e HERE/fail && echo gate > gate.txt', dependencies: [one] }
  - { id: slow, run: 'AGENT make HERE/at then await HERE/go; echo slow > slow.txt; echo agent > .env', dependencies: [one] }
  - { id: last, run: 'cat one.txt gate.txt slow.txt > last.txt; test -e f.txt || test -e ../f.txt', dependencies: [gate, slow] }
";

/// Where the tasks of a story look for its files.
pub(crate) fn tasks(world: &World, name: &str) -> String {
    let here = world.path("signs");
    std::fs::create_dir_all(&here).unwrap();
    world.write(name, &TASKS.replace("HERE", &here.display().to_string()));
    world.path(name).display().to_string()
}

/// Signs by which a test steers the tasks.
pub(crate) fn put_up(world: &World, sign: &str) {
    world.write(&format!("signs/{sign}"), "");
}

pub(crate) fn take_down(world: &World, sign: &str) {
    let _ = std::fs::remove_file(world.path(&format!("signs/{sign}")));
}

/// Lets earlier runs happen: of `file` in `place`, and of another file in another repository.
pub(crate) fn use_it(world: &World, place: &Place, file: &str) {
    let other = Place::make(world, "another", Odd::Plain);
    let another = tasks(world, "another.yaml");
    for (place, file) in [(&other, another.as_str()), (place, file)] {
        put_up(world, "go");
        place.start(world, &["run", file, "-p", "2"]).ended().expect(0);
        put_up(world, "fail");
        place.start(world, &["run", file, "-p", "2"]).ended().expect(100);
        take_down(world, "fail");
        take_down(world, "go");
        for signal in [Signal::INT, Signal::KILL] {
            take_down(world, "at");
            let mut live = place.start(world, &["run", file, "-p", "2"]);
            world.wait_for_file("signs/at");
            live.signal(signal);
            if signal == Signal::INT {
                live.wait_for_stderr("again");
                live.signal(signal);
            }
            wait_for("an earlier run to end", || (!live.is_running()).then_some(()));
        }
    }
    take_down(world, "at");
}
