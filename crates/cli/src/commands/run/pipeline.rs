//! Files that what this program says ends up in: those that its output was sent to, and those that the programs behind it in
//! a pipeline write (`conductor run | tee out.txt`).

use std::fs;
use std::path::{Path, PathBuf};

/// As far as `/proc` tells. A program that opens its file later, as a pager does when it is asked to, is not known by it.
pub(super) fn files() -> Vec<PathBuf> {
    let own = [1, 2].into_iter().filter_map(|number| fs::read_link(format!("/proc/self/fd/{number}")).ok());
    let (mut pipes, files): (Vec<PathBuf>, Vec<PathBuf>) = own.partition(|path| is_pipe(path));
    let mut found: Vec<PathBuf> = files.into_iter().filter(|path| path.is_file()).collect();
    if pipes.is_empty() {
        return found;
    }
    let mut behind: Vec<Vec<Open>> = others().map(|process| open_in(&process)).collect();
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
fn others() -> impl Iterator<Item = PathBuf> {
    let (own, group) = (std::process::id(), group(Path::new("/proc/self")));
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    let others = all.filter(move |entry| number(entry).is_some_and(|number| number != own));
    others.map(|entry| entry.path()).filter(move |process| group.is_some() && self::group(process) == group)
}

/// The number of a process's group; nothing where this is the folder of no process, or it has ended. Groups from outside
/// of a container have the number 0.
fn group(process: &Path) -> Option<u32> {
    group_in(&fs::read_to_string(process.join("stat")).ok()?)
}

/// A program's name may have brackets and spaces in it, so what comes behind the last one is read.
fn group_in(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(2)?.parse().ok()
}

/// Nothing of one that ends meanwhile.
fn open_in(process: &Path) -> Vec<Open> {
    let all = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let open = all.filter_map(|entry| {
        let path = fs::read_link(entry.path()).ok()?;
        let info = fs::read_to_string(process.join("fdinfo").join(entry.file_name())).ok()?;
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
    fn what_proc_says_is_read() {
        let told = |flags: &str| is_written(&format!("pos:\t0\nflags:\t{flags}\nmnt_id:\t13\n"));
        assert_eq!([told("0100000"), told("0100001"), told("02")], [Some(false), Some(true), Some(true)]);
        assert_eq!(is_written("pos:\t0\n"), None);
        assert_eq!(group_in("812 (a) b (c) S 7 0 0 34816 812 4194304"), Some(0));
        assert_eq!((group_in("812 (tee) S 7 811 0"), group_in("")), (Some(811), None));
        assert!(is_pipe(Path::new("pipe:[12]")) && !is_pipe(Path::new("/x/pipe:[12]")));
    }
}
