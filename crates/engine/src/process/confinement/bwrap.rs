//! The strongest tier: bubblewrap makes namespaces in which only what is named is there.
//!
//! A shell starts it, for three reasons. What ends an attempt politely signals its whole group, and bubblewrap's death would
//! be that of all inside: it is to ignore the signal. Its filter of system calls comes by an open file. And it dies with
//! the thread that started it, which for a program with many threads is no measure of anything.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conductor_core::confinement::{Access, Confinement, Mount};

use super::super::Launch;
use super::{Place, inner, seccomp};

/// The filter is the first word, what is started the others.
pub(super) const STARTED: &str = r#"exec 9<"$0" || exit 126; trap "" TERM; "$@"; exit $?"#;

/// Where the program of ours is, inside.
const INNER: &str = "/run/conductor/inner";

/// Where the proxy's socket is, inside.
const PROXY: &str = "/run/conductor/proxy";

/// All that is always so.
pub(super) const ALWAYS: [&str; 14] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--hostname",
    "sandbox",
    "--cap-drop",
    "ALL",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
];

/// Who is root could write the settings of the kernel in there, without any capability.
pub(super) const KERNEL: [&str; 6] =
    ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"];

/// The user's own terminal is not for agents to write to.
pub(super) const TERMINAL: [&str; 3] = ["--dev-bind", "/dev/null", "/dev/tty"];

pub(super) fn launch(
    bwrap: &Path,
    within: &[PathBuf],
    launch: &Launch,
    confinement: &Confinement,
    (place, socket): (&Place, Option<&Path>),
) -> io::Result<Launch> {
    let mut args = vec![OsString::from("-c"), STARTED.into()];
    args.push(match seccomp::filter() {
        Some(filter) => place.write("filter", &filter)?.into_os_string(),
        None => "/dev/null".into(),
    });
    args.push(bwrap.into());
    args.extend(ALWAYS.map(OsString::from));
    args.extend(TERMINAL.map(OsString::from));
    args.extend(KERNEL.iter().flat_map(|path| ["--ro-bind-try", path, path]).map(OsString::from));
    if seccomp::filter().is_some() {
        args.extend(["--seccomp", "9"].map(OsString::from));
    }
    if confinement.reach.is_some() {
        args.push("--unshare-net".into());
    }
    if let Some(socket) = socket {
        args.extend(["--ro-bind".into(), socket.as_os_str().to_owned(), PROXY.into()]);
    }
    args.extend(mounts(&confinement.mounts, place)?);
    let [program, words @ ..] = within else { return Err(io::Error::other("nothing is started inside")) };
    args.extend(["--ro-bind".into(), program.clone().into_os_string(), INNER.into()]);
    // Without a slash at its end, which would be seen in the agent's own idea of where it is.
    let directory: PathBuf = launch.directory.components().collect();
    args.extend(["--remount-ro".into(), "/".into(), "--chdir".into(), directory.into_os_string()]);
    args.extend(["--".into(), INNER.into()]);
    args.extend(words.iter().map(|word| word.clone().into_os_string()));
    if socket.is_some() {
        args.extend([inner::PROXY, PROXY].map(OsString::from));
        for service in confinement.services() {
            args.extend([inner::SERVICE.into(), service.into()]);
        }
    }
    args.push("--".into());
    args.push(launch.program.clone());
    args.extend(launch.args.iter().cloned());
    let mut env = launch.env.as_ref().clone();
    let is_there = |folder: &OsString| {
        confinement
            .mounts
            .iter()
            .any(|mount| mount.access == Access::Write && Path::new(folder).starts_with(&mount.path))
    };
    if !env.get(OsStr::new("TMPDIR")).is_some_and(is_there) {
        env.insert("TMPDIR".into(), "/tmp".into());
    }
    // Sockets of the user's session are in there.
    env.remove(OsStr::new("XDG_RUNTIME_DIR"));
    Ok(Launch { program: "/bin/sh".into(), args, env: Arc::new(env), ..launch.clone() })
}

fn mounts(mounts: &[Mount], place: &Place) -> io::Result<Vec<OsString>> {
    let mut args: Vec<OsString> = Vec::new();
    let mut bind = |how: &str, from: &OsStr, to: &OsStr| args.extend([how.into(), from.into(), to.into()]);
    for (number, Mount { path, access }) in mounts.iter().enumerate() {
        let at = Path::new(path);
        match access {
            // Where it cannot be made, the agent has it in the home that goes with the attempt.
            Access::Make if std::fs::create_dir_all(at).is_err() => {}
            Access::Make => bind("--bind", at.as_ref(), at.as_ref()),
            Access::Fresh => bind("--bind", place.fresh(path)?.as_ref(), at.as_ref()),
            Access::Copy => {
                let covers = |mount: &&Mount| mount.access == Access::Fresh && at.starts_with(&mount.path);
                if let Some(over) = mounts[..number].iter().rev().find(covers) {
                    place.copy(at, Path::new(&over.path))?;
                }
            }
            _ if !at.exists() => {}
            Access::Read => bind("--ro-bind", at.as_ref(), at.as_ref()),
            Access::Settings => bind("--ro-bind", place.settings(number, at)?.as_ref(), at.as_ref()),
            Access::Write => bind("--bind", at.as_ref(), at.as_ref()),
            Access::Hidden => {
                let nothing = place.nothing(at.is_dir())?;
                bind("--ro-bind", nothing.as_ref(), real(at).as_ref());
            }
        }
    }
    Ok(args)
}

/// Where links lead: nothing can be put over a link.
fn real(path: &Path) -> OsString {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).into_os_string()
}
