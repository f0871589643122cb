//! Which way to confine works on this machine: found out by doing it, once for each process. A version or a setting says
//! little: containers, hardened kernels and profiles refuse in many ways.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::NamedTempFile;

use super::{Tier, bwrap, inner_program, landlock, seccomp};
use crate::process::finding::installed;
use crate::process::run_own_within;

/// Far more than it takes; a machine that cannot do it says so at once.
const LIMIT: Duration = Duration::from_secs(5);

/// What was found.
#[derive(Debug, Clone)]
pub struct Findings {
    pub tier: Tier,
    pub(super) bwrap: Option<PathBuf>,
    /// Why it is not the strongest.
    pub why: Option<String>,
    pub remedy: Option<&'static str>,
}

static FOUND: OnceLock<Findings> = OnceLock::new();

/// Blocks for a moment the first time.
pub fn findings() -> &'static Findings {
    FOUND.get_or_init(look)
}

fn look() -> Findings {
    let none = |why: String, remedy| Findings { tier: Tier::None, bwrap: None, why: Some(why), remedy };
    let Some(within) = inner_program() else {
        return none("this program does not say what is started inside".to_owned(), None);
    };
    let (why, remedy) = match installed("bwrap") {
        None => ("bubblewrap is not installed".to_owned(), INSTALL),
        Some(bwrap) => match tried(&bwrap) {
            Ok(()) => {
                return Findings { tier: Tier::Bubblewrap, bwrap: Some(bwrap), why: None, remedy: None };
            }
            Err(why) => (format!("bubblewrap does not work here: {why}"), remedy(&why)),
        },
    };
    match landlock::tried(within, LIMIT) {
        Ok(()) => Findings { tier: Tier::Landlock, bwrap: None, why: Some(why), remedy: Some(remedy) },
        Err(also) => none(format!("{why}, and landlock does not work here: {also}"), Some(remedy)),
    }
}

const INSTALL: &str =
    "install bubblewrap: apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap";

fn remedy(why: &str) -> &'static str {
    match why {
        why if why.contains("mount proc") || why.contains("/proc") => {
            "in a container, start it with --security-opt systempaths=unconfined, or let it run outside of one"
        }
        _ => {
            "let users have namespaces: sysctl kernel.unprivileged_userns_clone=1 and \
             kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap; in a container, a seccomp \
             profile that allows them"
        }
    }
}

/// With all that a real start has, and nothing to do.
fn tried(bwrap: &Path) -> Result<(), String> {
    let mut filter = NamedTempFile::new().map_err(|error| error.to_string())?;
    let calls = seccomp::filter().unwrap_or_default();
    filter.write_all(&calls).map_err(|error| error.to_string())?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(bwrap::STARTED).arg(filter.path()).arg(bwrap);
    command.args(bwrap::ALWAYS).args(bwrap::TERMINAL).arg("--unshare-net");
    if !calls.is_empty() {
        command.args(["--seccomp", "9"]);
    }
    let system = ["/usr", "/bin", "/lib", "/lib64", "/nix", "/gnu"];
    for folder in bwrap::KERNEL.into_iter().chain(system) {
        command.args(["--ro-bind-try", folder, folder]);
    }
    command.args(["--tmpfs", "/tmp", "--remount-ro", "/", "--", "/bin/sh", "-c", ":"]);
    match run_own_within(&mut command, LIMIT) {
        Ok(Some(output)) if output.status.success() => Ok(()),
        Ok(Some(output)) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said.lines().last().unwrap_or("it says nothing").trim_start_matches("bwrap: ").to_owned())
        }
        Ok(None) => Err("it does not come to an end".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
