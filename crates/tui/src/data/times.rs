//! Times for people.

use conductor_core::values::units::{Millis, Timestamp};
use jiff::tz::TimeZone;

/// `14:05`, in the user's time zone.
pub(crate) fn of_day(at: Timestamp) -> String {
    shown(at, "%H:%M")
}

/// `14:05:09`.
pub(crate) fn to_the_second(at: Timestamp) -> String {
    shown(at, "%H:%M:%S")
}

/// `2026-11-18 14:05`.
pub(crate) fn whole(at: Timestamp) -> String {
    shown(at, "%Y-%m-%d %H:%M")
}

fn shown(at: Timestamp, format: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.to_zoned(TimeZone::system()).strftime(format).to_string(),
        Err(_) => "unknown".to_owned(),
    }
}

/// `9s`, `18m`, `2h07m`: short enough for a column.
pub(crate) fn briefly(time: Millis) -> String {
    match time.0 / 1000 {
        secs @ 0..60 => format!("{secs}s"),
        secs @ 60..3600 => format!("{}m", secs / 60),
        secs => format!("{}h{:02}m", secs / 3600, secs % 3600 / 60),
    }
}

/// A length that changes once a second at the most.
pub fn clock(time: Millis) -> String {
    match time.0 / 1000 {
        secs @ 0..60 => format!("{secs}s"),
        _ => time.to_string(),
    }
}
