//! Random faults, for as long as asked: whatever is done to a run from outside and from within, the user's files stay
//! theirs, landed work stays landed, and nothing is left alive or lying about.
//!
//! One home serves many runs in many odd repositories, and has been used before the first of them, so that each begins where
//! others have finished, failed or been killed. `CONDUCTOR_FAULT_SECONDS` says how long, `CONDUCTOR_SEED` repeats a sequence.

mod acts;
mod disk;
mod disturbances;
mod truth;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use fastrand::Rng;

use crate::earlier;
use crate::harness::World;
use crate::odd::{Odd, Place};
use crate::soak::{amount, seeded};
use disk::SmallDisk;
use disturbances::Disturbance;

/// Runs in one home before another is begun.
const ROUNDS_IN_A_HOME: usize = 30;

#[test]
fn random_faults_harm_neither_user_nor_landed_work_slowly() {
    let mut rng = seeded();
    let lasts = Duration::from_secs(amount("CONDUCTOR_FAULT_SECONDS", 15));
    let (mut tally, mut failed) = (Tally::default(), Vec::new());
    // What happens in a home beforehand is no part of the time.
    let mut played = Duration::ZERO;
    while played < lasts {
        let home = Home::used();
        let begun = Instant::now();
        for number in 0..ROUNDS_IN_A_HOME {
            if played + begun.elapsed() >= lasts {
                break;
            }
            let round = Round::draw(&mut rng, number, home.disk.is_some());
            println!("{number}: {round:?}");
            let play = AssertUnwindSafe(|| round.play(&home.world, home.disk.as_ref(), &mut tally));
            // What went wrong in one home must not be blamed on the next runs in it.
            if catch_unwind(play).is_err() {
                failed.push(format!("{round:?}"));
                break;
            }
        }
        played += begun.elapsed();
    }
    println!("{tally:?}");
    assert!(failed.is_empty(), "{} rounds failed:\n{}", failed.len(), failed.join("\n"));
    // A sequence in which nothing lands or is killed shows nothing; a short one may be without.
    assert!(tally.runs > 0);
    assert!(tally.runs < ENOUGH || tally.landed > 0, "nothing has landed: {tally:?}");
    assert!(tally.runs < 3 * ENOUGH || tally.kills > 0 && tally.resumed > 0, "no kill, no resume: {tally:?}");
}

/// A state directory, if possible on a disk that can be filled.
struct Home {
    /// Taken away before the folder it is mounted in.
    disk: Option<SmallDisk>,
    world: World,
}

impl Home {
    /// One in which runs have finished, failed, been killed and left before.
    fn used() -> Home {
        let world = World::new();
        let disk = SmallDisk::mount(&world.home());
        let place = Place::make(&world, "earlier", Odd::Plain);
        earlier::use_it(&world, &place, &earlier::tasks(&world, "earlier.yaml"));
        Home { disk, world }
    }
}

/// Of so many runs, each with tasks that only do their work, some land something.
const ENOUGH: usize = 6;

/// What has been played, for the last line.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    landed: usize,
    resumed: usize,
    kills: usize,
    disturbances: usize,
}

/// One run: what is odd about its repository, what its tasks do, and what happens to it.
#[derive(Debug)]
struct Round {
    name: String,
    odd: Odd,
    tasks: Vec<acts::Act>,
    slots: usize,
    home: bool,
    clone: bool,
    disturbances: Vec<(Duration, Disturbance)>,
    /// What tells its daemons from those of other rounds.
    token: u32,
}

impl Round {
    fn draw(rng: &mut Rng, number: usize, small_disk: bool) -> Round {
        let tasks = (0..rng.usize(3..8)).map(|_| acts::Act::draw(rng)).collect();
        let mut disturbances: Vec<(Duration, Disturbance)> = (0..rng.usize(1..5))
            .map(|_| (Duration::from_millis(rng.u64(0..800)), Disturbance::draw(rng, small_disk)))
            .collect();
        disturbances.sort_by_key(|(at, _)| *at);
        Round {
            name: format!("r{number}"),
            odd: Odd::ALL[rng.usize(..Odd::ALL.len())],
            tasks,
            slots: rng.usize(1..4),
            home: rng.bool(),
            clone: rng.u32(..5) == 0,
            disturbances,
            token: rng.u32(100_000..999_999),
        }
    }

    fn play(&self, world: &World, disk: Option<&SmallDisk>, tally: &mut Tally) {
        let place = Place::make(world, &self.name, self.odd);
        let file = format!("{}.yaml", self.name);
        world.write(
            &file,
            &acts::file(&self.tasks, self.token, &world.path(&self.name).display().to_string()),
        );
        let before = world.runs();
        let lay_about = truth::lying_about(world);
        let mut user = truth::User::new(world, &place);
        let mut session = disturbances::Session::begin(self, world, &place, &world.path(&file));
        let begun = Instant::now();
        for (at, disturbance) in &self.disturbances {
            session.live_until(begun + *at);
            disturbance.play(world, &place, disk, &mut session, &mut user);
            tally.disturbances += 1;
        }
        tally.kills += usize::from(session.was_killed());
        let ended = session.ended();
        // Killed before it had a name of its own, a run leaves nothing to take up.
        let Some(run) = world.runs().into_iter().find(|run| !before.contains(run)) else {
            return truth::expect_users_own(world, &place, &user, &format!("{self:?}"));
        };
        tally.resumed += truth::finish(world, &place, &run, self.home, ended);
        tally.runs += 1;
        tally.landed += truth::check(self, world, &place, &run, &user, &lay_about);
    }
}
