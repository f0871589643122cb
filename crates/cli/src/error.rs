//! Why a command could not do what it was asked, and the one table of exit codes.

use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use conductor_core::plan::select::SelectError;
use conductor_engine::dispatch::broker::BrokerError;
use conductor_engine::dispatch::distant::EngageError;
use conductor_engine::dispatch::distant::enrolment::EnrolmentError;
use conductor_engine::git::GitError;
use conductor_engine::git::checkpoints::CheckpointError;
use conductor_engine::git::workspaces::WorkspaceError;
use conductor_engine::host::home::HomeError;
use conductor_engine::runs::amend::AmendError;
use conductor_engine::runs::archive::FindError;
use conductor_engine::runs::coordinator::CoordinatorError;
use conductor_engine::runs::driving::ConcludeError;
use conductor_engine::runs::resolve::ResolveError;
use conductor_engine::stores::StoreError;
use conductor_engine::worker::distant::DistantError;

use crate::console::{self, Unanswered};

/// The exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Everything landed.
    Done = 0,
    Unexpected = 1,
    Usage = 2,
    /// The file is invalid, or the repository cannot be used.
    InvalidFile = 3,
    NothingToDo = 4,
    /// All that is left waits for a person.
    Asked = 5,
    BudgetReached = 6,
    AgentMissing = 7,
    StillRunning = 8,
    /// Nothing failed, and what is not done was cancelled by the user.
    Cancelled = 9,
    /// A mistake in this program (a panic).
    Internal = 70,
    TaskFailed = 100,
    ConflictLeft = 101,
    Interrupted = 130,
    Terminated = 143,
}

impl Exit {
    pub(crate) const ALL: [Exit; 15] = [
        Exit::Done,
        Exit::Unexpected,
        Exit::Usage,
        Exit::InvalidFile,
        Exit::NothingToDo,
        Exit::Asked,
        Exit::BudgetReached,
        Exit::AgentMissing,
        Exit::StillRunning,
        Exit::Cancelled,
        Exit::Internal,
        Exit::TaskFailed,
        Exit::ConflictLeft,
        Exit::Interrupted,
        Exit::Terminated,
    ];

    /// The one of this number.
    pub(crate) fn of(code: u8) -> Option<Exit> {
        Exit::ALL.into_iter().find(|exit| *exit as u8 == code)
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    message: String,
    help: Option<String>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Display) -> CliError {
        CliError { exit, message: message.to_string(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Display) -> CliError {
        self.help = Some(help.to_string());
        self
    }

    /// What it helps to do, where that is known.
    pub(crate) fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// One whose cause has been shown already.
    pub(crate) fn silent(exit: Exit) -> CliError {
        CliError::new(exit, "")
    }

    pub(crate) fn show(&self) {
        if !self.message.is_empty() {
            console::say(format_args!("\x1b[1;31merror\x1b[0m: {}", self.message));
        }
        if let Some(help) = &self.help {
            console::say(format_args!("\x1b[1;36mhelp\x1b[0m: {help}"));
        }
    }
}

impl From<HomeError> for CliError {
    fn from(error: HomeError) -> CliError {
        match error {
            HomeError::Busy(_) => CliError::new(Exit::StillRunning, error)
                .help("wait for it to end, or start a new run without --resume"),
            HomeError::Foreign { .. } | HomeError::Shared { .. } => {
                CliError::new(Exit::Unexpected, error).help("set CONDUCTOR_HOME to a directory of your own")
            }
            error => CliError::new(Exit::Unexpected, error)
                .help("set CONDUCTOR_HOME to a directory that can be written"),
        }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        let exit = match error {
            StoreError::NoSuchRun(_) => Exit::Usage,
            StoreError::Held { .. } => {
                return CliError::new(Exit::StillRunning, error).help(
                    "ask there; where that machine is gone, its claim ends 15 s after it was last heard of",
                );
            }
            _ => Exit::Unexpected,
        };
        CliError::new(exit, error)
    }
}

impl From<BrokerError> for CliError {
    fn from(error: BrokerError) -> CliError {
        match error {
            // It says itself what to do.
            BrokerError::Unusable { .. } => CliError::new(Exit::Unexpected, error),
            BrokerError::Away { .. } => CliError::new(Exit::Unexpected, error)
                .help("see that it is started and that the address is right: conductor doctor"),
        }
    }
}

impl From<EnrolmentError> for CliError {
    fn from(error: EnrolmentError) -> CliError {
        let exit = match error {
            EnrolmentError::Taken(_) | EnrolmentError::Unknown(_) | EnrolmentError::NoToken => Exit::Usage,
            EnrolmentError::File { .. } | EnrolmentError::Unreadable { .. } => Exit::Unexpected,
        };
        CliError::new(exit, error)
    }
}

impl From<EngageError> for CliError {
    fn from(error: EngageError) -> CliError {
        match error {
            EngageError::Broker(error) => error.into(),
            EngageError::Enrolment(error) => error.into(),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<DistantError> for CliError {
    fn from(error: DistantError) -> CliError {
        match error {
            DistantError::Broker(error) => error.into(),
            DistantError::Git(error) => error.into(),
            DistantError::Busy(_) => CliError::new(Exit::StillRunning, error),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<CoordinatorError> for CliError {
    fn from(error: CoordinatorError) -> CliError {
        match error {
            CoordinatorError::Store(error) => error.into(),
            CoordinatorError::Graph(error) => CliError::new(Exit::InvalidFile, error),
            CoordinatorError::Unrecorded { .. } => CliError::new(Exit::Interrupted, error),
            CoordinatorError::HandedOver { .. } => CliError::new(Exit::StillRunning, error),
            CoordinatorError::Illegal(_) | CoordinatorError::Panicked(_) => {
                CliError::new(Exit::Internal, error)
            }
        }
    }
}

impl From<ConcludeError> for CliError {
    fn from(error: ConcludeError) -> CliError {
        match error {
            ConcludeError::Store(error) => error.into(),
            ConcludeError::Workspace(error) => error.into(),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<SelectError> for CliError {
    fn from(error: SelectError) -> CliError {
        CliError::new(Exit::Usage, format!("--only: {error}"))
    }
}

impl From<io::Error> for CliError {
    fn from(error: io::Error) -> CliError {
        CliError::new(Exit::Unexpected, error)
    }
}

/// A reader that has seen enough (`| head`) ends the command, and nothing is wrong.
impl From<Unanswered> for CliError {
    fn from(Unanswered(error): Unanswered) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::silent(Exit::Done),
            _ => CliError::new(Exit::Unexpected, format!("the answer cannot be written: {error}")),
        }
    }
}

/// With what to do about it.
impl From<GitError> for CliError {
    fn from(error: GitError) -> CliError {
        let exit = if error.is_unusable() { Exit::InvalidFile } else { Exit::Unexpected };
        let help = error.remedy();
        let cli_error = CliError::new(exit, error);
        match help {
            Some(help) => cli_error.help(help),
            None => cli_error,
        }
    }
}

impl From<WorkspaceError> for CliError {
    fn from(error: WorkspaceError) -> CliError {
        match error {
            WorkspaceError::Git(error) => error.into(),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<FindError> for CliError {
    fn from(error: FindError) -> CliError {
        let (exit, help) = match error {
            FindError::Store(error) => return error.into(),
            FindError::Git(error) => return error.into(),
            FindError::Workspace(error) => return error.into(),
            FindError::NothingHere => {
                let help = "start something with `conductor run FILE`, or name a run with --run";
                (Exit::NothingToDo, Some(help.to_owned()))
            }
            FindError::NothingToResume => {
                (Exit::NothingToDo, Some("start one with `conductor run FILE`".to_owned()))
            }
            FindError::NoSuchRun { ref meant, .. } => {
                (Exit::Usage, did_you_mean(meant).or(Some("`conductor runs list` names them all".to_owned())))
            }
            FindError::NoSuchTask { ref meant, .. } => (Exit::Usage, did_you_mean(meant)),
            FindError::NoSuchGroup { ref meant, .. } => {
                let help = "`conductor group list` names those there are";
                (Exit::Usage, did_you_mean(meant).or(Some(help.to_owned())))
            }
            FindError::Ambiguous { .. } => (Exit::Usage, None),
            FindError::Unreadable { .. } => (Exit::Unexpected, None),
            FindError::DirectoryGone { .. } => {
                (Exit::Unexpected, Some("bring the directory back first".to_owned()))
            }
        };
        CliError { exit, message: error.to_string(), help }
    }
}

fn did_you_mean(meant: &Option<String>) -> Option<String> {
    meant.as_ref().map(|meant| format!("did you mean '{meant}'?"))
}

impl From<AmendError> for CliError {
    fn from(error: AmendError) -> CliError {
        match error {
            AmendError::Home(error @ HomeError::Busy(_)) => {
                CliError::new(Exit::StillRunning, error).help("wait for it to end, or stop it first")
            }
            AmendError::Home(error) => error.into(),
            AmendError::Refused(refusal) => CliError::new(Exit::NothingToDo, refusal),
            AmendError::Store(error) => error.into(),
            AmendError::Workspace(error) => error.into(),
            AmendError::Git(error) => error.into(),
            AmendError::Files(error) => error.into(),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}

impl From<ResolveError> for CliError {
    fn from(error: ResolveError) -> CliError {
        match error {
            ResolveError::Workspace(error) => error.into(),
            ResolveError::Git(error) => error.into(),
            ResolveError::Amend(error) => error.into(),
            ResolveError::Unknown(_) => CliError::new(Exit::Usage, error),
            ResolveError::NotFailed { .. } | ResolveError::Beaten { .. } | ResolveError::NotOpen(_) => {
                CliError::new(Exit::NothingToDo, error)
            }
        }
    }
}

impl From<CheckpointError> for CliError {
    fn from(error: CheckpointError) -> CliError {
        match error {
            CheckpointError::Git(error) => error.into(),
            CheckpointError::Taken(_) => CliError::new(Exit::Usage, error).help("give it another name"),
            error => CliError::new(Exit::Unexpected, error),
        }
    }
}
