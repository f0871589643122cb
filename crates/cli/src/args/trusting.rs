//! Of what others wrote: which of it may run, and plugins.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use conductor_core::values::units::Millis;

use super::duration;

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Only show what needs trust, and its hash for CI jobs
    #[arg(long)]
    pub(crate) show: bool,
    /// List every repository and content that you trust
    #[arg(long, conflicts_with = "show")]
    pub(crate) list: bool,
    /// Forget that you trust this repository
    #[arg(long, conflicts_with_all = ["show", "list"])]
    pub(crate) revoke: bool,
    /// Show it and trust it without asking
    #[arg(short, long, conflicts_with_all = ["show", "list", "revoke"])]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Plugin {
    /// List the plugins, and whether each may be started
    List(PluginList),
    /// Add a plugin to your own, or accept one that has changed; it is shown first
    Add(PluginAdd),
    /// Remove a plugin from your own
    Remove(PluginRemove),
    /// Create a working starter plugin
    New(PluginNew),
    /// Check that a plugin meets the contract of its kind
    Test(PluginTest),
    /// Run a verifier on the files in this directory
    Verify(PluginVerify),
}

#[derive(Debug, Args)]
pub(crate) struct PluginList {
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginAdd {
    /// Add this program; its name is conductor-KIND-NAME
    pub(crate) file: PathBuf,
    /// Show it and add it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginRemove {
    /// Remove the plugin with this name: conductor-KIND-NAME, or only NAME if it is the only one
    pub(crate) name: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginKind {
    /// Carries out prompts
    Agent,
    /// Delivers notifications
    Notifier,
    /// Makes tasks from another tool's data
    Importer,
    /// Checks work, and reports what is wrong and where
    Verifier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PluginLang {
    Python,
    Sh,
    Rust,
}

#[derive(Debug, Args)]
pub(crate) struct PluginNew {
    /// Give it this name (letters, digits, - and _)
    pub(crate) name: String,
    /// Choose what it is for
    #[arg(long, value_enum)]
    pub(crate) kind: PluginKind,
    /// Choose what it is written in
    #[arg(long, value_enum, default_value_t = PluginLang::Python)]
    pub(crate) lang: PluginLang,
    /// Write it into this folder
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) output: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginTest {
    /// Test this plugin: a file, or a name as `plugin list` shows it
    pub(crate) plugin: String,
    /// Limit the time for each answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = duration)]
    pub(crate) timeout: Millis,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PluginVerify {
    /// Use this verifier
    pub(crate) name: String,
    /// Tell it that the files are the work of this task
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Write what it found to this file, as JSON
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) findings: Option<PathBuf>,
    /// Look for plugins in this repository
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) root: Option<PathBuf>,
    /// Limit the time for its answer
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = duration)]
    pub(crate) timeout: Millis,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Pass these arguments to the verifier
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupAgent {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

#[derive(Debug, Args)]
pub(crate) struct Setup {
    /// Set up this agent
    #[arg(value_enum)]
    pub(crate) agent: SetupAgent,
    /// Remove what was set up
    #[arg(long)]
    pub(crate) remove: bool,
    /// Show what is written, and write it without asking
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
