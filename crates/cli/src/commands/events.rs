//! `conductor events`: the log of a run for programs, as `run --ui json` writes it; with `--follow` as it grows.

use std::io;
use std::time::Duration;

use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, Followed};

use super::block_on;
use crate::archive::Archive;
use crate::archive::live;
use crate::args;
use crate::console;
use crate::error::{CliError, Exit};
use crate::progress::json::event;

pub(crate) fn run(args: &args::Events) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let mut out = Out { last: args.since };
    let live = match args.follow {
        true => live::meant(&home, args.run.as_deref())?,
        false => None,
    };
    let Some(live_view) = live else {
        block_on(out.read_the_log(args.run.as_deref()))?;
        return Ok(Exit::Done);
    };
    let word = live_view.run.to_string();
    // Listened to before the log is read, so that nothing is missed in between.
    let mut following = control::follow(&home.run(&live_view.run)).ok();
    loop {
        block_on(out.read_the_log(Some(&word)))?;
        let is_over =
            out.follow(&live_view.run, following.into_iter().flat_map(|(_, following)| following))?;
        following = match is_over {
            false => control::follow(&home.run(&live_view.run)).ok(),
            true => live::follow_again(&home, &live_view.run, None),
        };
        if is_over && following.is_none() {
            break;
        }
    }
    // The log has what was missed where the connection broke or was never made.
    home.wait_until_left(&live_view.run)?;
    while home.store().is_some() && block_on(live::is_elsewhere(&live_view.run))? {
        block_on(out.read_the_log(Some(&word)))?;
        std::thread::sleep(LOOK);
    }
    block_on(out.read_the_log(Some(&word)))?;
    Ok(Exit::Done)
}

/// How often the log of a run is read that another machine drives.
const LOOK: Duration = Duration::from_millis(500);

struct Out {
    /// The last one that was told.
    last: u64,
}

impl Out {
    async fn read_the_log(&mut self, run: Option<&str>) -> Result<(), CliError> {
        let archive = Archive::open().await?;
        let runs = archive.candidates(run)?;
        let Some(newest) = runs.first() else { return Ok(()) };
        self.tell(&newest.id, &archive.read(newest).await?.records)
    }

    /// Whether it came to its end; not where what we write is read so slowly that we were cut off.
    fn follow(
        &mut self,
        run: &RunId,
        following: impl Iterator<Item = io::Result<Followed>>,
    ) -> Result<bool, CliError> {
        for followed in following {
            match followed? {
                Followed::Record(record) => self.tell(run, &[*record])?,
                Followed::Missed { .. } => return Ok(false),
            }
        }
        Ok(true)
    }

    fn tell(&mut self, run: &RunId, records: &[Record]) -> Result<(), CliError> {
        for record in records.iter().filter(|record| record.seq > self.last) {
            console::answer_bytes(
                format!("{}\n", console::clean(&event(run, record).to_string())).as_bytes(),
            )?;
        }
        self.last = records.last().map_or(self.last, |record| self.last.max(record.seq));
        Ok(())
    }
}
