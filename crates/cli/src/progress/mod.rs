//! What is shown while a run goes on: one small trait, one file for each way.

pub(crate) mod json;
mod plain;

use conductor_core::event::{Options, Record};
use conductor_core::graph::Graph;
use conductor_core::ids::RunId;
use conductor_core::ledger::Ledger;
use conductor_core::run::Run;

use crate::args::Ui;

pub(crate) trait Progress {
    fn show(&mut self, records: &[Record]);
    /// Something worth knowing that is no event: the store is waiting for space, a request was refused.
    fn notice(&mut self, text: &str);
    /// Several lines for whoever sits there and asked for them; on standard error, whatever else is shown.
    fn tell(&mut self, text: &str) {
        anstream::eprint!("{text}");
    }
    fn finish(&mut self, id: &RunId, run: &Run, graph: &Graph, ledger: Option<&Ledger>);
}

pub(crate) fn of(ui: Ui, id: &RunId, run: &Run, options: &Options) -> Box<dyn Progress> {
    match ui {
        Ui::Json => Box::new(json::Json::new(id)),
        Ui::Plain | Ui::Auto => Box::new(plain::Plain::new(id, run, options)),
    }
}
