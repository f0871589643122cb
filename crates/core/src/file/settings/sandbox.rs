//! `sandbox` and `network`: how a task's processes are confined.

use super::{Fields, Isolation, Network, Node, Report, Sandbox, Settings, Task, choice, shown, text, texts};
use crate::confinement::hosts::HostRule;
use crate::file::decode::each;
use crate::file::keys::{NETWORK, SANDBOX};
use crate::plan::SandboxMode;

const MODES: &[(&str, SandboxMode)] =
    &[("require", SandboxMode::Require), ("prefer", SandboxMode::Prefer), ("off", SandboxMode::Off)];

/// One word, or a mapping that says more.
pub(super) fn read(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Sandbox> {
    if node.entries().is_none() {
        return choice(MODES)(r, what, node).map(Sandbox::of);
    }
    let mut fields = Fields::of(r, "sandbox", SANDBOX, node)?;
    let mode = fields.need(r, "mode", choice(MODES));
    let read = fields.get(r, "read", texts).unwrap_or_default();
    let write = fields.get(r, "write", texts).unwrap_or_default();
    fields.finish(r, |_| false);
    Some(Sandbox { mode: mode?, read, write })
}

pub(super) fn network(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Network> {
    if node.entries().is_none() {
        let is_off = choice(&[("full", false), ("off", true)])(r, what, node)?;
        return Some(if is_off { Network::Off } else { Network::Full });
    }
    let mut fields = Fields::of(r, "network", NETWORK, node)?;
    let hosts = fields.need(r, "allow", hosts);
    fields.finish(r, |_| false);
    // An empty list allows nothing.
    Some(match hosts? {
        hosts if hosts.is_empty() => Network::Off,
        hosts => Network::Allow(hosts),
    })
}

/// Where a task works and what it reaches from there: its own word, else that of the config, which is for agents alone as far
/// as it confines.
pub(super) fn settle(
    task: &mut Task,
    (isolation, sandbox, network): (Option<Isolation>, Option<Sandbox>, Option<Network>),
    (config, agents): (&Settings, &Settings),
) {
    task.isolation = isolation.or(config.isolation);
    task.sandbox = sandbox.or_else(|| agents.sandbox.clone()).map(Box::new);
    task.network = network.or_else(|| agents.network.clone()).map(Box::new);
}

fn hosts(r: &mut Report<'_>, what: &str, node: &Node) -> Option<Vec<String>> {
    each(r, what, node, "a host or a list of hosts", |r, what, node| {
        let host = text(r, what, node)?;
        if HostRule::parse(&host).is_none() {
            r.error("bad-host", node.span, format!("{} is not a host", shown(&host)))
                .help("write a name (crates.io), a name and all below it (*.crates.io), or one with a port (localhost:5432)");
            return None;
        }
        Some(host)
    })
}
