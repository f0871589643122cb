//! What attempts of one run share in the process that carries them out: what was found once, and what there is only so much of.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use conductor_core::plan::Limits;
use conductor_core::values::ids::RunId;

use super::accounts::Accounts;
use super::agent_limits::AgentLimits;
use super::base::BaseChecks;
use super::baselines::Baselines;
use super::first_start::FirstStarts;
use super::learning::Shelf;
use super::reattaching::{Reattaching, ShimPlace};
use super::slices::Slices;
use super::standstill::Standstill;
use super::supplies::Supplies;
use super::tools::ToolServer;
use crate::git::checkpoints::Checkpoint;
use crate::process::RunProcesses;

pub(crate) struct Services {
    pub(crate) processes: Arc<RunProcesses>,
    /// Whether this process is not the coordinator's, which tells of its own machine when a run starts.
    pub(super) is_elsewhere: bool,
    /// What the user was told and need not hear again.
    pub(super) warned: Arc<Mutex<BTreeSet<String>>>,
    /// Where agents are started so that they outlive this process; none does otherwise.
    pub(crate) shims: OnceLock<ShimPlace>,
    /// What another coordinator has left at work.
    pub(crate) reattaching: Reattaching,
    /// What agents may use while no coordinator is there.
    pub(crate) slices: Slices,
    /// Who stands still for another coordinator to come.
    pub(crate) standstill: Standstill,
    pub(super) accounts: Accounts,
    pub(super) first_starts: FirstStarts,
    pub(super) baselines: Baselines,
    pub(super) base_checks: BaseChecks,
    pub(super) agent_limits: AgentLimits,
    pub(crate) tool_server: ToolServer,
    pub(super) supplies: Supplies,
    /// What the project has taught.
    pub(super) shelf: Shelf,
    /// The checkpoint that was made last before something risky.
    pub(super) secured: Arc<Mutex<Option<Checkpoint>>>,
}

impl Services {
    pub(super) fn new(run: &RunId, limits: &Limits) -> Services {
        Services {
            processes: RunProcesses::new(run.clone()),
            is_elsewhere: false,
            warned: Arc::default(),
            shims: OnceLock::new(),
            reattaching: Reattaching::default(),
            slices: Slices::default(),
            standstill: Standstill::default(),
            accounts: Accounts::default(),
            first_starts: FirstStarts::default(),
            baselines: Baselines::default(),
            base_checks: BaseChecks::default(),
            agent_limits: AgentLimits::new(limits),
            tool_server: ToolServer::default(),
            supplies: Supplies::default(),
            shelf: Shelf::default(),
            secured: Arc::default(),
        }
    }
}
