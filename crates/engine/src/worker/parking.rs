//! Until when a provider that has had enough of us is left alone.

use conductor_core::values::units::{Millis, Timestamp};

/// Where it does not say, or says something that cannot be: it is asked again after this.
const UNTOLD: i64 = 10 * 60 * 1000;

/// No provider is waited for longer than this, whatever it says.
const LONGEST: i64 = 7 * 24 * 60 * 60 * 1000;

/// When a provider is asked again, and what is to be told about that.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parked {
    pub(super) until: Timestamp,
    pub(super) notice: Option<String>,
}

/// `said` is the provider's own number.
pub(super) fn parked(agent: &str, said: Option<i64>, now: Timestamp) -> Parked {
    let untold = Timestamp(now.0 + UNTOLD);
    let Some(said) = said else { return Parked { until: untold, notice: None } };
    match moment(said) {
        Some(until) if until > now.0 + LONGEST => {
            let (span, at_most) = (Millis((until - now.0) as u64), Millis(LONGEST as u64));
            let notice =
                format!("{agent}'s provider wants to be asked again in {span}; it is asked in {at_most}");
            Parked { until: Timestamp(now.0 + LONGEST), notice: Some(notice) }
        }
        Some(until) if until > now.0 => Parked { until: Timestamp(until), notice: None },
        _ => {
            let span = Millis(UNTOLD as u64);
            let notice = format!(
                "{agent}'s provider says that its limit is reset at {said}, which is no time to come; it is asked again in {span}"
            );
            Parked { until: untold, notice: Some(notice) }
        }
    }
}

/// Seconds since 1970, as they are meant to be; thousandths and millionths of them are known by their size.
fn moment(said: i64) -> Option<i64> {
    const SECONDS: i64 = 100_000_000_000;
    match said {
        ..=0 => None,
        _ if said < SECONDS => Some(said * 1000),
        _ if said < SECONDS * 1000 => Some(said),
        _ if said < SECONDS * 1_000_000 => Some(said / 1000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_794_781_181_000);

    fn until(said: Option<i64>) -> (i64, bool) {
        let Parked { until, notice } = parked("claude", said, NOW);
        (until.0 - NOW.0, notice.is_some())
    }

    #[test]
    fn a_time_to_come_is_believed_in_whatever_unit() {
        for (said, unit) in
            [(NOW.0 / 1000 + 60, "s"), (NOW.0 + 60_000, "ms"), ((NOW.0 + 60_000) * 1000, "us")]
        {
            assert_eq!(until(Some(said)), (60_000, false), "{unit}");
        }
        assert_eq!(until(None), (UNTOLD, false));
    }

    #[test]
    fn what_cannot_be_is_told_and_not_waited_for() {
        for said in [i64::MIN, -1, 0, 17, NOW.0 / 1000 - 60, NOW.0 / 1000, i64::MAX] {
            assert_eq!(until(Some(said)), (UNTOLD, true), "{said}");
        }
        for said in [NOW.0 / 1000 + 700_000, NOW.0 + 700_000_000, 99_999_999_999] {
            assert_eq!(until(Some(said)), (LONGEST, true), "{said}");
        }
    }
}
