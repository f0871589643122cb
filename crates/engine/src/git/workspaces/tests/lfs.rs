//! Git LFS against the real program, where it is installed.

use conductor_core::run::event::Round;

use super::*;

/// A repository with two files of Git LFS, one of them in a folder; nothing where the program is missing.
fn lab() -> Option<Lab> {
    if Command::new("git-lfs").arg("version").output().is_err() {
        let name = std::thread::current().name().unwrap_or("a test").to_owned();
        eprintln!("\n*** SKIPPED {name}: git-lfs is not installed ***\n");
        return None;
    }
    let lab = Lab::new();
    lab.git(&["lfs", "install", "--local"]);
    fs::create_dir(lab.repo.join("art")).unwrap();
    fs::write(lab.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n").unwrap();
    fs::write(lab.repo.join("art/big.bin"), noise(1, 300_000)).unwrap();
    fs::write(lab.repo.join("small.bin"), "small content\n").unwrap();
    commit_all(&lab.repo, "files");
    Some(lab)
}

fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

impl Lab {
    fn store(&self) -> PathBuf {
        self.repo.join(".git/lfs/objects")
    }

    /// The content that a file of a commit stands for.
    fn content(&self, file: &str) -> Vec<u8> {
        let pointer = self.git(&["cat-file", "blob", file]);
        let oid = pointer.lines().find_map(|line| line.strip_prefix("oid sha256:"));
        let oid = oid.unwrap_or_else(|| panic!("no pointer: {pointer}"));
        fs::read(self.store().join(&oid[..2]).join(&oid[2..4]).join(oid)).unwrap()
    }
}

#[test]
fn contents_are_there_and_an_unchanged_file_is_no_change() {
    let Some(lab) = lab() else { return };
    let before = lab.checkout();
    for site in lab.both() {
        for name in ["first", "again"] {
            let request = site.request(1, name);
            let workspace = site.prepare(&request).unwrap();
            assert_eq!(fs::read(workspace.directory.join("art/big.bin")).unwrap(), noise(1, 300_000));
            assert_eq!(fs::read(workspace.directory.join("small.bin")).unwrap(), b"small content\n");
            assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
            assert_eq!(git(&workspace.directory, &["diff-files", "--name-only"]), "");
            assert!(site.collect(&request, &workspace).unwrap().is_none());
            // As new to git as a file can be, and the same.
            fs::write(workspace.directory.join("small.bin"), "small content\n").unwrap();
            assert!(site.collect(&request, &workspace).unwrap().is_none());
            assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
            fs::remove_file(workspace.directory.join("art/big.bin")).unwrap();
            git(&workspace.directory, &["checkout", "--", "art/big.bin"]);
            assert_eq!(fs::read(workspace.directory.join("art/big.bin")).unwrap(), noise(1, 300_000));
            fs::remove_file(workspace.directory.join("art/big.bin")).unwrap();
        }
        assert_eq!(site.notices(), [""; 0]);
    }
    assert_eq!(lab.checkout(), before);
}

#[test]
fn a_changed_file_lands_as_a_pointer_whose_content_is_in_the_store() {
    let Some(lab) = lab() else { return };
    for (number, site) in lab.both().enumerate() {
        let (changed, added) = (noise(10 + number as u64, 70_000), noise(20 + number as u64, 3));
        land(&site, 1, &format!("t{number}"), |dir| {
            fs::write(dir.join("art/big.bin"), &changed).unwrap();
            fs::write(dir.join("new.bin"), &added).unwrap();
        })
        .unwrap();
        assert_eq!(lab.content("conductor/r1:art/big.bin"), changed);
        assert_eq!(lab.content("conductor/r1:new.bin"), added);
        let next = site.prepare(&site.request(2, "next")).unwrap();
        assert_eq!(fs::read(next.directory.join("art/big.bin")).unwrap(), changed);
        let scratch = site.run_repo.scratch("look", &site.run_repo.tip().unwrap()).unwrap();
        assert_eq!(fs::read(scratch.directory.join("new.bin")).unwrap(), added);
    }
    let ended = merge::bring_home(&lab.worktrees().run_repo, true, true).unwrap();
    assert!(matches!(ended, Ending::Merged { .. }), "{ended:?}");
    assert_eq!(fs::read(lab.repo.join("art/big.bin")).unwrap(), noise(11, 70_000));
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
}

/// What only an own commit of the agent has, and its last files have no more, is needed to push that commit.
#[test]
fn own_commits_of_an_agent_bring_their_contents_along() {
    let Some(lab) = lab() else { return };
    for (number, site) in lab.both().enumerate() {
        let once = noise(30 + number as u64, 5000);
        let name = format!("own{number}");
        land(&site, 1, &name, |dir| {
            fs::write(dir.join("once.bin"), &once).unwrap();
            commit_all(dir, "once");
            fs::remove_file(dir.join("once.bin")).unwrap();
            fs::write(dir.join(&name), "x").unwrap();
            assert_eq!(git(dir, &["cat-file", "blob", ":once.bin"]).lines().count(), 3, "a pointer");
        })
        .unwrap();
        assert_eq!(lab.content("conductor/r1^2~1:once.bin"), once);
    }
}

#[test]
fn unfinished_work_keeps_its_contents() {
    let Some(lab) = lab() else { return };
    let site = lab.worktrees();
    let request = request(1, "cut");
    let workspace = site.prepare(&request).unwrap();
    fs::write(workspace.directory.join("half.bin"), noise(2, 9000)).unwrap();
    let name = site.rescue(&request).unwrap().unwrap().name;
    site.run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(lab.content(&format!("{name}:half.bin")), noise(2, 9000));
}

/// The remote is not contacted: there is one, and a program that git would run to reach it.
#[test]
fn a_content_that_is_not_here_stays_a_pointer_and_no_remote_is_asked_for_it() {
    let Some(lab) = lab() else { return };
    let (script, fired) = trap(&lab.repo.join(".git"));
    lab.git(&["config", "core.sshCommand", script.to_str().unwrap()]);
    lab.git(&["remote", "add", "origin", "ssh://git@localhost/nothing.git"]);
    let oid = lab.git(&["lfs", "ls-files", "--long", "--include=art/big.bin"])[..64].to_owned();
    fs::remove_file(lab.store().join(&oid[..2]).join(&oid[2..4]).join(&oid)).unwrap();
    for site in lab.both() {
        for name in ["one", "two"] {
            let request = site.request(1, name);
            let workspace = site.prepare(&request).unwrap();
            let pointer = fs::read_to_string(workspace.directory.join("art/big.bin")).unwrap();
            assert!(pointer.starts_with("version https://git-lfs.github.com/spec/v1\n"), "{pointer}");
            assert_eq!(fs::read(workspace.directory.join("small.bin")).unwrap(), b"small content\n");
            assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
            fs::write(workspace.directory.join("art/big.bin"), pointer).unwrap();
            assert!(
                site.collect(&request, &workspace).unwrap().is_none(),
                "a pointer written anew is no change"
            );
        }
        let notices = site.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(notices[0].starts_with("1 file is only a pointer of Git LFS"), "{notices:?}");
        assert!(notices[0].contains("`git lfs fetch`"), "{notices:?}");
    }
    assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "");
    assert!(!lab.repo.join(".git/lfs/logs").exists(), "the program never failed at it");
    fs::create_dir_all(lab.store().join(&oid[..2]).join(&oid[2..4])).unwrap();
    fs::write(lab.store().join(&oid[..2]).join(&oid[2..4]).join(&oid), noise(1, 300_000)).unwrap();
    let workspace = lab.worktrees().prepare(&request(1, "fetched")).unwrap();
    assert_eq!(fs::read(workspace.directory.join("art/big.bin")).unwrap(), noise(1, 300_000));
    assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
}

/// Programs that git-lfs could be told to run, in every place it could be told so.
#[test]
fn nothing_planted_for_git_lfs_fires() {
    let Some(lab) = lab() else { return };
    let site = lab.worktrees();
    let (script, fired) = trap(&lab.repo.join(".git"));
    let script = script.to_str().unwrap();
    let plant = |to: &[&str]| {
        for key in [
            "lfs.customtransfer.evil.path",
            "lfs.extension.evil.clean",
            "lfs.extension.evil.smudge",
            "filter.lfs.process",
            "filter.lfs.clean",
            "filter.lfs.smudge",
            "core.sshCommand",
            "core.askPass",
            "credential.helper",
            "core.fsmonitor",
        ] {
            git(&lab.repo, &[to, &[key, script]].concat());
        }
        for (key, value) in [
            ("lfs.standalonetransferagent", "evil"),
            ("lfs.extension.evil.priority", "0"),
            ("lfs.url", "ssh://git@localhost/nothing"),
            ("lfs.storage", "/nowhere"),
        ] {
            git(&lab.repo, &[to, &[key, value]].concat());
        }
    };
    land(&site, 1, "plants", |dir| {
        plant(&["config"]);
        plant(&["config", "--file", dir.join(".lfsconfig").to_str().unwrap()]);
    })
    .unwrap();
    let oid = lab.git(&["cat-file", "blob", "conductor/r1:small.bin"]);
    let oid = oid.lines().find_map(|line| line.strip_prefix("oid sha256:")).unwrap();
    fs::remove_file(lab.store().join(&oid[..2]).join(&oid[2..4]).join(oid)).unwrap();
    land(&site, 1, "works", |dir| {
        assert!(dir.join(".lfsconfig").exists());
        assert_eq!(fs::read(dir.join("art/big.bin")).unwrap(), noise(1, 300_000));
        fs::write(dir.join("art/big.bin"), noise(4, 100)).unwrap();
    })
    .unwrap();
    assert_eq!(lab.content("conductor/r1:art/big.bin"), noise(4, 100));
    site.run_repo.snapshot_of("1").unwrap();
    site.run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
    fs::write(lab.repo.join("small.bin"), "changed").unwrap();
    let _ = Command::new("git").args(["add", "small.bin"]).current_dir(&lab.repo).output();
    assert_ne!(fs::read_to_string(&fired).unwrap_or_default(), "", "git as it is does fire them");
}

/// The user's submodules have stores of their own.
#[test]
fn a_submodule_with_such_files_has_its_contents_and_keeps_new_ones() {
    let Some(lib) = lab() else { return };
    let lab = Lab::new();
    let origin = lib.repo.to_str().unwrap();
    // Both configurations are none of the user's, so the submodule has to be told to have filters at all.
    let process = "filter.lfs.process=git-lfs filter-process";
    lab.git(&[
        "-c",
        "protocol.file.allow=always",
        "-c",
        process,
        "submodule",
        "--quiet",
        "add",
        origin,
        "art",
    ]);
    lab.git(&["commit", "-q", "-m", "art"]);
    let stored = lab.repo.join(".git/modules/art/lfs/objects");
    assert!(stored.is_dir());
    for site in lab.both() {
        let text = if site.private { "clone" } else { "tree" };
        land(&site, 1, text, |dir| {
            assert_eq!(fs::read(dir.join("art/art/big.bin")).unwrap(), noise(1, 300_000));
            assert_eq!(git(dir, &["status", "--porcelain"]), "");
            fs::write(dir.join("art/once.bin"), format!("once {text}")).unwrap();
            git(&dir.join("art"), &["add", "-A"]);
            git(&dir.join("art"), &["commit", "-q", "-m", "once"]);
            fs::write(dir.join("art/once.bin"), format!("then {text}")).unwrap();
        })
        .unwrap();
        let all = files_below(&stored, &[]);
        for words in [format!("once {text}"), format!("then {text}")] {
            assert!(all.iter().any(|(_, content)| *content == words.as_bytes()), "{words}");
        }
        let workspace = site.prepare(&site.request(1, "next")).unwrap();
        let content = fs::read_to_string(workspace.directory.join("art/once.bin")).unwrap();
        assert_eq!(content, format!("then {text}"));
    }
}

/// Where the program is not installed, every file is what the repository has.
#[test]
fn without_the_program_pointers_travel_as_they_are() {
    let lab = Lab::new();
    let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n");
    fs::write(lab.repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n").unwrap();
    fs::write(lab.repo.join("small.bin"), &pointer).unwrap();
    commit_all(&lab.repo, "as a user without it has it");
    let repository = Repository::of(&lab.repo).unwrap();
    let shadow = crate::git::Shadow::open(&repository, lab.state.join("git")).unwrap().without_lfs();
    let (tree, index) = (lab.state.join("tree"), lab.state.join("index"));
    fs::create_dir_all(&tree).unwrap();
    assert_eq!(shadow.check_out(&repository.head, &tree, &index, &[]).unwrap(), 0);
    assert_eq!(fs::read_to_string(tree.join("small.bin")).unwrap(), pointer);
    fs::write(tree.join("small.bin"), pointer).unwrap();
    shadow.add_all(&tree, &index).unwrap();
    let kept = shadow.tree_of(&tree, &index).unwrap();
    assert_eq!(kept, shadow.tree_of_commit(&repository.head).unwrap());
}

#[test]
fn a_conflict_left_in_a_pointer_does_not_land() {
    let Some(lab) = lab() else { return };
    let site = lab.worktrees();
    let (one, mut two) = (request(1, "one"), request(2, "two"));
    let workspaces = [&one, &two].map(|request| site.prepare(request).unwrap());
    fs::write(workspaces[0].directory.join("small.bin"), "one").unwrap();
    fs::write(workspaces[1].directory.join("small.bin"), "two").unwrap();
    site.land(&task("one"), &site.collect(&one, &workspaces[0]).unwrap().unwrap()).unwrap();
    let change = site.collect(&two, &workspaces[1]).unwrap().unwrap();
    let failure = site.merge(&task("two"), &change).unwrap_err();
    two.round = Some((1, Round { change, failure }));
    let workspace = site.prepare(&two).unwrap();
    fs::write(workspace.directory.join("more.txt"), "x").unwrap();
    let refused = site.collect(&two, &workspace).unwrap_err();
    assert!(matches!(&refused, WorkspaceError::Markers(files) if files == "small.bin"), "{refused}");
    fs::write(workspace.directory.join("small.bin"), "both").unwrap();
    site.land(&task("two"), &site.collect(&two, &workspace).unwrap().unwrap()).unwrap();
    assert_eq!(lab.content("conductor/r1:small.bin"), b"both");
}

/// A look at work under way leaves nothing in the user's store.
#[test]
fn a_glance_stores_nothing() {
    let Some(lab) = lab() else { return };
    let site = lab.worktrees();
    let workspace = site.prepare(&request(1, "busy")).unwrap();
    let before = files_below(&lab.repo.join(".git/lfs"), &["tmp"]);
    fs::write(workspace.directory.join("new.bin"), noise(5, 5000)).unwrap();
    let (_, tree) = site.run_repo.snapshot_of("1").unwrap();
    assert!(lab.git(&["cat-file", "blob", &format!("{tree}:new.bin")]).starts_with("version "));
    assert_eq!(files_below(&lab.repo.join(".git/lfs"), &["tmp"]), before);
}
