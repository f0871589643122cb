//! Files that what this program says ends up in: those that its output was sent to, and those that the programs behind it in
//! a pipeline write (`conductor run | tee out.txt`).

use std::fs;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpgid, getpgrp, getpid};

/// As far as `/proc` tells. A program that opens its file later, as a pager does when it is asked to, is not known by it.
pub(super) fn files() -> Vec<PathBuf> {
    let own = [1, 2].into_iter().filter_map(|number| fs::read_link(format!("/proc/self/fd/{number}")).ok());
    let (mut pipes, files): (Vec<PathBuf>, Vec<PathBuf>) = own.partition(|path| is_pipe(path));
    let mut found: Vec<PathBuf> = files.into_iter().filter(|path| path.is_file()).collect();
    if pipes.is_empty() {
        return found;
    }
    let mut behind: Vec<Vec<Open>> = others().map(open_in).collect();
    while let Some(pipe) = pipes.pop() {
        let reads = |open: &Vec<Open>| open.iter().any(|file| !file.is_written && file.path == pipe);
        let (next, rest): (Vec<_>, Vec<_>) = behind.into_iter().partition(reads);
        behind = rest;
        for file in next.into_iter().flatten().filter(|file| file.is_written) {
            match is_pipe(&file.path) {
                true => pipes.push(file.path),
                false if file.path.is_file() => found.push(file.path),
                false => {}
            }
        }
    }
    found
}

/// A file that a program has open.
struct Open {
    path: PathBuf,
    is_written: bool,
}

/// The programs of a pipeline are one process group.
fn others() -> impl Iterator<Item = Pid> {
    let (own, group) = (getpid(), getpgrp());
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let all = all.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    all.filter(move |&pid| pid != own && getpgid(Some(pid)).is_ok_and(|of| of == group))
}

/// Nothing of one that ends meanwhile.
fn open_in(process: Pid) -> Vec<Open> {
    let folder = PathBuf::from(format!("/proc/{}", process.as_raw_nonzero()));
    let all = fs::read_dir(folder.join("fd")).into_iter().flatten().flatten();
    let open = all.filter_map(|entry| {
        let path = fs::read_link(entry.path()).ok()?;
        let info = fs::read_to_string(folder.join("fdinfo").join(entry.file_name())).ok()?;
        Some(Open { path, is_written: is_written(&info)? })
    });
    open.collect()
}

/// How it was opened, in the words of `fdinfo`: the last two bits are nothing where it is only read.
fn is_written(info: &str) -> Option<bool> {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    Some(u64::from_str_radix(flags.trim(), 8).ok()? & 3 != 0)
}

fn is_pipe(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.starts_with("pipe:["))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_file_was_opened_is_told_by_its_flags() {
        let told = |flags: &str| is_written(&format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t13\n"));
        assert_eq!([told("0100000"), told("0100001"), told("02")], [Some(false), Some(true), Some(true)]);
        assert_eq!(is_written("pos:\t0\n"), None);
        assert!(is_pipe(Path::new("pipe:[12]")) && !is_pipe(Path::new("/x/pipe:[12]")));
    }
}
