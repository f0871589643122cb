//! Submodules against real repositories: filled, worked in, taken back, and the user's own left as they are.

use conductor_core::run::event::Round;

use super::*;

/// A repository with the submodule `libs/sub`, which has two commits, `v1` and `v2`, and an ignored folder `out`.
struct Nest {
    lab: Lab,
    /// Where the submodule came from.
    origin: PathBuf,
}

impl std::ops::Deref for Nest {
    type Target = Lab;

    fn deref(&self) -> &Lab {
        &self.lab
    }
}

const SUB: &str = "libs/sub";

impl Nest {
    fn new() -> Nest {
        let lab = Lab::new();
        let origin = lab.repo.with_file_name("origin");
        make_origin(&origin);
        add_submodule(&lab.repo, &origin, SUB);
        Nest { lab, origin }
    }

    fn module(&self) -> PathBuf {
        self.repo.join(".git/modules").join(SUB)
    }

    /// What git says in the user's submodule.
    fn in_module(&self, args: &[&str]) -> String {
        git(&self.repo.join(SUB), args)
    }

    fn recorded(&self, commit: &str) -> String {
        self.git(&["rev-parse", &format!("{commit}:{SUB}")])
    }

    /// Everything of the user's submodule but its objects and refs of ours.
    fn untouched(&self) -> Vec<(PathBuf, Vec<u8>)> {
        files_below(&self.module(), &["objects", "refs/conductor"])
    }
}

fn make_origin(origin: &Path) {
    fs::create_dir_all(origin).unwrap();
    git(origin, &["init", "-q", "-b", "main", "."]);
    for (key, value) in [("user.name", "Lib"), ("user.email", "lib@localhost")] {
        git(origin, &["config", key, value]);
    }
    fs::write(origin.join(".gitignore"), "out\n").unwrap();
    for version in ["v1", "v2"] {
        fs::write(origin.join("lib.txt"), format!("{version}\n")).unwrap();
        commit_all(origin, version);
        git(origin, &["tag", version]);
    }
}

fn add_submodule(repo: &Path, origin: &Path, path: &str) {
    let origin = origin.to_str().unwrap();
    git(repo, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", origin, path]);
    git(repo, &["commit", "-q", "-m", "a submodule"]);
}

/// A workspace like the one `prepare` returns.
fn seat_at(site: &Site, directory: &Path) -> Workspace {
    Workspace { directory: directory.to_owned(), base: Some(site.run_repo.tip().unwrap()), env: Vec::new() }
}

fn read(path: PathBuf) -> String {
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn files_are_there_git_works_in_them_and_nothing_done_is_no_change() {
    let nest = Nest::new();
    let (before, module) = (nest.checkout(), nest.untouched());
    for site in nest.both() {
        let request = site.request(1, "looks");
        let workspace = site.prepare(&request).unwrap();
        let sub = workspace.directory.join(SUB);
        assert_eq!(read(sub.join("lib.txt")), "v2\n");
        assert_eq!(git(&sub, &["log", "--format=%s"]), "v2\nv1");
        assert_eq!(git(&sub, &["describe", "--tags"]), "v2");
        assert_eq!(git(&sub, &["status", "--porcelain", "--ignored"]), "");
        assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
        assert!(git(&workspace.directory, &["submodule", "status"]).contains(&nest.recorded("HEAD")));
        fs::create_dir(sub.join("out")).unwrap();
        fs::write(sub.join("out/ignored"), "x").unwrap();
        assert!(site.collect(&request, &workspace).unwrap().is_none());
        assert!(site.rescue(&request).unwrap().is_none());
        let scratch = site.run_repo.scratch("look", &nest.git(&["rev-parse", "HEAD"])).unwrap();
        assert_eq!(read(scratch.directory.join(SUB).join("lib.txt")), "v2\n");
        assert_eq!(site.notices(), [""; 0]);
        site.run_repo.clear(&HashSet::new()).unwrap();
    }
    assert_eq!(nest.checkout(), before);
    assert_eq!(nest.untouched(), module);
    assert_eq!(nest.in_module(&["for-each-ref", "refs/conductor"]), "");
}

#[test]
fn commits_and_edits_in_a_submodule_land_and_the_users_own_stays() {
    let nest = Nest::new();
    let (before, module) = (nest.checkout(), nest.untouched());
    for (number, site) in nest.both().enumerate() {
        let was = nest.recorded("conductor/r1");
        let name = format!("t{number}");
        land(&site, 1, &name, |dir| {
            let sub = dir.join(SUB);
            fs::write(sub.join("own.txt"), &name).unwrap();
            commit_all(&sub, "own");
            fs::write(sub.join("left.txt"), &name).unwrap();
            fs::write(sub.join("lib.txt"), &name).unwrap();
        })
        .unwrap();
        let now = nest.recorded("conductor/r1");
        assert_eq!(nest.in_module(&["rev-parse", &format!("refs/conductor/r1/{name}")]), now);
        let (ours, own) = (format!("{now}^{{commit}}"), format!("{now}~1"));
        assert_eq!(nest.in_module(&["rev-parse", &format!("{now}~2")]), was);
        assert_eq!(nest.in_module(&["log", "-1", "--format=%s", &own]), "own");
        let message = nest.in_module(&["log", "-1", "--format=%B", &ours]);
        assert!(message.starts_with(&format!("{name}: does it\n")), "{message}");
        assert!(message.contains("Conductor-Run: r1") && message.contains("Conductor-Task: t"), "{message}");
        for file in ["own.txt", "left.txt", "lib.txt"] {
            assert_eq!(nest.in_module(&["show", &format!("{now}:{file}")]), name);
        }
        let workspace = site.prepare(&site.request(2, "next")).unwrap();
        assert_eq!(
            read(workspace.directory.join(SUB).join("left.txt")),
            name,
            "what landed is where others start"
        );
        assert_eq!(git(&workspace.directory, &["status", "--porcelain"]), "");
    }
    assert_eq!(nest.checkout(), before);
    assert_eq!(nest.untouched(), module);
    fs::rename(&nest.origin, nest.origin.with_file_name("gone")).unwrap();
    let site = nest.worktrees();
    site.run_repo.clear(&HashSet::new()).unwrap();
    let merged = merge::bring_home(&site.run_repo, true, true).unwrap();
    assert!(matches!(merged, Ending::Merged { .. }), "{merged:?}");
    nest.git(&["submodule", "--quiet", "update"]);
    assert_eq!(read(nest.repo.join(SUB).join("own.txt")), "t1", "without asking where it came from");
    nest.in_module(&["fsck", "--strict"]);
    assert_eq!(nest.git(&["status", "--porcelain"]), "");
}

#[test]
fn unfinished_work_in_a_submodule_survives_the_clearing_and_a_sweep() {
    let nest = Nest::new();
    let site = nest.worktrees();
    let request = request(1, "cut");
    let workspace = site.prepare(&request).unwrap();
    let sub = workspace.directory.join(SUB);
    fs::write(sub.join("own.txt"), "own").unwrap();
    commit_all(&sub, "own");
    fs::write(sub.join("half.txt"), "half").unwrap();
    let again = nest.worktrees();
    let name = again.rescue(&request).unwrap().unwrap().name;
    again.run_repo.clear(&HashSet::new()).unwrap();
    nest.in_module(&["gc", "--quiet", "--prune=now"]);
    let kept = nest.recorded(&name);
    assert_eq!(nest.in_module(&["rev-parse", &name]), kept);
    assert_eq!(nest.in_module(&["show", &format!("{kept}:half.txt")]), "half");
    assert_eq!(nest.in_module(&["log", "-1", "--format=%s", &format!("{kept}^")]), "own");
    assert_eq!(again.run_repo.rescued().unwrap().len(), 1, "and is kept once");
}

#[test]
fn the_next_guest_finds_nothing_of_the_last_one() {
    let nest = Nest::new();
    for site in nest.both() {
        let workspace = site.prepare(&site.request(1, "a")).unwrap();
        let sub = workspace.directory.join(SUB);
        fs::write(sub.join("left.txt"), "x").unwrap();
        fs::create_dir(sub.join("out")).unwrap();
        fs::write(sub.join("out/left"), "x").unwrap();
        fs::write(sub.join("lib.txt"), "changed").unwrap();
        commit_all(&sub, "own");
        git(&sub, &["tag", "mine"]);
        git(&sub, &["config", "core.hooksPath", "/nowhere"]);
        fs::remove_file(sub.join(".gitignore")).unwrap();
        fs::create_dir(sub.join("repo")).unwrap();
        git(&sub.join("repo"), &["init", "-q", "."]);
        let again = site.prepare(&site.request(1, "b")).unwrap();
        assert_eq!(again.directory, workspace.directory);
        assert_eq!(git(&sub, &["status", "--porcelain", "--ignored"]), "");
        assert_eq!(git(&sub, &["log", "--format=%s"]), "v2\nv1");
        assert_eq!(git(&sub, &["tag", "--list"]), "v1\nv2");
        assert!(!git(&sub, &["config", "--list", "--local"]).contains("hookspath"));
        assert!(site.collect(&site.request(1, "b"), &again).unwrap().is_none());
        fs::remove_dir_all(&sub).unwrap();
        symlink("/", &sub).unwrap();
        site.prepare(&site.request(1, "c")).unwrap();
        assert_eq!(read(sub.join("lib.txt")), "v2\n");
        fs::remove_file(sub.join(".git")).unwrap();
        git(&sub, &["init", "-q", "."]);
        site.prepare(&site.request(1, "d")).unwrap();
        assert_eq!(git(&sub, &["describe", "--tags"]), "v2");
    }
}

#[test]
fn one_that_is_not_initialised_is_an_empty_folder_and_told_once() {
    let nest = Nest::new();
    nest.git(&["submodule", "--quiet", "deinit", SUB]);
    fs::rename(nest.module(), nest.repo.with_file_name("away")).unwrap();
    let site = nest.worktrees();
    for name in ["one", "two"] {
        let request = request(1, name);
        let workspace = site.prepare(&request).unwrap();
        assert_eq!(fs::read_dir(workspace.directory.join(SUB)).unwrap().count(), 0);
        assert!(site.collect(&request, &workspace).unwrap().is_none());
    }
    let notices = site.notices();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].starts_with("the submodule libs/sub is not initialised here"), "{notices:?}");
    fs::rename(nest.repo.with_file_name("away"), nest.module()).unwrap();
    let workspace = site.prepare(&request(1, "three")).unwrap();
    assert_eq!(read(workspace.directory.join(SUB).join("lib.txt")), "v2\n");
    let missing = "1234567890123456789012345678901234567890";
    nest.git(&["update-index", "--cacheinfo", &format!("160000,{missing},{SUB}")]);
    nest.git(&["commit", "-q", "-m", "not fetched"]);
    nest.git(&["update-ref", "refs/heads/conductor/r1", "HEAD"]);
    let workspace = site.prepare(&request(1, "four")).unwrap();
    assert_eq!(fs::read_dir(workspace.directory.join(SUB)).unwrap().count(), 0);
    assert!(site.notices()[0].contains("libs/sub has not been brought to its commit here"));
}

/// What an attempt does in a submodule it fetched by itself has nowhere to land, and is kept.
#[test]
fn one_that_a_guest_filled_is_kept_if_it_was_changed() {
    let nest = Nest::new();
    nest.git(&["submodule", "--quiet", "deinit", SUB]);
    fs::remove_dir_all(nest.module()).unwrap();
    let site = nest.worktrees();
    let request = request(1, "fills");
    let workspace = site.prepare(&request).unwrap();
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git(&workspace.directory, &update);
    assert!(site.collect(&request, &workspace).unwrap().is_none());
    assert!(site.run_repo.rescued().unwrap().is_empty(), "just what is recorded");
    fs::write(workspace.directory.join(SUB).join("work.txt"), "work").unwrap();
    assert!(site.collect(&request, &workspace).unwrap().is_none());
    let rescued = site.run_repo.rescued().unwrap();
    assert_eq!(rescued.len(), 1);
    assert_eq!(nest.git(&["show", &format!("{}:work.txt", rescued[0].1)]), "work");
    assert!(site.notices().last().unwrap().contains(&rescued[0].0));
    let workspace = site.prepare(&site.request(1, "next")).unwrap();
    assert_eq!(fs::read_dir(workspace.directory.join(SUB)).unwrap().count(), 0);
}

/// Everything by which git in a submodule, or git looking into it, could be made to run a program.
#[test]
fn nothing_planted_in_a_submodule_fires() {
    let nest = Nest::new();
    let loose = nest.repo.join("loose");
    fs::create_dir(&loose).unwrap();
    make_origin(&loose);
    nest.git(&["-c", "advice.addEmbeddedRepo=false", "add", "loose"]);
    nest.git(&["commit", "-q", "-m", "a repository that .gitmodules does not name"]);
    let (script, fired) = trap(&nest.repo.join(".git"));
    let script = script.display().to_string();
    let plant = |folder: &Path, git: &Path| {
        fs::create_dir_all(git.join("hooks")).unwrap();
        for hook in ["post-checkout", "post-index-change", "reference-transaction", "pre-commit"] {
            symlink(&script, git.join("hooks").join(hook)).unwrap();
        }
        fs::write(folder.join(".gitattributes"), "* filter=evil diff=evil merge=evil\n").unwrap();
        fs::write(folder.join("lib.txt"), "changed\n").unwrap();
        for key in [
            "core.fsmonitor",
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "diff.evil.textconv",
            "diff.external",
            "core.sshCommand",
            "core.alternateRefsCommand",
            "uploadpack.packObjectsHook",
        ] {
            let _ = Command::new("git")
                .args(["config", "--file"])
                .arg(git.join("config"))
                .args([key, &script])
                .output();
        }
    };
    for site in nest.both() {
        let (one, two) = (site.request(1, "one"), site.request(2, "two"));
        let workspaces = [&one, &two].map(|request| site.prepare(request).unwrap());
        for (number, workspace) in workspaces.iter().enumerate() {
            let sub = workspace.directory.join(SUB);
            let pointer = read(sub.join(".git"));
            plant(&sub, Path::new(pointer.trim().strip_prefix("gitdir: ").unwrap()));
            fs::write(sub.join("who"), format!("{number} {}", site.private)).unwrap();
            let loose = workspace.directory.join("loose");
            git(&loose, &["init", "-q", "."]);
            plant(&loose, &loose.join(".git"));
            site.run_repo.snapshot_of(&[&one, &two][number].workspace_name()).unwrap();
        }
        for (request, workspace) in [(&one, &workspaces[0]), (&two, &workspaces[1])] {
            let change = site.collect(request, workspace).unwrap().unwrap();
            let _ = site.land(&task("t"), &change);
        }
        site.rescue(&two).unwrap();
        site.prepare(&one).unwrap();
        assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
        let sub = workspaces[1].directory.join(SUB);
        let _ = Command::new("git").args(["add", "-A"]).current_dir(&sub).output();
        assert_ne!(fs::read_to_string(&fired).unwrap_or_default(), "", "git as it is does fire them");
        fs::remove_file(&fired).unwrap();
        site.run_repo.clear(&HashSet::new()).unwrap();
        assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
    }
    // In the user's own submodule, as if in all of its files something had changed.
    fs::write(nest.module().join("info/attributes"), "* filter=evil\n").unwrap();
    let config = nest.module().join("config");
    for key in ["filter.evil.clean", "filter.evil.smudge", "core.fsmonitor"] {
        git(&nest.repo, &["config", "--file", config.to_str().unwrap(), key, &script]);
    }
    fs::write(nest.repo.join(SUB).join("lib.txt"), "v2\n").unwrap();
    let site = nest.worktrees();
    let ended = merge::bring_home(&site.run_repo, true, true).unwrap();
    assert!(matches!(ended, Ending::Merged { .. }), "{ended:?}");
    assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
}

/// A workspace that a process is still in is put aside with its submodules; their work is saved at the end.
#[test]
fn a_workspace_put_aside_keeps_what_belongs_to_its_submodules() {
    let nest = Nest::new();
    let site = nest.worktrees();
    let workspace = site.prepare(&request(1, "stays")).unwrap();
    let sub = workspace.directory.join(SUB);
    fs::write(sub.join("own.txt"), "own").unwrap();
    commit_all(&sub, "own");
    let mut sits = Command::new("sleep").arg("600").current_dir(&sub).spawn().unwrap();
    let next = site.prepare(&request(1, "next")).unwrap();
    assert_eq!(next.directory, workspace.directory);
    assert!(!sub.join("own.txt").exists());
    sits.kill().unwrap();
    sits.wait().unwrap();
    site.run_repo.clear(&HashSet::new()).unwrap();
    let rescued = site.run_repo.rescued().unwrap();
    assert_eq!(rescued.len(), 1, "{rescued:?}");
    let kept = nest.recorded(&rescued[0].0);
    assert_eq!(nest.in_module(&["log", "-1", "--format=%s", &kept]), "own");
    assert_eq!(nest.in_module(&["rev-parse", &rescued[0].0]), kept);
}

#[test]
fn both_sides_changing_one_submodule_is_a_conflict_that_can_be_mended_or_decided() {
    let nest = Nest::new();
    let site = nest.worktrees();
    let (one, mut two) = (request(1, "one"), request(2, "two"));
    let workspaces = [&one, &two].map(|request| site.prepare(request).unwrap());
    for (workspace, text) in workspaces.iter().zip(["one", "two"]) {
        let sub = workspace.directory.join(SUB);
        fs::write(sub.join(format!("{text}.txt")), text).unwrap();
        commit_all(&sub, text);
    }
    site.land(&task("one"), &site.collect(&one, &workspaces[0]).unwrap().unwrap()).unwrap();
    let change = site.collect(&two, &workspaces[1]).unwrap().unwrap();
    let failure = site.merge(&task("two"), &change).unwrap_err();
    assert_eq!(failure.message, "conflicts with what landed meanwhile in libs/sub");
    assert!(failure.evidence.contains("CONFLICT (submodule)"), "{}", failure.evidence);
    for (side, expected) in [(Side::Ours, "conductor/r1"), (Side::Theirs, change.commit.as_str())] {
        let (_, to) = site.merge_for(&task("two"), &change, Some(side)).unwrap();
        assert_eq!(nest.recorded(&to), nest.recorded(expected));
    }
    two.round = Some((1, Round { change, failure }));
    let workspace = site.prepare(&two).unwrap();
    let sub = workspace.directory.join(SUB);
    assert_eq!(read(sub.join("one.txt")), "one", "it finds what landed");
    git(&sub, &["merge", "-q", "-m", "both", "refs/conductor/r1/two"]);
    site.land(&task("two"), &site.collect(&two, &workspace).unwrap().unwrap()).unwrap();
    let now = nest.recorded("conductor/r1");
    assert_eq!(nest.in_module(&["show", &format!("{now}:one.txt")]), "one");
    assert_eq!(nest.in_module(&["show", &format!("{now}:two.txt")]), "two");
}

#[test]
fn work_that_goes_back_finds_its_submodule_as_it_left_it() {
    let nest = Nest::new();
    let site = nest.worktrees();
    let mut again = request(1, "again");
    let workspace = site.prepare(&again).unwrap();
    let sub = workspace.directory.join(SUB);
    fs::write(sub.join("first.txt"), "first").unwrap();
    commit_all(&sub, "first");
    fs::write(workspace.directory.join("top.txt"), "top").unwrap();
    let change = site.collect(&again, &workspace).unwrap().unwrap();
    fs::write(sub.join("later.txt"), "never collected").unwrap();
    let failure = Failure::new(conductor_core::run::event::FailureClass::Unverified, "red");
    again.round = Some((1, Round { change, failure }));
    let workspace = site.prepare(&again).unwrap();
    assert_eq!(read(sub.join("first.txt")), "first");
    assert!(!sub.join("later.txt").exists());
    assert_eq!(git(&sub, &["log", "-1", "--format=%s"]), "first");
    assert_eq!(git(&workspace.directory, &["status", "--porcelain", "--", SUB]), "M libs/sub");
    let change = site.collect(&again, &workspace).unwrap().unwrap();
    site.land(&task("again"), &change).unwrap();
    let now = nest.recorded("conductor/r1");
    assert_eq!(nest.in_module(&["show", &format!("{now}:first.txt")]), "first");
}

/// What may become of a submodule, and what is in the tree then.
#[test]
fn a_submodule_taken_away_moved_or_turned_into_files_is_that() {
    let nest = Nest::new();
    let site = nest.worktrees();
    let change = |name: &str, work: &dyn Fn(&Path)| {
        let request = request(1, name);
        let workspace = site.prepare(&request).unwrap();
        work(&workspace.directory);
        site.collect(&request, &workspace).unwrap().map(|change| change.commit)
    };
    let entries = |commit: &str| nest.git(&["ls-tree", "-r", "--format=%(objecttype) %(path)", commit]);
    let gone = change("gone", &|dir| fs::remove_dir_all(dir.join(SUB)).unwrap()).unwrap();
    assert!(!entries(&gone).contains(SUB));
    let moved = change("moved", &|dir| {
        git(dir, &["mv", SUB, "libs/elsewhere"]);
        site.collect(&request(1, "moved"), &seat_at(&site, dir)).unwrap().unwrap();
        fs::write(dir.join("libs/elsewhere/lib.txt"), "v3\n").unwrap();
    });
    let moved = moved.unwrap();
    assert!(entries(&moved).contains("commit libs/elsewhere"), "{}", entries(&moved));
    assert!(!entries(&moved).contains(SUB), "{}", entries(&moved));
    let now = nest.git(&["rev-parse", &format!("{moved}:libs/elsewhere")]);
    assert_eq!(nest.in_module(&["show", &format!("{now}:lib.txt")]), "v3");
    let files = change("files", &|dir| {
        git(dir, &["rm", "-q", "--cached", SUB]);
        fs::write(dir.join(".gitmodules"), "").unwrap();
        fs::remove_file(dir.join(SUB).join(".git")).unwrap();
    });
    assert!(entries(&files.unwrap()).contains("blob libs/sub/lib.txt"));
    let one_file = change("one-file", &|dir| {
        fs::remove_dir_all(dir.join(SUB)).unwrap();
        fs::write(dir.join(SUB), "x").unwrap();
    });
    assert!(entries(&one_file.unwrap()).contains("blob libs/sub"));
    let linked = change("linked", &|dir| {
        fs::remove_dir_all(dir.join("libs")).unwrap();
        symlink("/", dir.join("libs")).unwrap();
    });
    assert!(entries(&linked.unwrap()).ends_with("blob libs\nblob src/a.txt"));
    let without_git = change("without-git", &|dir| {
        fs::remove_file(dir.join(SUB).join(".git")).unwrap();
        fs::write(dir.join(SUB).join("lib.txt"), "v4\n").unwrap();
    });
    let now = nest.recorded(&without_git.unwrap());
    assert_eq!(nest.in_module(&["show", &format!("{now}:lib.txt")]), "v4");
    assert!(change("deinit", &|dir| drop(git(dir, &["submodule", "deinit", "-f", SUB]))).is_none());
    let older = change("older", &|dir| drop(git(&dir.join(SUB), &["checkout", "-q", "v1"])));
    assert_eq!(nest.recorded(&older.unwrap()), nest.in_module(&["rev-parse", "v1"]));
    land(&site, 1, "lands", |dir| fs::remove_dir_all(dir.join(SUB)).unwrap()).unwrap();
    let workspace = site.prepare(&request(1, "after")).unwrap();
    assert!(!workspace.directory.join("libs").exists());
}

#[test]
fn a_submodule_in_a_submodule_is_the_same_a_level_deeper() {
    let nest = Nest::new();
    let deep = nest.repo.with_file_name("deep");
    make_origin(&deep);
    add_submodule(&nest.origin, &deep, "inner");
    let allow = ["-c", "protocol.file.allow=always"];
    nest.in_module(&["pull", "-q"]);
    nest.in_module(&[&allow, &["submodule", "--quiet", "update", "--init"][..]].concat());
    nest.git(&["commit", "-q", "-a", "-m", "with an inner one"]);
    let before = nest.checkout();
    for site in nest.both() {
        let name = if site.private { "clone" } else { "tree" };
        land(&site, 1, name, |dir| {
            let inner = dir.join(SUB).join("inner");
            assert_eq!(read(inner.join("lib.txt")), if site.private { "tree" } else { "v2\n" });
            assert_eq!(git(dir, &["status", "--porcelain"]), "");
            fs::write(inner.join("lib.txt"), name).unwrap();
        })
        .unwrap();
        let middle = nest.recorded("conductor/r1");
        let inner = nest.in_module(&["rev-parse", &format!("{middle}:inner")]);
        let deepest = nest.repo.join(SUB).join("inner");
        assert_eq!(git(&deepest, &["show", &format!("{inner}:lib.txt")]), name);
        assert_eq!(git(&deepest, &["rev-parse", &format!("refs/conductor/r1/{name}")]), inner);
    }
    assert_eq!(nest.checkout(), before);
}

/// In a linked worktree of the user's, git keeps submodules of its own.
#[test]
fn a_run_in_a_linked_worktree_finds_the_submodules_there() {
    let nest = Nest::new();
    let linked = nest.repo.with_file_name("linked");
    nest.git(&["worktree", "add", "-q", "-b", "other", linked.to_str().unwrap()]);
    let update = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init"];
    git(&linked, &update);
    fs::remove_dir_all(nest.module()).unwrap();
    let lab = Lab { repo: linked, state: nest.state.clone(), _dir: tempfile::tempdir().unwrap() };
    let site = lab.worktrees();
    land(&site, 1, "works", |dir| fs::write(dir.join(SUB).join("lib.txt"), "v3\n").unwrap()).unwrap();
    let now = lab.git(&["rev-parse", &format!("conductor/r1:{SUB}")]);
    assert_eq!(git(&lab.repo.join(SUB), &["show", &format!("{now}:lib.txt")]), "v3");
}

/// The agent whose work landed chose the names in `.gitmodules`.
#[test]
fn a_name_that_leads_elsewhere_is_not_followed() {
    let nest = Nest::new();
    let site = nest.worktrees();
    land(&site, 1, "renames", |dir| {
        let text = read(dir.join(".gitmodules"));
        let text = text.replace("[submodule \"libs/sub\"]", "[submodule \"../../../origin/.git\"]");
        fs::write(dir.join(".gitmodules"), text).unwrap();
    })
    .unwrap();
    let workspace = site.prepare(&request(1, "next")).unwrap();
    assert_eq!(fs::read_dir(workspace.directory.join(SUB)).unwrap().count(), 0);
    assert_eq!(git(&nest.origin, &["for-each-ref", "refs/conductor"]), "");
}

#[test]
fn a_submodule_whose_history_was_cut_off_is_enough() {
    let nest = Nest::new();
    let cut = nest.repo.with_file_name("cut");
    let from = format!("file://{}", nest.repo.display());
    let allow = ["-c", "protocol.file.allow=always"];
    let clone = ["clone", "-q", "--depth=1", "--recurse-submodules", "--shallow-submodules", &from];
    git(nest.state.parent().unwrap(), &[&allow, &clone[..], &[cut.to_str().unwrap()]].concat());
    let lab = Lab { repo: cut, state: nest.state.clone(), _dir: tempfile::tempdir().unwrap() };
    let module = lab.repo.join(".git/modules").join(SUB);
    assert!(lab.repo.join(".git/shallow").exists());
    fs::write(module.join("shallow"), format!("{}\n", nest.recorded("HEAD"))).unwrap();
    for site in lab.both() {
        let (one, two) = (site.request(1, "one"), site.request(2, "two"));
        let workspaces = [&one, &two].map(|request| site.prepare(request).unwrap());
        let text = if site.private { "clone" } else { "tree" };
        fs::write(workspaces[0].directory.join(SUB).join("lib.txt"), text).unwrap();
        commit_all(&workspaces[0].directory.join(SUB), "one");
        fs::write(workspaces[1].directory.join("two.txt"), text).unwrap();
        for (request, workspace) in [(&one, &workspaces[0]), (&two, &workspaces[1])] {
            assert_eq!(git(&workspace.directory, &["log", "--format=%s", "-1"]).lines().count(), 1);
            let change = site.collect(request, workspace).unwrap().unwrap();
            site.land(&task("t"), &change).unwrap();
        }
        let now = lab.git(&["rev-parse", &format!("conductor/r1:{SUB}")]);
        assert_eq!(git(&lab.repo.join(SUB), &["show", &format!("{now}:lib.txt")]), text);
    }
}

/// Git puts the history of an added submodule into the git directory of the workspace, which is removed.
#[test]
fn the_history_of_a_submodule_that_an_agent_adds_is_kept() {
    let nest = Nest::new();
    for (number, site) in nest.both().enumerate() {
        let path = format!("added{number}");
        land(&site, 1, &format!("t{number}"), |dir| {
            add_submodule(dir, &nest.origin, &path);
            fs::write(dir.join(&path).join("own.txt"), "own").unwrap();
            git(&dir.join(&path), &["config", "user.name", "Agent"]);
            git(&dir.join(&path), &["config", "user.email", "agent@localhost"]);
            commit_all(&dir.join(&path), "a commit that only the agent has");
        })
        .unwrap();
        assert_eq!(nest.git(&["show", &format!("conductor/r1:{path}/own.txt")]), "own");
        let notice = site.notices().into_iter().find(|notice| notice.contains(&path)).unwrap();
        assert!(notice.contains("was added as a submodule"), "{notice}");
        site.run_repo.clear(&HashSet::new()).unwrap();
        let kept = PathBuf::from(notice.rsplit(", in ").next().unwrap());
        let again = nest.origin.with_file_name(format!("again{number}"));
        git(&nest.repo, &["clone", "-q", kept.to_str().unwrap(), again.to_str().unwrap()]);
        assert_eq!(git(&again, &["log", "-1", "--format=%s"]), "a commit that only the agent has");
    }
}
