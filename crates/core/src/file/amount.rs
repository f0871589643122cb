//! Lengths of time and amounts of memory as people write them.

use thiserror::Error;

use crate::values::units::Millis;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadDuration {
    #[error("a duration cannot be empty")]
    Empty,
    #[error("{0:?} is not a number")]
    Number(String),
    #[error("{0:?} is not a unit of time; ms, s, m, h and d are")]
    Unit(String),
    #[error("a duration cannot be longer than ten years")]
    TooLong,
}

/// Long enough for any run, short enough that sums of them never overflow.
const LONGEST: f64 = 10.0 * 366.0 * 86_400_000.0;

/// `30m`, `500ms`, `1h30m`, `2.5h`; a plain number is seconds.
pub fn parse_duration(text: &str) -> Result<Millis, BadDuration> {
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(BadDuration::Empty);
    }
    let mut total = 0.0;
    let mut plain = true;
    while !rest.is_empty() {
        let (number, unit, after) = amount(rest).ok_or_else(|| BadDuration::Number(rest.to_owned()))?;
        let factor = match unit {
            "" if plain && after.is_empty() => 1000.0,
            "" => return Err(BadDuration::Unit(rest.to_owned())),
            unit => millis_of(unit).ok_or_else(|| BadDuration::Unit(unit.to_owned()))?,
        };
        total += number * factor;
        plain = false;
        rest = after;
    }
    from_millis(total)
}

pub(super) fn from_millis(millis: f64) -> Result<Millis, BadDuration> {
    match millis <= LONGEST {
        true => Ok(Millis(millis.round() as u64)),
        false => Err(BadDuration::TooLong),
    }
}

fn millis_of(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millis" | "milliseconds" => Some(1.0),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1e3),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60e3),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3_600e3),
        "d" | "day" | "days" => Some(86_400e3),
        _ => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadSize {
    #[error("{0:?} is not a number")]
    Number(String),
    #[error("{0:?} is not a unit of memory; KiB, MiB, GiB, TiB, KB, MB, GB and TB are")]
    Unit(String),
    #[error("more memory than any machine has")]
    TooLarge,
}

/// `4GiB`, `512MiB`, `2GB`; a plain number is bytes.
pub fn parse_size(text: &str) -> Result<u64, BadSize> {
    let text = text.trim();
    let bad = || BadSize::Number(text.to_owned());
    let (number, unit, after) = amount(text).ok_or_else(bad)?;
    if !after.is_empty() {
        return Err(bad());
    }
    let bytes = number * bytes_of(unit).ok_or_else(|| BadSize::Unit(unit.to_owned()))?;
    match bytes < 2f64.powi(63) {
        true => Ok(bytes.round() as u64),
        false => Err(BadSize::TooLarge),
    }
}

fn bytes_of(unit: &str) -> Option<f64> {
    match unit.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1.0),
        "k" | "ki" | "kib" => Some(2f64.powi(10)),
        "m" | "mi" | "mib" => Some(2f64.powi(20)),
        "g" | "gi" | "gib" => Some(2f64.powi(30)),
        "t" | "ti" | "tib" => Some(2f64.powi(40)),
        "kb" => Some(1e3),
        "mb" => Some(1e6),
        "gb" => Some(1e9),
        "tb" => Some(1e12),
        _ => None,
    }
}

/// Splits `90 min rest` into the number, its unit and what follows.
fn amount(text: &str) -> Option<(f64, &str, &str)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let rest = text[digits..].trim_start();
    let letters =
        rest.find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace()).unwrap_or(rest.len());
    Some((number, &rest[..letters], rest[letters..].trim_start()))
}
