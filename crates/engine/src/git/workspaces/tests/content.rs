//! What lands is what the user's own git would have stored, by its configuration at the run's start and by no other.

use super::*;

/// A filter that turns letters round; both ways it is the same.
const TURN: &str = "#!/bin/sh\ntr 'a-zA-Z' 'n-za-mN-ZA-M'\n";

fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Lab {
    fn commit(&self, files: &[(&str, &str)]) {
        for (name, text) in files {
            fs::write(self.repo.join(name), text).unwrap();
        }
        commit_all(&self.repo, "more");
    }

    /// What `git add` of the user's own git makes of these files.
    fn added(&self, files: &[(&str, &str)]) -> Vec<String> {
        let clone = self.repo.with_file_name("plain");
        let _ = fs::remove_dir_all(&clone);
        let copied = Command::new("cp").arg("-a").args([&self.repo, &clone]).status().unwrap();
        assert!(copied.success());
        for (name, text) in files {
            fs::write(clone.join(name), text).unwrap();
        }
        git(&clone, &["add", "."]);
        files.iter().map(|(name, _)| git(&clone, &["rev-parse", &format!(":{name}")])).collect()
    }

    fn landed(&self, file: &str) -> String {
        self.git(&["rev-parse", &format!("conductor/r1:{file}")])
    }

    fn raw(&self, file: &str) -> Vec<u8> {
        let show = ["cat-file", "blob", &format!("conductor/r1:{file}")].map(str::to_owned);
        Command::new("git").args(show).current_dir(&self.repo).output().unwrap().stdout
    }

    /// Lands these files from a workspace of each kind, and holds them against what the user's git makes of them.
    fn lands_as_git_adds(&self, files: &[(&str, &str)], seen: &[(&str, &str)]) {
        let expected = self.added(files);
        for site in self.both() {
            let name = if site.private { "private" } else { "linked" };
            land(&site, 1, name, |dir| {
                for (name, text) in seen {
                    assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), *text, "{name}");
                }
                assert_eq!(git(dir, &["status", "--porcelain"]), "", "{name}");
                for (name, text) in files {
                    fs::write(dir.join(name), text).unwrap();
                }
                fs::write(dir.join(name), "by").unwrap();
            })
            .unwrap();
            let landed: Vec<String> = files.iter().map(|(name, _)| self.landed(name)).collect();
            assert_eq!(landed, expected, "{files:?}, {name}");
            let again = site.prepare(&site.request(2, "again")).unwrap();
            assert!(
                site.collect(&site.request(2, "again"), &again).unwrap().is_none(),
                "nothing done is no change"
            );
            self.git(&["update-ref", "refs/heads/conductor/r1", "main"]);
            let _ = fs::remove_dir_all(self.state.join("runs/r1/workspaces"));
            self.git(&["worktree", "prune"]);
        }
    }
}

#[test]
fn line_ends_are_stored_as_the_users_git_stores_them() {
    let files = [
        ("crlf.txt", "one\r\ntwo\r\n"),
        ("lf.txt", "one\ntwo\n"),
        ("bin.dat", "\0\r\n"),
        ("src/a.txt", "x\r\n"),
    ];
    for (settings, attributes) in [
        (vec![("core.autocrlf", "true")], ""),
        (vec![("core.autocrlf", "input")], ""),
        (vec![("core.eol", "crlf")], "* text=auto\n"),
        (vec![], "* text=auto eol=crlf\n"),
        (vec![], "*.txt text\n*.dat binary\n"),
        (vec![("core.autocrlf", "false")], ""),
    ] {
        let lab = Lab::new();
        for (key, value) in &settings {
            lab.git(&["config", key, value]);
        }
        lab.commit(&[(".gitattributes", attributes)]);
        lab.git(&["checkout", "-q", "--", "."]);
        lab.lands_as_git_adds(&files, &[]);
    }
}

#[test]
fn attributes_of_the_user_and_of_the_repository_count_and_planted_ones_do_not() {
    let lab = Lab::new();
    let own = lab.repo.with_file_name("attributes");
    fs::write(&own, "*.txt text").unwrap();
    lab.git(&["config", "core.attributesFile", own.to_str().unwrap()]);
    fs::write(lab.repo.join(".git/info/attributes"), "raw.txt -text\n").unwrap();
    lab.lands_as_git_adds(&[("a.txt", "x\r\n"), ("raw.txt", "x\r\n"), ("b.dat", "x\r\n")], &[]);
    let site = lab.worktrees();
    land(&site, 1, "plants", |dir| {
        fs::write(lab.repo.join(".git/info/attributes"), "* -text\n").unwrap();
        fs::write(&own, "").unwrap();
        fs::write(dir.join("c.txt"), "x\r\n").unwrap();
    })
    .unwrap();
    assert_eq!(lab.raw("c.txt"), b"x\n");
}

#[test]
fn required_filters_run_both_ways_wherever_their_program_is() {
    for inside in [false, true] {
        let lab = Lab::new();
        let command = match inside {
            true => "tools/turn.sh".to_owned(),
            false => lab.repo.with_file_name("turn.sh").display().to_string(),
        };
        script(&lab.repo.join(&command), TURN);
        for key in ["clean", "smudge"] {
            lab.git(&["config", &format!("filter.turn.{key}"), &format!("{command} %f")]);
        }
        lab.git(&["config", "filter.turn.required", "true"]);
        lab.commit(&[(".gitattributes", "*.key filter=turn\n"), ("a.key", "secret\n")]);
        assert_eq!(lab.git(&["show", "main:a.key"]), "frperg");
        lab.lands_as_git_adds(&[("a.key", "changed\n"), ("b.key", "other\n")], &[("a.key", "secret\n")]);
    }
}

/// A filter that is a file of the checkout, or imports from where it runs, is not what an agent made of it.
#[test]
fn a_filters_program_is_what_it_was_when_the_run_started() {
    let lab = Lab::new();
    let (planted, fired) = trap(&lab.repo.join(".git"));
    script(&lab.repo.join("tools/turn.sh"), TURN);
    for (key, command) in
        [("clean", "tools/turn.sh"), ("smudge", "sh \"$(git rev-parse --show-toplevel)/tools/turn.sh\"")]
    {
        lab.git(&["config", &format!("filter.turn.{key}"), command]);
    }
    lab.commit(&[(".gitattributes", "*.key filter=turn\n"), ("a.key", "secret\n")]);
    let site = lab.worktrees();
    land(&site, 1, "plants", |dir| {
        for folder in [dir, lab.repo.as_path()] {
            fs::copy(&planted, folder.join("tools/turn.sh")).unwrap();
        }
        fs::write(dir.join("a.key"), "changed\n").unwrap();
    })
    .unwrap();
    let next = site.prepare(&request(2, "next")).unwrap();
    assert_eq!(fs::read_to_string(next.directory.join("a.key")).unwrap(), "changed\n");
    assert_eq!(lab.raw("a.key"), b"punatrq\n");
    assert!(!fired.exists());
}

#[test]
fn secrets_of_git_crypt_land_encrypted_as_git_itself_encrypts_them() {
    let lab = Lab::new();
    let init = Command::new("git-crypt").arg("init").current_dir(&lab.repo).output();
    if !init.is_ok_and(|output| output.status.success()) {
        eprintln!("\n*** SKIPPED: git-crypt is not installed ***\n");
        return;
    }
    lab.commit(&[
        (".gitattributes", "*.secret filter=git-crypt diff=git-crypt\n"),
        ("a.secret", "plain words\n"),
    ]);
    lab.lands_as_git_adds(
        &[("a.secret", "other words\n"), ("b.secret", "more\n")],
        &[("a.secret", "plain words\n")],
    );
    let site = lab.clones();
    land(&site, 1, "commits", |dir| {
        fs::write(dir.join("c.secret"), "own words\n").unwrap();
        commit_all(dir, "own");
        assert!(git(dir, &["rev-parse", "HEAD:c.secret"]).len() >= 40);
    })
    .unwrap();
    assert!(lab.raw("c.secret").starts_with(b"\0GITCRYPT\0"));
    let history = lab.git(&["log", "--format=%H", "conductor/r1"]);
    for commit in history.lines() {
        let file = format!("{commit}:c.secret");
        let shown =
            Command::new("git").args(["cat-file", "blob", &file]).current_dir(&lab.repo).output().unwrap();
        assert!(!shown.stdout.starts_with(b"own"), "in plain text at {commit}");
    }
    let site = lab.worktrees();
    land(&site, 3, "adds", |dir| {
        fs::write(dir.join("d.secret"), "linked words\n").unwrap();
        git(dir, &["add", "d.secret"]);
        git(dir, &["commit", "-q", "-m", "own"]);
    })
    .unwrap();
    assert!(lab.raw("d.secret").starts_with(b"\0GITCRYPT\0"));
}

/// A long-running filter in git's own language of packets, which turns letters to the other case both ways.
const SPOKEN_TO: &str = r#"
import sys
i, o = sys.stdin.buffer, sys.stdout.buffer
def read():
    n = i.read(4)
    if len(n) < 4: sys.exit(0)
    n = int(n, 16)
    return i.read(n - 4) if n else None
def lines():
    found = []
    while (part := read()) is not None: found.append(part.rstrip(b"\n"))
    return found
def write(*parts):
    for part in parts: o.write(b"%04x" % (len(part) + 4) + part)
    o.write(b"0000"); o.flush()
lines(); write(b"git-filter-server\n", b"version=2\n")
lines(); write(b"capability=clean\n", b"capability=smudge\n")
while True:
    lines()
    content = b"".join(iter(read, None)).swapcase()
    write(b"status=success\n")
    write(*[content[at:at + 60000] for at in range(0, len(content), 60000)])
    write()
"#;

#[test]
fn a_filter_that_is_spoken_to_by_git_runs_too() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("\n*** SKIPPED: python3 is not installed ***\n");
        return;
    }
    let lab = Lab::new();
    let program = lab.repo.with_file_name("spoken.py");
    fs::write(&program, SPOKEN_TO).unwrap();
    lab.git(&["config", "filter.case.process", &format!("python3 {}", program.display())]);
    lab.git(&["config", "filter.case.required", "true"]);
    lab.commit(&[(".gitattributes", "*.case filter=case -text\n"), ("a.case", "small\n")]);
    assert_eq!(lab.git(&["show", "main:a.case"]), "SMALL");
    let content = "x".repeat(100_000);
    lab.lands_as_git_adds(&[("a.case", &content), ("b.case", "y\n")], &[("a.case", "small\n")]);
}

#[test]
fn what_a_required_filter_fails_for_is_never_stored_and_the_rest_is_kept() {
    let lab = Lab::new();
    let broken = lab.repo.with_file_name("broken");
    let command = format!("test ! -e {} && tr a-z n-za-m", broken.display());
    for key in ["clean", "smudge"] {
        lab.git(&["config", &format!("filter.turn.{key}"), &command]);
    }
    lab.git(&["config", "filter.turn.required", "true"]);
    lab.commit(&[(".gitattributes", "*.key filter=turn\n"), ("a.key", "secret\n")]);
    for site in lab.both() {
        let request = site.request(1, if site.private { "clone" } else { "linked" });
        let workspace = site.prepare(&request).unwrap();
        fs::write(&broken, "").unwrap();
        fs::write(workspace.directory.join("b.key"), "verysecret\n").unwrap();
        fs::write(workspace.directory.join("work.txt"), "work").unwrap();
        let error = site.collect(&request, &workspace).unwrap_err().to_string();
        assert!(error.contains("git's filter 'turn' failed for "), "{error}");
        let kept = site.rescue(&request).unwrap().unwrap();
        assert_eq!(lab.git(&["show", &format!("{}:work.txt", kept.name)]), "work");
        let told = site.notices();
        assert!(
            told.iter().any(|told| told.contains("b.key") && told.contains("stays in its workspace")),
            "{told:?}"
        );
        let hash = git(
            &lab.repo,
            &["hash-object", "--no-filters", workspace.directory.join("b.key").to_str().unwrap()],
        );
        let there =
            Command::new("git").args(["cat-file", "-e", &hash]).current_dir(&lab.repo).output().unwrap();
        assert!(!there.status.success(), "the plain text is in the repository");
        let left = site.run_repo.clear(&HashSet::new()).unwrap();
        assert!(
            left.iter().any(|folder| folder.join("b.key").exists()),
            "it is still in its folder: {left:?}"
        );
        fs::remove_file(&broken).unwrap();
        site.run_repo.clear(&HashSet::new()).unwrap();
    }
}

#[test]
fn a_filter_that_agents_can_write_to_is_refused_with_the_reason() {
    let lab = Lab::new();
    let inside = lab.repo.join(".git/turn.sh");
    script(&inside, TURN);
    for key in ["clean", "smudge"] {
        lab.git(&["config", &format!("filter.turn.{key}"), inside.to_str().unwrap()]);
    }
    lab.commit(&[(".gitattributes", "*.key filter=turn\n"), ("a.key", "secret\n")]);
    let content = Repository::of(&lab.repo).unwrap().content().unwrap();
    assert_eq!(content.refused[0].filter, "turn");
    for site in lab.both() {
        let request = site.request(1, if site.private { "clone" } else { "linked" });
        let workspace = site.prepare(&request).unwrap();
        assert_eq!(
            fs::read_to_string(workspace.directory.join("a.key")).unwrap(),
            "frperg\n",
            "as it is stored"
        );
        fs::write(workspace.directory.join("other.txt"), "x").unwrap();
        assert!(site.collect(&request, &workspace).unwrap().is_some(), "work elsewhere is good");
        fs::write(workspace.directory.join("a.key"), "plain\n").unwrap();
        let error = site.collect(&request, &workspace).unwrap_err().to_string();
        assert!(error.contains("a.key: git's filter 'turn' cannot be run safely"), "{error}");
        assert!(site.rescue(&request).unwrap().is_some());
    }
}

/// A2: what the user ignores is not collected, wherever they say it; what an agent has ignored is.
#[test]
fn what_the_user_ignores_outside_of_the_tree_is_not_collected_and_planted_patterns_hide_nothing() {
    let lab = Lab::new();
    let own = lab.repo.with_file_name("ignored");
    fs::write(&own, "*.log").unwrap();
    lab.git(&["config", "core.excludesFile", own.to_str().unwrap()]);
    fs::create_dir_all(lab.repo.join(".git/info")).unwrap();
    fs::write(lab.repo.join(".git/info/exclude"), ".env\n!keep.log\n").unwrap();
    for site in lab.both() {
        let name = if site.private { "private" } else { "linked" };
        land(&site, 1, name, |dir| {
            for file in [".env", "a.log", "keep.log", "work.txt"] {
                fs::write(dir.join(file), name).unwrap();
            }
            let seen = git(dir, &["status", "--porcelain", "--untracked-files=all"]);
            assert_eq!(seen.lines().count(), 2, "the agent sees the same: {seen}");
            fs::write(lab.repo.join(".git/info/exclude"), "*\n").unwrap();
            fs::write(&own, "*\n").unwrap();
        })
        .unwrap();
        let files = lab.git(&["ls-tree", "-r", "--name-only", "conductor/r1"]);
        assert_eq!(files, ".gitignore\nkeep.log\nsrc/a.txt\nwork.txt", "{name}");
        assert_eq!(lab.git(&["show", "conductor/r1:work.txt"]), name);
    }
}

#[test]
fn a_kept_folder_that_only_the_user_ignores_stays_and_is_not_collected() {
    let lab = Lab::new();
    fs::create_dir_all(lab.repo.join(".git/info")).unwrap();
    fs::write(lab.repo.join(".git/info/exclude"), "cache\n").unwrap();
    fs::write(lab.repo.join(".worktreeinclude"), "cache\n").unwrap();
    fs::create_dir(lab.repo.join("cache")).unwrap();
    fs::write(lab.repo.join("cache/mine"), "x").unwrap();
    let site = lab.site(false, &["cache"], None);
    let first = site.prepare(&request(1, "first")).unwrap();
    assert_eq!(fs::read_to_string(first.directory.join("cache/mine")).unwrap(), "x", "{:?}", site.notices());
    fs::write(first.directory.join("cache/big"), "x").unwrap();
    assert!(site.collect(&request(1, "first"), &first).unwrap().is_none());
    let second = site.prepare(&request(1, "second")).unwrap();
    assert!(second.directory.join("cache/big").exists());
    assert!(site.collect(&request(1, "second"), &second).unwrap().is_none());
}

/// A9: planted before the coordinator is killed; the one that takes the run up goes by what was.
#[test]
fn nothing_planted_before_a_kill_fires_when_the_run_is_taken_up() {
    let lab = Lab::new();
    lab.git(&["config", "filter.own.clean", "cat"]);
    lab.git(&["config", "filter.own.smudge", "cat"]);
    lab.commit(&[(".gitattributes", "*.own filter=own\n"), ("a.own", "x\n")]);
    let (planted, fired) = trap(&lab.repo.join(".git"));
    let planted = planted.display().to_string();
    let repository = Repository::of(&lab.repo).unwrap();
    let site = lab.worktrees();
    let cut = request(1, "cut");
    let workspace = site.prepare(&cut).unwrap();
    fs::write(workspace.directory.join(".gitattributes"), "* filter=evil\n*.own filter=own\n").unwrap();
    fs::write(workspace.directory.join("a.own"), "y\n").unwrap();
    for key in ["clean", "smudge", "process"] {
        for name in ["evil", "own"] {
            lab.git(&["config", &format!("filter.{name}.{key}"), &planted]);
        }
    }
    for (key, value) in [
        ("core.fsmonitor", planted.as_str()),
        ("core.hooksPath", "/dev/null"),
        ("diff.external", &planted),
        ("uploadpack.packObjectsHook", &planted),
        ("remote.evil.url", "ext::planted"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.uploadpack", &planted),
        ("protocol.ext.allow", "always"),
        ("protocol.file.allow", "always"),
        ("core.worktree", "/elsewhere"),
    ] {
        lab.git(&["config", key, value]);
    }
    fs::write(lab.repo.join(".git/info/attributes"), "* filter=evil\n").unwrap();
    fs::write(lab.repo.join(".git/info/exclude"), "*\n").unwrap();
    let link = lab.repo.join(".git/worktrees");
    let own = fs::read_dir(&link).unwrap().next().unwrap().unwrap().path().join("config.worktree");
    fs::write(&own, "[core]\n\tbare = true\n").unwrap();
    fs::remove_file(lab.repo.join(".git/index")).unwrap();
    drop(site);
    let run = RunId::parse("r1").unwrap();
    let layout = Layout::new(&lab.state, &run, &repository, &lab.repo, None);
    let run_repo = Arc::new(RunRepo::open(repository, &run, layout, Vec::new(), None).unwrap());
    let (listener, mut heard) = tokio::sync::mpsc::unbounded_channel();
    run_repo.listen(listener);
    let told = heard.try_recv().unwrap();
    for word in [
        ".git/config: filter.evil.smudge is new",
        ".git/config: filter.own.smudge was changed",
        ".git/config: core.worktree is new",
        ".git/info/attributes is new",
        "config.worktree is new",
        ".git/index is gone",
    ] {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    let workspaces = Worktrees::new(run_repo.clone());
    assert!(workspaces.rescue(&cut).unwrap().is_some());
    let next = request(2, "next");
    let workspace = workspaces.prepare(&next).unwrap();
    fs::write(workspace.directory.join("b.own"), "z\n").unwrap();
    fs::write(workspace.directory.join("work.txt"), "z\n").unwrap();
    let change = workspaces.collect(&next, &workspace).unwrap().unwrap();
    assert_eq!(change.touched.files, ["b.own", "work.txt"]);
    assert!(run_repo.repository().settings_changed());
    assert!(matches!(run_repo.repository().is_dirty(&lab.repo), Err(GitError::SettingsChanged { .. })));
    run_repo.clear(&HashSet::new()).unwrap();
    assert_eq!(fs::read_to_string(&fired).unwrap_or_default(), "", "fired");
}

#[test]
fn a_baseline_is_for_one_run_and_only_the_user_can_read_it() {
    let lab = Lab::new();
    let site = lab.worktrees();
    assert!(site.run_repo.settings_news().is_none());
    lab.git(&["config", "core.autocrlf", "true"]);
    let news = site.run_repo.settings_news().unwrap();
    assert_eq!(news.what, [".git/config: core.autocrlf is new"]);
    assert!(site.run_repo.settings_news().is_none(), "told once");
    let undo = Command::new("sh").arg("-c").arg(&news.undo[0]).current_dir(&lab.repo).status().unwrap();
    assert!(undo.success());
    assert!(!site.run_repo.repository().settings_changed(), "as it was");
    lab.git(&["config", "alias.x", "status"]);
    assert!(!site.run_repo.repository().settings_changed(), "nothing that runs over contents");
    let folder = lab.state.join("runs/r1/baseline");
    for (path, _) in files_below(&folder, &["programs"]) {
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0, "{}", path.display());
    }
    assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o077, 0);
    let repository = Repository::of(&lab.repo).unwrap();
    let run = RunId::parse("r2").unwrap();
    let layout = Layout::new(&lab.state, &run, &repository, &lab.repo, None);
    let fresh = RunRepo::open(repository, &run, layout, Vec::new(), None).unwrap();
    assert!(fresh.settings_news().is_none(), "a new run begins with what is there");
}

/// As `git add --force` and `git mv` leave it: git tracks what the patterns of `.gitignore` name.
#[test]
fn what_an_agents_git_tracks_lands_though_its_path_is_ignored() {
    let lab = Lab::new();
    lab.commit(&[(".gitignore", "*.log\n")]);
    for site in lab.both() {
        let name = |task: &str| format!("{task}-{}", site.private);
        let add = |dir: &Path, file: &str, text: &str| {
            fs::write(dir.join(file), text).unwrap();
            git(dir, &["add", "--force", file]);
        };
        let own = |dir: &Path| {
            git(dir, &["-c", "user.name=A", "-c", "user.email=a@x", "commit", "-q", "-m", "own"]);
        };
        land(&site, 1, &name("commits"), |dir| {
            add(dir, "only.log", &name("committed"));
            own(dir);
            fs::write(dir.join("left.log"), "x").unwrap();
        })
        .unwrap();
        assert_eq!(lab.raw("only.log"), name("committed").as_bytes());
        land(&site, 1, &name("stages"), |dir| {
            git(dir, &["update-index", "--index-version", "4"]);
            add(dir, "a [b]*.log", &name("staged"));
            add(dir, "gone.log", "x");
            fs::remove_file(dir.join("gone.log")).unwrap();
            fs::write(dir.join("left.log"), "x").unwrap();
        })
        .unwrap();
        assert_eq!(lab.raw("a [b]*.log"), name("staged").as_bytes());
        for file in ["left.log", "gone.log"] {
            assert_eq!(lab.git(&["ls-tree", "conductor/r1", "--", file]), "", "{file}");
        }
    }
}

#[test]
fn ignored_work_that_goes_back_is_not_forgotten() {
    let lab = Lab::new();
    lab.commit(&[(".gitignore", "*.log\n")]);
    let site = lab.worktrees();
    let mut again = site.request(1, "again");
    let workspace = site.prepare(&again).unwrap();
    fs::write(workspace.directory.join("a.log"), "first").unwrap();
    git(&workspace.directory, &["add", "--force", "a.log"]);
    let change = site.collect(&again, &workspace).unwrap().unwrap();
    let failure = Failure::new(conductor_core::run::event::FailureClass::Unverified, "red");
    again.round = Some((1, conductor_core::run::event::Round { change, failure }));
    let workspace = site.prepare(&again).unwrap();
    fs::write(workspace.directory.join("b.txt"), "second").unwrap();
    let change = site.collect(&again, &workspace).unwrap().unwrap();
    assert_eq!(change.touched.files, ["a.log", "b.txt"]);
}
