//! A store that fails for good under a live run (A11): everything the run had started is ended, and it says so.

use std::time::Duration;

use crate::harness::{World, expect_no_leftovers, is_alive, leftovers, wait_for};
use crate::store::write_sql;

const TWO: &str = "
tasks:
  - { id: short, run: AGENT touch up then await go }
  - { id: long, run: AGENT daemon daemon.pid then pid long.pid then touch up then await never }
";

#[test]
fn a_store_that_fails_for_good_ends_everything_and_says_so() {
    for damage in [
        "ALTER TABLE events RENAME TO lost",
        "PRAGMA foreign_keys = ON; DELETE FROM events; DELETE FROM runs",
    ] {
        let world = World::with(TWO);
        let live = world.start(&["run", "tasks.yaml", "-p", "2"]);
        wait_for("both to be noted", || {
            let noted = world.logged("process_started");
            (noted.len() == 2 && world.read("up").lines().count() == 2).then_some(())
        });
        let id = world.run_id();
        assert!(leftovers(&id).len() >= 3);
        write_sql(&world, damage);
        world.write("go", "");
        // 10 s by its own count, with room for a busy machine.
        let ended = live.ended_within(Duration::from_secs(30)).expect(1);
        expect_no_leftovers(&id);
        let daemon: u32 = world.read("daemon.pid").parse().unwrap();
        assert!(!is_alive(daemon), "{damage}");
        let ended = ended.says("everything the run had started is ended").says("conductor.db");
        ended.says(&format!("conductor run --resume {id}"));
    }
}
