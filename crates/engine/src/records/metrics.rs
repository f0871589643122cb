//! Metrics of runs as text for Prometheus, and the file that has them while a run goes on.
//!
//! What is counted is the core's (`report::tally`); here it only gets its names. No run and no task is a label: their number
//! has no bound.

mod file;

use std::fmt::{Display, Write as _};

use conductor_core::report::tally::{
    APPEND_BOUNDS, Gauges, Histogram, MEMORY_BOUNDS, RETRY_REASONS, TASK_BOUNDS, Tally, Used,
};

pub use file::{MetricsFile, MetricsSource};

/// The two forms of the text. They differ in what a counter's family is called, in how a bound is written, and in their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Prometheus's own, version 0.0.4: what `*.prom` files of node_exporter are in.
    Prometheus,
    /// OpenMetrics 1.0.
    OpenMetrics,
}

impl Format {
    /// For the answer to a request over HTTP.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub kind: Kind,
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: Kind, help: &'static str) -> Metric {
    Metric { name, kind, help }
}

const BUILD: Metric = metric("conductor_build_info", Kind::Gauge, "The version of Conductor.");
const TASKS: Metric = metric(
    "conductor_tasks_total",
    Kind::Counter,
    "Tasks that came to an end, by state and agent (command for commands, none where it never began).",
);
const DURATION: Metric = metric(
    "conductor_task_duration_seconds",
    Kind::Histogram,
    "Time from the first start of a task to its end, by state, without the time in which no coordinator was awake.",
);
const RUNNING: Metric =
    metric("conductor_tasks_running", Kind::Gauge, "Tasks at work, those that only have to land included.");
const QUEUE: Metric = metric(
    "conductor_queue_depth",
    Kind::Gauge,
    "Tasks of active runs that wait for a slot or a dependency.",
);
const SLOTS: Metric = metric("conductor_slots", Kind::Gauge, "Slots for attempts, by state: busy or free.");
const COST: Metric = metric(
    "conductor_cost_usd_total",
    Kind::Counter,
    "What models cost in US dollars, counted when an attempt ends, without tokens of unknown price.",
);
const TOKENS: Metric = metric(
    "conductor_tokens_total",
    Kind::Counter,
    "Tokens that models read (input) and wrote (output), counted when an attempt ends.",
);
const CPU: Metric = metric(
    "conductor_task_cpu_seconds_total",
    Kind::Counter,
    "Processor time of attempts, by agent, counted when an attempt ends.",
);
const DISK: Metric = metric(
    "conductor_task_disk_bytes_total",
    Kind::Counter,
    "Bytes that attempts read from a disk and wrote to one, by agent, where that is measured.",
);
const MEMORY: Metric = metric(
    "conductor_task_peak_memory_bytes",
    Kind::Histogram,
    "The most memory of each attempt, by agent: of its processes together where it has a limit, else of the largest.",
);
const RETRIES: Metric =
    metric("conductor_task_retries_total", Kind::Counter, "Further attempts at tasks, by what they are for.");
const CONFLICTS: Metric =
    metric("conductor_merge_conflicts_total", Kind::Counter, "Work of tasks that did not merge.");
const WORKTREES: Metric =
    metric("conductor_worktrees", Kind::Gauge, "Worktrees and clones of runs that are on the disk.");
const APPENDS: Metric = metric(
    "conductor_store_append_seconds",
    Kind::Histogram,
    "Time until events were durable in the store, for each append of this process.",
);

const DELIVERIES: Metric = metric(
    "conductor_webhook_deliveries_total",
    Kind::Counter,
    "Attempts to tell a webhook of the server: delivered, retried (to be tried again) or dead (given up).",
);
const DELIVERY_QUEUE: Metric = metric(
    "conductor_webhook_queue",
    Kind::Gauge,
    "Deliveries that wait to be sent to webhooks of the server, for the first time or again.",
);

const WORKERS: Metric = metric(
    "conductor_workers",
    Kind::Gauge,
    "Workers on other machines that were let in, by state: here (for an active run), drained or away.",
);
const WORKER_SLOTS: Metric = metric(
    "conductor_worker_slots",
    Kind::Gauge,
    "Slots of the workers that are here for an active run, by state: busy or free.",
);

/// Everything that is exported.
pub const METRICS: [Metric; 19] = [
    BUILD,
    TASKS,
    DURATION,
    RUNNING,
    QUEUE,
    SLOTS,
    COST,
    TOKENS,
    CPU,
    DISK,
    MEMORY,
    RETRIES,
    CONFLICTS,
    WORKTREES,
    APPENDS,
    DELIVERIES,
    DELIVERY_QUEUE,
    WORKERS,
    WORKER_SLOTS,
];

/// What a server has sent to webhooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deliveries {
    pub delivered: u64,
    pub retried: u64,
    pub dead: u64,
    pub waiting: u64,
}

/// The workers on other machines that a state directory has let in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fleet {
    /// There for an active run, and may have more.
    pub here: u64,
    /// Gets nothing more.
    pub drained: u64,
    pub away: u64,
    /// Slots of those that are there, drained ones included.
    pub busy: u64,
    pub free: u64,
}

/// What only some processes know.
#[derive(Debug, Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Of a process that drives runs: how long its appends took.
    pub appends: Option<&'a Histogram>,
    /// Of a server.
    pub deliveries: Option<Deliveries>,
    /// Likewise.
    pub fleet: Option<Fleet>,
}

/// The metrics of one run or of many.
pub fn text(tally: &Tally, gauges: &Gauges, beside: Beside<'_>, format: Format) -> String {
    let mut page = Page { text: String::new(), format };
    page.value(BUILD, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    page.tasks(tally);
    page.value(RUNNING, &[], gauges.running);
    page.value(QUEUE, &[], gauges.queued);
    page.family(SLOTS);
    page.sample(SLOTS.name, &[("state", "busy")], gauges.busy);
    page.sample(SLOTS.name, &[("state", "free")], gauges.free);
    page.used(tally);
    page.took(tally);
    page.retries(tally);
    page.value(CONFLICTS, &[], tally.conflicts);
    page.value(WORKTREES, &[], gauges.worktrees);
    if let Some(appends) = beside.appends {
        page.family(APPENDS);
        page.histogram(APPENDS, None, appends, &APPEND_BOUNDS, seconds);
    }
    if let Some(deliveries) = beside.deliveries {
        page.deliveries(deliveries);
    }
    if let Some(fleet) = beside.fleet {
        page.fleet(fleet);
    }
    if format == Format::OpenMetrics {
        page.text += "# EOF\n";
    }
    page.text
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn tasks(&mut self, tally: &Tally) {
        self.family(TASKS);
        for (state, agents) in &tally.tasks {
            for (agent, count) in agents {
                self.sample(TASKS.name, &[("state", state), ("agent", agent)], count);
            }
        }
        self.family(DURATION);
        for (state, histogram) in &tally.durations {
            self.histogram(DURATION, Some(("state", state)), histogram, &TASK_BOUNDS, seconds);
        }
    }

    fn used(&mut self, tally: &Tally) {
        self.family(COST);
        for (model, Used { cost, .. }) in &tally.used {
            self.sample(COST.name, &[("model", model)], cost.dollars());
        }
        self.family(TOKENS);
        for (model, Used { input, output, .. }) in &tally.used {
            self.sample(TOKENS.name, &[("model", model), ("type", "input")], input);
            self.sample(TOKENS.name, &[("model", model), ("type", "output")], output);
        }
    }

    fn took(&mut self, tally: &Tally) {
        self.family(CPU);
        for (agent, took) in &tally.took {
            self.sample(CPU.name, &[("agent", agent)], took.cpu.0 as f64 / 1e3);
        }
        self.family(DISK);
        for (agent, took) in &tally.took {
            self.sample(DISK.name, &[("agent", agent), ("direction", "read")], took.read);
            self.sample(DISK.name, &[("agent", agent), ("direction", "written")], took.written);
        }
        self.family(MEMORY);
        for (agent, took) in &tally.took {
            self.histogram(MEMORY, Some(("agent", agent)), &took.peaks, &MEMORY_BOUNDS, |bytes| bytes as f64);
        }
    }

    fn retries(&mut self, tally: &Tally) {
        self.family(RETRIES);
        for reason in RETRY_REASONS {
            let count = tally.retries.get(reason).copied().unwrap_or_default();
            self.sample(RETRIES.name, &[("reason", reason)], count);
        }
        // Of a tally that another version has kept.
        for (reason, count) in
            tally.retries.iter().filter(|(reason, _)| !RETRY_REASONS.contains(&reason.as_str()))
        {
            self.sample(RETRIES.name, &[("reason", reason)], count);
        }
    }

    fn deliveries(&mut self, deliveries: Deliveries) {
        let Deliveries { delivered, retried, dead, waiting } = deliveries;
        self.family(DELIVERIES);
        for (result, count) in [("delivered", delivered), ("retried", retried), ("dead", dead)] {
            self.sample(DELIVERIES.name, &[("result", result)], count);
        }
        self.value(DELIVERY_QUEUE, &[], waiting);
    }

    fn fleet(&mut self, Fleet { here, drained, away, busy, free }: Fleet) {
        let workers = [("here", here), ("drained", drained), ("away", away)];
        for (metric, states) in [(WORKERS, &workers[..]), (WORKER_SLOTS, &[("busy", busy), ("free", free)])] {
            self.family(metric);
            for (state, count) in states {
                self.sample(metric.name, &[("state", state)], count);
            }
        }
    }

    fn family(&mut self, Metric { name, kind, help }: Metric) {
        let name = match (self.format, kind) {
            (Format::OpenMetrics, Kind::Counter) => name.strip_suffix("_total").unwrap_or(name),
            _ => name,
        };
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text += name;
        for (at, (label, value)) in labels.iter().enumerate() {
            let open = if at == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{open}{label}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// A family of a single sample.
    fn value(&mut self, metric: Metric, labels: &[(&str, &str)], value: impl Display) {
        self.family(metric);
        self.sample(metric.name, labels, value);
    }

    fn histogram(
        &mut self,
        of: Metric,
        label: Option<(&str, &str)>,
        histogram: &Histogram,
        bounds: &[u64],
        shown: fn(u64) -> f64,
    ) {
        let own: Vec<(&str, &str)> = label.into_iter().collect();
        let (count, bucket) = (histogram.count(), format!("{}_bucket", of.name));
        for (bound, count) in histogram.cumulative(bounds) {
            let le = self.bound(shown(bound));
            self.sample(&bucket, &[&own[..], &[("le", &le)]].concat(), count);
        }
        self.sample(&bucket, &[&own[..], &[("le", "+Inf")]].concat(), count);
        self.sample(&format!("{}_sum", of.name), &own, shown(histogram.sum()));
        self.sample(&format!("{}_count", of.name), &own, count);
    }

    fn bound(&self, bound: f64) -> String {
        match self.format {
            Format::Prometheus => format!("{bound}"),
            Format::OpenMetrics => format!("{bound:?}"),
        }
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests;
