//! Numbers with the thing they count, so that one of it is never told as several.

use std::fmt::Display;

/// `1 task`, `2 tasks`, `0 tasks`; `1 branch`, `2 branches`; `1 entry`, `2 entries`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, thing: &str) -> String {
    format!("{count} {}", things(count, thing))
}

/// The thing alone, as it is called beside this number.
pub fn things<N: PartialEq + From<u8>>(count: N, thing: &str) -> String {
    if count == N::from(1) { thing.to_owned() } else { several(thing) }
}

/// By the rules of English; what has none of its own is not counted here.
fn several(thing: &str) -> String {
    let ends = |ends: &[&str]| ends.iter().any(|end| thing.ends_with(end));
    match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if ends(&["ch", "sh", "s", "x"]) => format!("{thing}es"),
        _ => format!("{thing}s"),
    }
}

/// A number of bytes as people say it.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_said_in_the_unit_that_fits() {
        assert_eq!([512, 1 << 20, 3 << 29].map(size), ["0.5 KiB", "1.0 MiB", "1.5 GiB"]);
    }

    #[test]
    fn one_is_one_and_everything_else_is_several() {
        assert_eq!(counted(1_u32, "task"), "1 task");
        assert_eq!(counted(0_usize, "task"), "0 tasks");
        assert_eq!(counted(2_u64, "word"), "2 words");
        assert_eq!(counted(2_u32, "branch"), "2 branches");
        assert_eq!(counted(3_u32, "entry"), "3 entries");
        assert_eq!(counted(2_u32, "day"), "2 days");
    }
}
