//! The value is data: what is reached, what is not, and what lies over what.

use super::*;
use crate::plan::{Command, Sandbox, SandboxMode, Work};
use crate::values::ids::TaskId;

fn prompt(agent: &str) -> Task {
    let task = Task::new(TaskId::parse("t").unwrap(), Work::Prompt("Do it".into()));
    Task { agent: Some(agent.to_owned()), ..task }
}

fn around(variables: &[(&str, &str)]) -> Surroundings {
    let usual = [("HOME", "/home/ada"), ("PATH", "/usr/bin:/home/ada/tools/bin:/home/ada:.:/srv/bin/")];
    let variables = usual.iter().chain(variables);
    Surroundings {
        variables: variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        program: "claude".into(),
        state: "/home/ada/.conductor".into(),
        tree: "/home/ada/.conductor/runs/r/workspaces/r-1".into(),
        temporary: Some("/home/ada/.conductor/runs/r/tmp/1".into()),
        ..Surroundings::default()
    }
}

/// What can be done with a path: the last mount that it is in decides.
fn access(confinement: &Confinement, path: &str) -> Option<Access> {
    let of = |mount: &&Mount| is_within(path, &mount.path);
    confinement.mounts.iter().rev().find(of).map(|mount| mount.access)
}

fn check(task: &Task, around: &Surroundings, expected: &[(&str, Option<Access>)]) {
    let confinement = Confinement::of(task, around).unwrap();
    for (path, wanted) in expected {
        assert_eq!(access(&confinement, path), *wanted, "{path}");
    }
}

#[test]
fn only_the_workspace_and_what_its_agent_needs_are_there() {
    use Access::*;
    let tree = around(&[]).tree;
    check(
        &prompt("claude"),
        &around(&[]),
        &[
            ("/usr/bin/git", Some(Read)),
            ("/etc/passwd", Some(Read)),
            ("/etc/shadow", Some(Hidden)),
            ("/etc/ssh/ssh_host_ed25519_key", Some(Hidden)),
            ("/tmp/x", Some(Fresh)),
            ("/home/ada/.ssh/id_ed25519", Some(Fresh)),
            ("/home/ada/.aws/credentials", Some(Fresh)),
            ("/home/ada/.netrc", Some(Fresh)),
            ("/home/ada/.cargo/credentials.toml", Some(Fresh)),
            ("/home/ada/.cargo/bin/cargo", Some(Read)),
            ("/home/ada/.cargo/registry/src", Some(Fresh)),
            ("/home/ada/.claude/.credentials.json", Some(Write)),
            ("/home/ada/.claude/projects/x", Some(Make)),
            ("/home/ada/.claude/settings.json", Some(Copy)),
            ("/home/ada/.claude/hooks/x.sh", Some(Read)),
            ("/home/ada/.claude/later", Some(Fresh)),
            ("/home/ada/.claude.json", Some(Copy)),
            ("/home/ada/.codex/auth.json", Some(Fresh)),
            ("/home/ada/tools/bin/x", Some(Read)),
            ("/home/ada/tools/secret", Some(Fresh)),
            ("/home/ada/.conductor/conductor.db", Some(Fresh)),
            ("/home/ada/.conductor/runs/r/workspaces/r-2/x", Some(Fresh)),
            (&format!("{tree}/src/x.rs"), Some(Write)),
            ("/home/ada/.conductor/runs/r/tmp/1/x", Some(Write)),
            ("/home/ben/x", None),
            ("/srv/bin/x", Some(Read)),
            ("/srv/data", None),
            ("/var/run/docker.sock", None),
            ("/run/user/1000/bus", None),
            ("/root/.ssh", None),
        ],
    );
}

#[test]
fn each_agent_has_its_own_and_an_unknown_one_the_folders_of_its_name() {
    use Access::*;
    check(
        &prompt("codex"),
        &around(&[("CODEX_HOME", "/data/codex")]),
        &[
            ("/data/codex/auth.json", Some(Write)),
            ("/data/codex/config.toml", Some(Copy)),
            ("/data/codex/other", Some(Fresh)),
            ("/home/ada/.codex/auth.json", Some(Fresh)),
            ("/home/ada/.claude/.credentials.json", Some(Fresh)),
        ],
    );
    let own = "/home/ada/.conductor/runs/r/agent_homes/t";
    let settings = format!("{own}/settings.json");
    check(&prompt("claude"), &around(&[("CLAUDE_CONFIG_DIR", own)]), &[(&settings, Some(Write))]);
    let other = Surroundings { program: "/opt/goose".into(), ..around(&[("XDG_CONFIG_HOME", "/conf")]) };
    check(
        &prompt("acp:goose"),
        &other,
        &[
            ("/conf/goose/x", Some(Write)),
            ("/conf/other", Some(Fresh)),
            ("/home/ada/.goose", Some(Write)),
            ("/home/ada/.ssh", Some(Fresh)),
        ],
    );
    for withheld in ["ssh", "x/../../.ssh", "aws", ".", "cargo", "/usr/bin/npm", "uv", "bun"] {
        let other = Surroundings { program: withheld.into(), ..around(&[]) };
        let kept = [".ssh", ".aws", ".cargo/credentials.toml", ".npm/x", ".bun/x", ".local/share/uv-x"];
        let kept = kept.map(|path| format!("/home/ada/{path}"));
        check(&prompt("acp:x"), &other, &kept.each_ref().map(|path| (path.as_str(), Some(Fresh))));
        let programs = ["/home/ada/.cargo/bin/x", "/home/ada/.bun/bin/x", "/home/ada/.local/share/uv/x"];
        check(&prompt("acp:x"), &other, &programs.map(|path| (path, Some(Read))));
    }
}

#[test]
fn what_git_and_agents_are_set_up_by_stays_as_it_is() {
    use Access::*;
    let common = "/home/ada/app/.git".to_owned();
    let own = format!("{common}/worktrees/r-1");
    let worktree = GitPlace::Worktree { common: common.clone(), own: own.clone() };
    let present = vec![".mcp.json".to_owned(), ".codex".to_owned()];
    let linked = Surroundings { git: worktree, present: present.clone(), ..around(&[]) };
    let tree = linked.tree.clone();
    let (at_mcp, at_codex) = (format!("{tree}/.mcp.json"), format!("{tree}/.codex/config.toml"));
    let parts: Vec<String> = [
        "objects/x",
        "config",
        "hooks/x",
        "HEAD",
        "worktrees/other/HEAD",
        "worktrees/r-1/HEAD",
        "worktrees/r-1/commondir",
    ]
    .iter()
    .map(|part| format!("{common}/{part}"))
    .collect();
    check(
        &prompt("claude"),
        &linked,
        &[
            (&parts[0], Some(Write)),
            (&parts[1], Some(Settings)),
            (&parts[2], Some(Read)),
            (&parts[3], Some(Read)),
            (&parts[4], Some(Fresh)),
            (&parts[5], Some(Write)),
            (&parts[6], Some(Read)),
            (&format!("{tree}/.git"), Some(Read)),
            ("/home/ada/app/src", Some(Fresh)),
            (&at_mcp, Some(Read)),
            (&at_codex, Some(Read)),
        ],
    );
    let sandbox = Sandbox { write: vec![".mcp.json".into()], ..Sandbox::of(SandboxMode::Require) };
    let task = Task { sandbox: Some(Box::new(sandbox)), ..prompt("claude") };
    let git = GitPlace::Clone { of: common.clone() };
    let cloned = Surroundings { git, present, ..around(&[]) };
    check(
        &task,
        &cloned,
        &[(&at_mcp, Some(Write)), (&parts[0], Some(Read)), (&parts[1], Some(Fresh)), (&at_codex, Some(Read))],
    );
}

#[test]
fn submodules_and_worktrees_have_configuration_too() {
    use Access::*;
    let tree = around(&[]).tree;
    let inside = format!("{tree}/.git/modules/a");
    let in_place = Surroundings {
        git: GitPlace::Inside,
        present: [".git/config", ".git/hooks"].map(str::to_owned).to_vec(),
        modules: vec![inside.clone(), format!("{inside}/modules/b")],
        worktrees: vec![format!("{tree}/.git/worktrees/w")],
        ..around(&[])
    };
    let at = |path: &str| format!("{tree}/.git/{path}");
    check(
        &prompt("claude"),
        &in_place,
        &[
            (&at("config"), Some(Settings)),
            (&at("hooks/post-commit"), Some(Read)),
            (&at("objects/x"), Some(Write)),
            (&at("modules/a/config"), Some(Settings)),
            (&at("modules/a/hooks/x"), Some(Read)),
            (&at("modules/a/objects/x"), Some(Write)),
            (&at("modules/a/modules/b/config"), Some(Settings)),
            (&at("worktrees/w/commondir"), Some(Read)),
            (&at("worktrees/w/gitdir"), Some(Read)),
            (&at("worktrees/w/HEAD"), Some(Write)),
        ],
    );
    let confinement = Confinement::of(&prompt("claude"), &in_place).unwrap();
    for folder in ["", "modules", "modules/a", "modules/a/modules/b", "worktrees/w"] {
        let folder = at(folder);
        let folder = trimmed(&folder);
        let is_place = |mount: &Mount| mount.path == folder && mount.access == Write;
        assert!(confinement.mounts.iter().any(is_place), "{folder} could be moved away");
    }
    let notes = "/home/ada/.conductor/runs/r/workspaces/r-1.modules";
    let common = "/home/ada/app/.git";
    let lent = format!("{common}/modules/a/objects");
    let beside = Surroundings {
        git: GitPlace::Worktree { common: common.to_owned(), own: format!("{common}/worktrees/r-1") },
        modules: vec![format!("{notes}/x.git")],
        lent: vec![lent.clone()],
        ..around(&[])
    };
    check(
        &prompt("claude"),
        &beside,
        &[
            (&format!("{notes}/x.git/objects/x"), Some(Write)),
            (&format!("{notes}/x.git/config"), Some(Read)),
            (&format!("{notes}/x.git/hooks/x"), Some(Read)),
            (&format!("{notes}/x.start"), Some(Fresh)),
            (&format!("{common}/modules/a/config"), Some(Fresh)),
            (&lent, Some(Read)),
        ],
    );
    let pointed = Surroundings { git: GitPlace::Pointed, ..around(&[]) };
    check(&prompt("claude"), &pointed, &[(&format!("{tree}/.git"), Some(Read))]);
}

#[test]
fn what_the_file_adds_is_there() {
    use Access::*;
    let sandbox = Sandbox {
        read: vec!["~/shared/".into(), "/data".into(), "sub".into()],
        write: vec!["~/out".into()],
        mode: SandboxMode::Prefer,
    };
    let task = Task { sandbox: Some(Box::new(sandbox)), ..prompt("claude") };
    let tree = around(&[]).tree;
    check(
        &task,
        &around(&[]),
        &[
            ("/home/ada/shared/x", Some(Read)),
            ("/data/x", Some(Read)),
            (&format!("{tree}/sub/x"), Some(Read)),
            ("/home/ada/out/x", Some(Write)),
        ],
    );
}

#[test]
fn an_agent_with_a_sandbox_of_its_own_cannot_be_given_what_only_ours_keeps() {
    let task = |agent: &str, mode: Option<SandboxMode>, network: Network| Task {
        sandbox: mode.map(|mode| Box::new(Sandbox::of(mode))),
        network: Some(Box::new(network)),
        ..prompt(agent)
    };
    let listed = || Network::Allow(vec!["example.com".into()]);
    for (mode, network, expected) in [
        (None, Network::Full, false),
        (Some(SandboxMode::Prefer), Network::Full, false),
        (Some(SandboxMode::Off), Network::Full, false),
        (Some(SandboxMode::Require), Network::Full, true),
        (None, Network::Off, true),
        (Some(SandboxMode::Prefer), listed(), true),
        (Some(SandboxMode::Off), listed(), true),
    ] {
        assert_eq!(is_unconfinable(&task("codex", mode, network.clone())), expected, "{mode:?} {network}");
        assert!(!is_unconfinable(&task("claude", mode, network)));
    }
}

#[test]
fn a_home_that_is_the_workspace_cannot_be_kept_out_of_it() {
    for tree in ["/", "/home", "/home/ada"] {
        let around = Surroundings { tree: tree.into(), ..around(&[]) };
        let refused = Confinement::of(&prompt("claude"), &around);
        assert_eq!(refused, Err(Unconfinable::HoldsHome(tree.to_owned())));
    }
    let refused = Confinement::of(&prompt("claude"), &Surroundings::default());
    assert_eq!(refused, Err(Unconfinable::Homeless));
    // Our state below the place it works in is out of reach all the same.
    let around = Surroundings { tree: "/srv/app".into(), state: "/srv/app/.state".into(), ..around(&[]) };
    check(&prompt("claude"), &around, &[("/srv/app/.state/conductor.db", Some(Access::Hidden))]);
}

#[test]
fn a_limited_network_reaches_its_list_its_model_and_the_tools_of_the_run() {
    let rules = |network: Network, agent: &str, variables: &[(&str, &str)]| {
        let task = Task { network: Some(Box::new(network)), ..prompt(agent) };
        Confinement::of(&task, &around(variables)).unwrap()
    };
    let reached = |confinement: &Confinement, host: &str, port: u16| {
        let host = hosts::Host::parse(host).unwrap();
        hosts::decide(confinement.reach.as_deref().unwrap(), &host, port)
    };
    assert_eq!(rules(Network::Full, "claude", &[]).reach, None);
    let tools = [(TOOLS_URL, "http://127.0.0.1:4100/tools"), ("ANTHROPIC_BASE_URL", "http://localhost:9999")];
    let off = rules(Network::Off, "claude", &tools);
    assert_eq!(reached(&off, "api.anthropic.com", 443), hosts::Reach::Public);
    assert_eq!(reached(&off, "127.0.0.1", 4100), hosts::Reach::Anywhere);
    assert_eq!(reached(&off, "127.0.0.1", 4101), hosts::Reach::Refused);
    assert_eq!(reached(&off, "api.openai.com", 443), hosts::Reach::Refused);
    assert_eq!(off.services(), ["127.0.0.1:4100", "localhost:9999"]);
    let list = rules(Network::Allow(vec!["*.npmjs.org".into()]), "codex", &[]);
    assert_eq!(reached(&list, "registry.npmjs.org", 443), hosts::Reach::Public);
    assert_eq!(reached(&list, "api.openai.com", 443), hosts::Reach::Public);
    let open = rules(Network::Off, "opencode", &[("AZURE_RESOURCE_NAME", "acme")]);
    for host in ["api.groq.com", "api.mistral.ai", "api.deepseek.com", "api.x.ai", "acme.openai.azure.com"] {
        assert_eq!(reached(&open, host, 443), hosts::Reach::Public, "{host}");
    }
    for (agent, name) in [("opencode", "evil.example/x"), ("claude", "acme")] {
        let other = rules(Network::Off, agent, &[("AZURE_RESOURCE_NAME", name)]);
        for host in ["acme.openai.azure.com", "evil.example", "other.openai.azure.com"] {
            assert_eq!(reached(&other, host, 443), hosts::Reach::Refused, "{agent}: {host}");
        }
    }
    let command = Task::new(TaskId::parse("t").unwrap(), Work::Run(Command::Line("make".into())));
    let command = Task { network: Some(Box::new(Network::Off)), ..command };
    assert_eq!(Confinement::of(&command, &around(&[])).unwrap().reach, Some(Vec::new()));
    let offline = Confinement::of(&command, &around(&[])).unwrap();
    assert_eq!(access(&offline, "/home/ada/.cargo/registry/src"), Some(Access::Read));
}

/// What the kernel's rules open of a path: nothing, reading, or writing.
fn opened(grants: &[Grant], path: &str) -> Option<bool> {
    let over = grants.iter().filter(|grant| is_within(path, &grant.path));
    over.map(|grant| grant.writes).reduce(|one, other| one || other)
}

#[test]
fn where_rules_only_open_what_is_kept_back_is_left_out() {
    let common = "/home/ada/app/.git".to_owned();
    let own = format!("{common}/worktrees/r-1");
    let git = GitPlace::Worktree { common: common.clone(), own: own.clone() };
    let around = Surroundings { git, present: vec![".mcp.json".to_owned()], ..around(&[]) };
    let tree = around.tree.clone();
    let children = |folder: &str| -> Vec<String> {
        let names: &[&str] = match folder {
            "/etc" => &["passwd", "shadow", "ssl", "ssh"],
            "/etc/ssl" => &["certs", "private"],
            "/home/ada/app/.git" => {
                &["objects", "refs", "packed-refs", "config", "hooks", "HEAD", "worktrees"]
            }
            other => panic!("{other} is not split"),
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    };
    let grants = Confinement::of(&prompt("claude"), &around).unwrap().grants(&children);
    for (path, expected) in [
        ("/usr/bin/git", Some(false)),
        ("/etc/passwd", Some(false)),
        ("/etc/ssl/certs/x", Some(false)),
        ("/etc/ssl/private/x", None),
        ("/etc/shadow", None),
        ("/etc/ssh/x", None),
        ("/home/ada/.ssh/id", None),
        ("/home/ada/.netrc", None),
        ("/tmp/x", None),
        ("/home/ada/.claude/.credentials.json", Some(true)),
        ("/home/ada/.claude/settings.json", None),
        ("/home/ada/.claude/hooks/x", Some(false)),
        ("/home/ada/.conductor/conductor.db", None),
        ("/home/ada/.conductor/runs/r/workspaces/r-2/x", None),
        (&format!("{tree}/src/x.rs"), Some(true)),
        // What a rule cannot keep back is told of in the docs.
        (&format!("{tree}/.mcp.json"), Some(true)),
        (&format!("{common}/objects/x"), Some(true)),
        (&format!("{common}/packed-refs"), Some(true)),
        (&format!("{common}/config"), Some(false)),
        (&format!("{common}/hooks/x"), Some(false)),
        (&format!("{common}/HEAD"), Some(false)),
        (&format!("{common}/new"), None),
        (&format!("{common}/worktrees/r-2/HEAD"), None),
        (&format!("{own}/HEAD"), Some(true)),
    ] {
        assert_eq!(opened(&grants, path), expected, "{path}");
    }
}

#[test]
fn a_later_word_about_a_path_counts_for_rules_too() {
    let mount = |path: &str, access| Mount { path: path.to_owned(), access };
    let grants = |mounts: Vec<Mount>| {
        Confinement { mounts, reach: None }.grants(&|folder| panic!("{folder} is not split"))
    };
    let hidden = grants(vec![mount("/a/b", Access::Write), mount("/a", Access::Hidden)]);
    assert_eq!(opened(&hidden, "/a/b"), None);
    let read = grants(vec![mount("/a", Access::Write), mount("/a", Access::Read)]);
    assert_eq!(opened(&read, "/a/x"), Some(false));
    let given = grants(vec![mount("/a", Access::Read), mount("/a/b", Access::Write)]);
    assert_eq!((opened(&given, "/a/b/x"), opened(&given, "/a/x")), (Some(true), Some(false)));
    let state = grants(vec![mount("/a", Access::Write), mount("/a/state", Access::Hidden)]);
    assert_eq!(opened(&state, "/a/new"), Some(true), "new files are made in it");
}

#[test]
fn a_link_in_what_an_agent_writes_is_not_followed() {
    use Access::*;
    let tree = around(&[]).tree;
    let sandbox = Sandbox {
        read: vec!["linked".into(), "plain".into(), "/data/linked".into()],
        write: vec!["sub/linked".into(), "~/out/linked".into(), "~/out".into()],
        mode: SandboxMode::Prefer,
    };
    let task = Task { sandbox: Some(Box::new(sandbox)), ..prompt("opencode") };
    let is_plain = |_: &str, path: &str| !path.ends_with("linked") && path != "bin";
    let confinement = Confinement::of(&task, &around(&[])).unwrap().without_links(&is_plain);
    for (path, wanted) in [
        (format!("{tree}/linked"), Some(Write)),
        (format!("{tree}/sub/linked"), Some(Write)),
        (format!("{tree}/plain"), Some(Read)),
        // The user's own, in a place that no agent writes.
        ("/data/linked".to_owned(), Some(Read)),
        ("/home/ada/.local/share/opencode/bin".to_owned(), Some(Make)),
        ("/home/ada/out/linked".to_owned(), Some(Write)),
    ] {
        assert_eq!(access(&confinement, &path), wanted, "{path}");
        let is_named = confinement.mounts.iter().any(|mount| mount.path == path);
        assert_eq!(is_named, path.ends_with("plain") || path.starts_with("/data"), "{path}");
    }
    let common = "/home/ada/app/.git".to_owned();
    let git = GitPlace::Worktree { own: format!("{common}/worktrees/r-1"), common: common.clone() };
    let around = Surroundings { git, ..around(&[]) };
    let kept = Confinement::of(&prompt("claude"), &around).unwrap().without_links(&|_, path| path != "hooks");
    assert_eq!(access(&kept, &format!("{common}/hooks/x")), Some(Read), "a link of the user's");
}
