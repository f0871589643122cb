//! `conductor attach`: brings the view back of a run that goes on without this terminal.
//!
//! It looks and asks as any other command does: whichever way it is left, the run goes on as it was told to.

use std::path::PathBuf;
use std::time::Duration;

use conductor_core::plan::graph::Graph;
use conductor_core::run::event::Record;
use conductor_core::schedule::Request;
use conductor_core::values::ids::RunId;
use conductor_engine::dispatch::board::Board;
use conductor_engine::host::home::Home;
use conductor_engine::runs::control::{self, Followed};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::MissedTickBehavior;

use super::run::keys::Typing;
use super::status::text;
use super::{block_on, runs, talk, wait};
use crate::archive::live;
use crate::archive::{Archive, Found};
use crate::args::{self, Ui};
use crate::error::{CliError, Exit};
use crate::progress::{self, Progress, Stage};

/// How often a key is looked for, and how often what agents are at.
const KEYS: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);

const HOW_TO_LEAVE: &str = "d or q leaves the run going on, t shows what is at work; Ctrl-C lets running tasks finish, twice stops them";

/// How the view was left.
enum Left {
    /// The run is over.
    Over,
    ByKey,
    BySignal(Exit),
}

pub(crate) fn run(args: &args::Attach) -> Result<Exit, CliError> {
    let home = Home::open()?;
    let run = block_on(live::required(&home, args.run.as_deref()))?.run;
    live::check_here(&home, &run, "attach to it")?;
    match block_on(show(&home, &run))? {
        Left::Over => {
            runs::show(&run)?;
            block_on(wait::exit_code(&home, &run))
        }
        Left::ByKey => {
            talk(goes_on(&run));
            Ok(Exit::Done)
        }
        Left::BySignal(exit) => {
            talk(goes_on(&run));
            Ok(exit)
        }
    }
}

fn goes_on(run: &RunId) -> String {
    format!("run {run} goes on; back to it: conductor attach {run}")
}

async fn read(run: &RunId) -> Result<Found, CliError> {
    let archive = Archive::open().await?;
    Ok(archive.read(&archive.named(run.as_str())?).await?)
}

async fn show(home: &Home, run: &RunId) -> Result<Left, CliError> {
    let found = read(run).await?;
    let (plan, options) = (found.run.plan(), found.run.options());
    let graph = Graph::new(plan, options.strategy).map_err(|error| CliError::new(Exit::Unexpected, error))?;
    let output = options.output.as_ref().map_or_else(|| home.run(run), PathBuf::from);
    let board = Board::default();
    let (board_of, output) = (board.clone(), output.as_path());
    let stage =
        Stage { id: run, run: &found.run, options, graph: &graph, board: board_of, output, is_own: false };
    let mut view = progress::of(Ui::Auto, &stage);
    let (sender, mut news) = unbounded_channel();
    let (place, name) = (home.clone(), run.clone());
    let last = found.records.last().map_or(0, |record| record.seq);
    std::thread::spawn(move || {
        let ended = feed(&place, &name, last, &sender);
        ended.err().map(|error| sender.send(Err(error)))
    });
    let typing = Typing::begin();
    if typing.is_some() {
        view.notice(HOW_TO_LEAVE);
    }
    let mut asker = Asker { home, run, times: 0 };
    let mut signals = Signals::new()?;
    let (mut keys, mut look) = (tokio::time::interval(KEYS), tokio::time::interval(LOOK));
    keys.set_missed_tick_behavior(MissedTickBehavior::Delay);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            batch = news.recv() => match batch {
                Some(records) => view.show(&records?.into()),
                None => return Ok(Left::Over),
            },
            _ = signals.interrupt.recv() => {
                if let Some(left) = asker.interrupted(view.as_mut()) {
                    return Ok(left);
                }
            }
            _ = signals.terminate.recv() => return Ok(Left::BySignal(Exit::Terminated)),
            _ = signals.hangup.recv() => return Ok(Left::BySignal(Exit::Terminated)),
            _ = keys.tick(), if typing.is_some() => {
                let typed = typing.as_ref().map_or_else(Vec::new, Typing::keys);
                if typed.iter().any(|key| b"dq".contains(key)) {
                    return Ok(Left::ByKey);
                }
                if typed.contains(&b't') && let Ok(live_view) = control::live_view(&home.run(run)) {
                    view.notice(&text::brief(&live_view.snapshot));
                }
            }
            // One that is busy is asked again later.
            _ = look.tick() => if let Ok(live_view) = control::live_view(&home.run(run)) {
                board.copy(&live_view.snapshot);
            }
        }
    }
}

/// Everything that is recorded after the event of this number, until the run is left.
fn feed(
    home: &Home,
    run: &RunId,
    last: u64,
    sender: &UnboundedSender<Result<Vec<Record>, CliError>>,
) -> Result<(), CliError> {
    let mut last = last;
    let mut tell = |records: Vec<Record>| {
        let new: Vec<Record> = records.into_iter().filter(|record| record.seq > last).collect();
        last = new.last().map_or(last, |record| record.seq);
        new.is_empty() || sender.send(Ok(new)).is_ok()
    };
    // Listened to before the log is read, so that nothing is missed in between.
    let mut following = control::follow(&home.run(run)).ok();
    loop {
        if !tell(block_on(read(run))?.records) {
            return Ok(());
        }
        let mut is_cut_off = false;
        for followed in following.into_iter().flat_map(|(_, following)| following) {
            match followed? {
                Followed::Record(record) => {
                    if !tell(vec![*record]) {
                        return Ok(());
                    }
                }
                Followed::Missed { .. } => {
                    is_cut_off = true;
                    break;
                }
            }
        }
        following = match is_cut_off {
            true => control::follow(&home.run(run)).ok(),
            false => live::follow_again(home, run, None),
        };
        if following.is_none() && !is_cut_off {
            home.wait_until_left(run)?;
            tell(block_on(read(run))?.records);
            return Ok(());
        }
    }
}

/// Ctrl-C asks the run what it asks it in the foreground; who wants more than that has `conductor cancel`.
struct Asker<'a> {
    home: &'a Home,
    run: &'a RunId,
    times: u32,
}

impl Asker<'_> {
    fn interrupted(&mut self, view: &mut dyn Progress) -> Option<Left> {
        self.times += 1;
        let (request, words) = match self.times {
            1 => (Request::Drain, "finishing what runs, starting nothing new; again to stop it now"),
            2 => (Request::Stop, "stopping what runs; again to leave it to that"),
            _ => return Some(Left::BySignal(Exit::Interrupted)),
        };
        match live::ask(self.home, self.run, &request) {
            Ok(()) => view.notice(words),
            Err(error) => view.notice(error.message()),
        }
        None
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Result<Signals, CliError> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}
