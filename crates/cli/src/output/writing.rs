//! Files we write for people, which never take the place of theirs unasked.

use std::fs;
use std::io::{self, BufRead, IsTerminal as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use conductor_engine::host::access;

use crate::console;
use crate::error::{CliError, Exit};

/// Whether a user can be asked: the process has a terminal.
pub(crate) fn attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What a person can do about a file of a command that takes `-o`.
pub(crate) const ANOTHER_FILE: &str = "write another file with -o OTHER.yaml, or over this one with --force";

/// Refuses where one of these is there already, unless that is wanted or agreed to, and `instead` says what to do then; and
/// where it cannot be written, so that nothing is asked or spent in vain.
pub(crate) fn may_write(files: &[&Path], force: bool, instead: &str) -> Result<(), CliError> {
    for file in files {
        check_place(file).map_err(|error| cannot_write(file, &error))?;
    }
    for file in files.iter().filter(|file| !force && fs::symlink_metadata(file).is_ok()) {
        let refusal = || {
            CliError::new(Exit::Usage, format!("{} is there already; nothing was written", file.display()))
                .help(instead)
        };
        if !attended() {
            return Err(refusal());
        }
        let question = format!("{} is there already. Write over it? [y/N] ", file.display());
        let answer = ask(&mut io::stdin().lock(), &question)?;
        if !matches!(answer.to_lowercase().as_str(), "y" | "yes") {
            return Err(refusal());
        }
    }
    Ok(())
}

/// Whether a file can be put there, as far as its folder is there already.
fn check_place(file: &Path) -> io::Result<()> {
    let whole = std::path::absolute(file)?;
    match whole.ancestors().skip(1).find(|folder| folder.exists()) {
        Some(folder) if folder.is_dir() => access::check_writable(folder),
        _ => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn cannot_write(file: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::Unexpected, format!("cannot write {}: {error}", file.display()))
}

/// A question and what was answered, without the spaces around it.
pub(crate) fn ask(from: &mut impl BufRead, question: &str) -> io::Result<String> {
    console::ask(question);
    let mut answer = String::new();
    from.read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Writes a whole file or nothing, making the folder it is in.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), CliError> {
    let failed = |error: io::Error| cannot_write(file, &error);
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .map_or_else(|| PathBuf::from("."), Path::to_owned);
    fs::create_dir_all(&folder).map_err(failed)?;
    let mut whole = tempfile::Builder::new().permissions(mode()).tempfile_in(&folder).map_err(failed)?;
    whole.write_all(text.as_bytes()).map_err(failed)?;
    whole.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

/// For whom it can be read it can be run.
pub(crate) fn make_executable(file: &Path) -> Result<(), CliError> {
    let failed = |error: io::Error| cannot_write(file, &error);
    let mut permissions = fs::metadata(file).map_err(failed)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | ((mode & 0o444) >> 2));
    fs::set_permissions(file, permissions).map_err(failed)
}

/// As any editor would make it; the umask takes away what it takes away.
fn mode() -> fs::Permissions {
    fs::Permissions::from_mode(0o666)
}
