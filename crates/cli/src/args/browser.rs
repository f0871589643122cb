//! Agents behind a web page.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum Browser {
    /// Check which controls of the site's page are found, without submitting anything
    Probe(BrowserJson),
    /// Learn a control of the page: you click it once in the browser's window
    Learn(BrowserLearn),
    /// List the sessions that are driven in a browser right now
    List(BrowserJson),
    /// Take a picture of a session's page: as a PNG file, and as text here
    Peek(BrowserPeek),
    /// Bring the tab of a session to the front
    Attach(BrowserAttach),
    /// Keep the browser that sessions share (a run starts it)
    #[command(hide = true)]
    Host(BrowserHost),
}

#[derive(Debug, Args)]
pub(crate) struct BrowserHost {
    /// Without a window, whatever the config says
    #[arg(long)]
    pub(crate) headless: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BrowserJson {
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BrowserLearn {
    /// The control, as `conductor browser probe` names it
    pub(crate) control: String,
    /// Wait this many seconds for the click
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) timeout: u64,
}

#[derive(Debug, Args)]
pub(crate) struct BrowserPeek {
    /// The session: the task's id, or a part of what `conductor browser list` shows
    pub(crate) task: String,
    /// Write the picture to this file (default: the task's name with .png, here)
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw the picture this many columns wide
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(10..=500))]
    pub(crate) columns: u16,
}

#[derive(Debug, Args)]
pub(crate) struct BrowserAttach {
    /// The session: the task's id, or a part of what `conductor browser list` shows
    pub(crate) task: String,
}
