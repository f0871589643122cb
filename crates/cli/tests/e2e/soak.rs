//! What a soak test asks more of, and how a random sequence is repeated.

use fastrand::Rng;

/// The number in a variable, if it is set.
#[track_caller]
pub(crate) fn asked(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")))
}

/// A number that a soak test raises.
#[track_caller]
pub(crate) fn amount(name: &str, usual: u64) -> u64 {
    asked(name).unwrap_or(usual)
}

/// Random, but for `CONDUCTOR_SEED`; what it began with is in the test's output.
#[track_caller]
pub(crate) fn seeded() -> Rng {
    let seed = asked("CONDUCTOR_SEED").unwrap_or_else(|| fastrand::u64(..));
    println!("CONDUCTOR_SEED={seed}");
    Rng::with_seed(seed)
}
