//! The tier between: the kernel's own rules about files, which a program puts on itself, and a filter of system calls.
//!
//! Nothing looks different inside: what is not opened is there and refuses. So the home is another folder, with links to what
//! the agent needs, and variables that name places in the real one are led there. What this leaves open is listed in
//! docs/security.md, and a test holds the list to what really is.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use conductor_core::confinement::{Access, Confinement, Grant, Mount};

use super::super::{Launch, run_own_within};
use super::files::{Place, Shared, is_linked};
use super::held::Rules;
use super::{inner, seccomp, text};

/// What all programs look at, of themselves and of the machine. It names other processes, too.
const PROCESSES: &str = "/proc";

/// Devices that are no way to anything. A terminal is not among them.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

pub(super) fn launch(
    within: &[PathBuf],
    launch: &Launch,
    confinement: &Confinement,
    place: &Place,
) -> io::Result<Launch> {
    let [program, words @ ..] = within else { return Err(io::Error::other("nothing is started inside")) };
    let env = furnished(&confinement.mounts, place, &launch.env)?;
    let mut grants: Vec<Grant> =
        confinement.grants(&children).into_iter().filter(|grant| Path::new(&grant.path).exists()).collect();
    grants.push(Grant { path: PROCESSES.to_owned(), writes: false });
    grants.extend(DEVICES.map(|device| Grant { path: device.to_owned(), writes: true }));
    // Each alone: what is in a folder that is opened can be put elsewhere.
    for own in confinement.mounts.iter().filter(|mount| mount.access == Access::Fresh) {
        grants.push(Grant { path: text(&place.fresh(&own.path)?), writes: true });
    }
    let rules = Rules { grants, offline: confinement.is_offline() };
    let rules = place.write(&format!("rules-{:08x}", fastrand::u32(..)), &serde_json::to_vec(&rules)?)?;
    let mut args: Vec<OsString> = words.iter().map(|word| word.clone().into_os_string()).collect();
    args.extend([inner::LANDLOCK.into(), rules.into_os_string(), "--".into(), launch.program.clone()]);
    args.extend(launch.args.iter().cloned());
    Ok(Launch { program: program.clone().into_os_string(), args, env: Arc::new(env), ..launch.clone() })
}

/// What is in a folder and is no link.
fn children(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    plain.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Makes the folders that stand for others, with what belongs into them, and leads the variables there.
fn furnished(
    mounts: &[Mount],
    place: &Place,
    env: &BTreeMap<OsString, OsString>,
) -> io::Result<BTreeMap<OsString, OsString>> {
    for (number, Mount { path, access }) in mounts.iter().enumerate() {
        let at = Path::new(path);
        let stands_for = |mount: &&Mount| mount.access == Access::Fresh && at.starts_with(&mount.path);
        let Some(over) = mounts[..number].iter().rev().find(stands_for) else {
            if *access == Access::Fresh {
                place.fresh(path)?;
            }
            continue;
        };
        let over = Path::new(&over.path);
        match access {
            Access::Fresh => drop(place.fresh(path)?),
            Access::Copy => place.copy(at, over)?,
            Access::Make if fs::create_dir_all(at).is_err() => {}
            Access::Read | Access::Settings | Access::Write | Access::Make => {
                place.link(at, over, *access)?
            }
            Access::Hidden => {}
        }
    }
    let mut env: BTreeMap<OsString, OsString> = env
        .iter()
        .map(|(name, value)| Ok((name.clone(), led(value, mounts, place)?)))
        .collect::<io::Result<_>>()?;
    let temporary = OsStr::new("TMPDIR");
    if !env.contains_key(temporary) {
        env.insert(temporary.to_owned(), place.fresh("/tmp")?.into_os_string());
    }
    // Sockets of the user's session are in there.
    env.remove(OsStr::new("XDG_RUNTIME_DIR"));
    Ok(env)
}

/// What a variable names, where that is now: one path, or a list of them.
fn led(value: &OsStr, mounts: &[Mount], place: &Place) -> io::Result<OsString> {
    let mut parts = Vec::new();
    for part in value.as_bytes().split(|byte| *byte == b':') {
        parts.push(one_led(OsStr::from_bytes(part), mounts, place)?.into_vec());
    }
    Ok(OsString::from_vec(parts.join(&b':')))
}

fn one_led(value: &OsStr, mounts: &[Mount], place: &Place) -> io::Result<OsString> {
    let path = Path::new(value);
    let over = mounts.iter().rev().find(|mount| path.is_absolute() && path.starts_with(&mount.path));
    let Some(over) = over.filter(|over| over.access == Access::Fresh) else { return Ok(value.to_owned()) };
    let folder = place.fresh(&over.path)?;
    Ok(match path.strip_prefix(&over.path) {
        Ok(rest) if !rest.as_os_str().is_empty() => folder.join(rest).into_os_string(),
        _ => folder.into_os_string(),
    })
}

/// Whether it works here, found out by a program that is kept from a file. Why not, else.
pub(super) fn tried(within: &[PathBuf], limit: Duration) -> Result<(), String> {
    const HELD: &str = "held";
    let [program, words @ ..] = within else { return Err("nothing is started inside".to_owned()) };
    if seccomp::filter().is_none() {
        return Err("the system calls of this machine's processor are not known here".to_owned());
    }
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (secret, rules) = (folder.path().join("secret"), folder.path().join("rules"));
    let system = ["/usr", "/bin", "/lib", "/lib64", "/nix", "/gnu", PROCESSES, "/dev/null"];
    let system = system.into_iter().filter(|path| Path::new(path).exists());
    let grants = system.map(|path| Grant { path: path.to_owned(), writes: path == "/dev/null" }).collect();
    let text = serde_json::to_vec(&Rules { grants, offline: true }).map_err(|error| error.to_string())?;
    let written = fs::write(&secret, "secret").and_then(|()| fs::write(&rules, text));
    written.map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(words).arg(inner::LANDLOCK).arg(&rules);
    let script = format!("if (: < \"$0\") 2> /dev/null; then echo read; else echo {HELD}; fi");
    command.args(["--", "/bin/sh", "-c", &script]).arg(&secret);
    match run_own_within(&mut command, limit) {
        Ok(Some(output)) if output.stdout.trim_ascii() == HELD.as_bytes() => Ok(()),
        Ok(Some(output)) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(said
                .lines()
                .last()
                .unwrap_or("it holds nothing back")
                .trim_start_matches("error: ")
                .to_owned())
        }
        Ok(None) => Err("it does not come to an end".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Place {
    /// Has a path lead to where it really is, in the folder that stands for one of its parents. What is reached by its own
    /// name alone (the workspace) needs none; nor does what is below a folder that is linked itself.
    fn link(&self, path: &Path, of: &Path, access: Access) -> io::Result<()> {
        let Ok(rest) = path.strip_prefix(of) else { return Ok(()) };
        let root = self.fresh(&of.to_string_lossy())?;
        let is_ours = path.starts_with(&self.state) || !path.exists();
        if is_ours || rest.as_os_str().is_empty() || is_linked(&root, rest) {
            return Ok(());
        }
        let link = root.join(rest);
        // A folder that is there already was made for something in it: that is the attempt's own.
        if link.symlink_metadata().is_ok() {
            return Ok(());
        }
        crate::host::access::create_private_dir_all(link.parent().unwrap_or(&root))?;
        symlink(path, &link)?;
        if access == Access::Write && path.is_file() {
            let shared = Shared { file: path.to_owned(), folder: root, below: rest.to_owned() };
            self.shared.lock().unwrap_or_else(PoisonError::into_inner).push(shared);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(path: &Path, access: Access) -> Mount {
        Mount { path: text(path), access }
    }

    #[test]
    fn a_home_of_its_own_leads_to_what_it_needs_and_variables_lead_there() {
        let folder = tempfile::tempdir().unwrap();
        let (home, state) = (folder.path().join("home"), folder.path().join("state"));
        for made in [".claude/hooks", ".cargo/bin", "other"] {
            fs::create_dir_all(home.join(made)).unwrap();
        }
        for (file, said) in
            [(".claude/.credentials.json", "old"), (".claude/settings.json", "{}"), (".netrc", "s")]
        {
            fs::write(home.join(file), said).unwrap();
        }
        fs::create_dir_all(&state).unwrap();
        let place = Place::new(&state, state.join("place")).unwrap();
        let mounts = [
            mount(Path::new("/tmp"), Access::Fresh),
            mount(&home, Access::Fresh),
            mount(&home.join(".cargo/bin"), Access::Read),
            mount(&home.join(".claude/projects"), Access::Make),
            mount(&home.join(".claude/hooks"), Access::Read),
            mount(&home.join(".claude/.credentials.json"), Access::Write),
            mount(&home.join(".claude/settings.json"), Access::Copy),
        ];
        let path = format!("{}:/usr/bin:{}", home.join(".cargo/bin").display(), home.join("other").display());
        let env = BTreeMap::from([
            ("HOME".into(), home.clone().into_os_string()),
            ("CARGO_HOME".into(), home.join(".cargo").into_os_string()),
            ("PATH".into(), OsString::from(path)),
            ("URL".into(), "http://localhost:80/tmp".into()),
            ("XDG_RUNTIME_DIR".into(), "/run/user/1000".into()),
        ]);
        let env = furnished(&mounts, &place, &env).unwrap();
        let own = place.fresh(&text(&home)).unwrap();
        let value = |name: &str| env.get(OsStr::new(name)).map(PathBuf::from);
        assert_eq!(value("HOME"), Some(own.clone()));
        assert_eq!(value("CARGO_HOME"), Some(own.join(".cargo")));
        let path = format!("{}:/usr/bin:{}", home.join(".cargo/bin").display(), own.join("other").display());
        assert_eq!(value("PATH"), Some(path.into()), "what is opened keeps its name");
        assert_eq!(value("URL"), Some("http://localhost:80/tmp".into()));
        assert_eq!(value("TMPDIR"), Some(place.fresh("/tmp").unwrap()));
        assert_eq!(value("XDG_RUNTIME_DIR"), None);
        assert!(!own.join(".netrc").exists());
        assert!(home.join(".claude/projects").is_dir(), "it was made");
        for linked in [".cargo/bin", ".claude/projects", ".claude/hooks", ".claude/.credentials.json"] {
            assert_eq!(fs::read_link(own.join(linked)).unwrap(), home.join(linked));
        }
        fs::write(own.join(".claude/settings.json"), "hooks").unwrap();
        assert_eq!(fs::read_to_string(home.join(".claude/settings.json")).unwrap(), "{}", "a copy");
        // As a program does that writes a file anew.
        fs::write(own.join("new"), "new").unwrap();
        fs::rename(own.join("new"), own.join(".claude/.credentials.json")).unwrap();
        drop(place);
        assert_eq!(fs::read_to_string(home.join(".claude/.credentials.json")).unwrap(), "new");
    }

    #[test]
    fn what_is_put_into_a_home_follows_no_link_of_an_agents() {
        let folder = tempfile::tempdir().unwrap();
        let (home, state) = (folder.path().join("home"), folder.path().join("state"));
        let elsewhere = folder.path().join("elsewhere");
        for made in [&home.join(".claude/hooks"), &state, &elsewhere] {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(home.join(".claude/settings.json"), "{}").unwrap();
        let mounts = [
            mount(&home, Access::Fresh),
            mount(&home.join(".claude/hooks"), Access::Read),
            mount(&home.join(".claude/settings.json"), Access::Copy),
        ];
        let place = Place::new(&state, state.join("place")).unwrap();
        symlink(&elsewhere, place.fresh(&text(&home)).unwrap().join(".claude")).unwrap();
        furnished(&mounts, &place, &BTreeMap::new()).unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn a_link_that_an_agent_puts_in_the_way_is_not_taken_for_a_sign_in() {
        let folder = tempfile::tempdir().unwrap();
        let (home, state) = (folder.path().join("home"), folder.path().join("state"));
        fs::create_dir_all(home.join(".claude")).unwrap();
        fs::create_dir_all(folder.path().join("secrets")).unwrap();
        fs::create_dir_all(&state).unwrap();
        fs::write(folder.path().join("secrets/.credentials.json"), "secret").unwrap();
        let sign_in = home.join(".claude/.credentials.json");
        fs::write(&sign_in, "own").unwrap();
        let mounts = [mount(&home, Access::Fresh), mount(&sign_in, Access::Write)];
        for is_folder in [true, false] {
            let place = Place::new(&state, state.join(format!("place-{is_folder}"))).unwrap();
            furnished(&mounts, &place, &BTreeMap::new()).unwrap();
            let own = place.fresh(&text(&home)).unwrap().join(".claude");
            if is_folder {
                fs::remove_dir_all(&own).unwrap();
                symlink(folder.path().join("secrets"), &own).unwrap();
            } else {
                fs::remove_file(own.join(".credentials.json")).unwrap();
                symlink(folder.path().join("secrets/.credentials.json"), own.join(".credentials.json"))
                    .unwrap();
            }
            drop(place);
            assert_eq!(fs::read_to_string(&sign_in).unwrap(), "own");
        }
    }
}
