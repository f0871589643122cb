//! Workers on other machines: how many orders they get in a second over real brokers, what an order costs more than on this
//! machine, and how many events a store on PostgreSQL takes. Measured by tests of the engine, which start the servers.

use std::collections::BTreeMap;
use std::process::Stdio;

use super::report::Goal;
use crate::Result;
use crate::steps::{DIST, cargo};

/// What a line with a figure begins with, and by what the tests are told how much there is of what is measured.
const FIGURE: &str = "FIGURE ";
const SIZE: &str = "CONDUCTOR_FIGURE_SIZE";

pub(super) struct Figures(BTreeMap<String, f64>);

/// In a development build and with few orders, where it is to be quick.
pub(super) fn measure(quick: bool) -> Result<Figures> {
    let mut command = cargo(&["test", "--locked", "-p", "conductor-agents-engine"]);
    command.args(["--features", "redis,rabbitmq,postgres", "--lib", "--test", "over_a_broker"]);
    match quick {
        true => command.env(SIZE, "200"),
        false => command.args(["--profile", DIST]),
    };
    command.args(["--", "--ignored", "--nocapture", "--test-threads", "1", "figures_of_"]);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("the measurement ended with {}:\n{said}", output.status).into());
    }
    Ok(Figures(said.lines().filter_map(figure).collect()))
}

fn figure(line: &str) -> Option<(String, f64)> {
    let (name, value) = line.strip_prefix(FIGURE)?.split_once(' ')?;
    Some((name.to_owned(), value.parse().ok()?))
}

pub(super) fn goals(figures: &Figures) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (broker, name) in [("redis", "Redis"), ("rabbitmq", "RabbitMQ")] {
        let of = |what: &str| figures.0.get(&format!("{broker}.{what}")).copied();
        goals.push(least(
            format!("workers: orders a second over {name}, 100 workers"),
            of("orders_per_s"),
            500.0,
        ));
        let start = of("claim_to_start_p99_ms");
        goals.push(most(format!("workers: from grant to start over {name}, 99 of 100"), start, 250.0));
        let here = figures.0.get("local.ms_per_order").copied();
        let more = of("ms_per_order").zip(here).map(|(there, here)| there - here);
        let limit = if broker == "redis" { 3.0 } else { 6.0 };
        goals.push(most(
            format!("workers: an order that does nothing, over {name}, more than here"),
            more,
            limit,
        ));
    }
    let events = figures.0.get("postgresql.events_per_s").copied();
    goals.push(least(
        "events a second to PostgreSQL, those that come meanwhile at once".to_owned(),
        events,
        5_000.0,
    ));
    goals
}

fn least(what: String, measured: Option<f64>, limit: f64) -> Goal {
    let shown = measured.map_or_else(|| "not measured".to_owned(), |measured| format!("{measured:.0}"));
    Goal {
        what,
        limit: format!("≥ {limit:.0}"),
        measured: shown,
        met: measured.is_some_and(|one| one >= limit),
    }
}

fn most(what: String, measured: Option<f64>, limit: f64) -> Goal {
    let shown = measured.map_or_else(|| "not measured".to_owned(), |measured| format!("{measured:.1} ms"));
    Goal {
        what,
        limit: format!("≤ {limit:.0} ms"),
        measured: shown,
        met: measured.is_some_and(|one| one <= limit),
    }
}
