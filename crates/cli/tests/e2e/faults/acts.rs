//! What the tasks of a round do besides their work: agents that meddle, lie, plant and leave things behind.

use fastrand::Rng;

/// Every task writes `out/<its id>.txt`, whatever else it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    Work,
    Commits,
    BranchesOffTheStart,
    ResetsToTheStart,
    Detaches,
    RemovesItsIndex,
    RemovesItsGit,
    PlantsHooks,
    PlantsAFilter,
    PlantsAHooksPath,
    LeavesADaemon,
    LeavesANamelessDaemon,
    WritesTheUsersNames,
    Collides,
    WritesMarkers,
    Fails,
    TalksMuch,
    Takes,
}

const ALL: [Act; 18] = [
    Act::Work,
    Act::Commits,
    Act::BranchesOffTheStart,
    Act::ResetsToTheStart,
    Act::Detaches,
    Act::RemovesItsIndex,
    Act::RemovesItsGit,
    Act::PlantsHooks,
    Act::PlantsAFilter,
    Act::PlantsAHooksPath,
    Act::LeavesADaemon,
    Act::LeavesANamelessDaemon,
    Act::WritesTheUsersNames,
    Act::Collides,
    Act::WritesMarkers,
    Act::Fails,
    Act::TalksMuch,
    Act::Takes,
];

/// A file that a planted program would make.
pub(super) const FIRED: &str = "fired";

/// The argument by which the daemon of a round is recognised.
pub(super) fn daemon(token: u32) -> String {
    format!("3{token}")
}

/// What a task leaves.
pub(super) fn work(task: usize) -> String {
    format!("work of task {task}\n")
}

impl Act {
    pub(super) fn draw(rng: &mut Rng) -> Act {
        // Half of all tasks only do their work: there must be something to lose.
        match rng.bool() {
            true => Act::Work,
            false => ALL[rng.usize(..ALL.len())],
        }
    }

    /// As a shell script. `START` is the commit the user had checked out.
    fn script(self, token: u32, here: &str) -> String {
        let daemon = daemon(token);
        // An agent's own git runs what another agent planted; that is between them. Ours must not.
        let fired = format!("test -n \"$CONDUCTOR_TASK\" || touch {here:?}/{FIRED}");
        let commit = "git -c user.name=A -c user.email=a@localhost commit -q";
        match self {
            Act::Work => String::new(),
            Act::Commits => format!("git add -A; {commit} -m own"),
            Act::BranchesOffTheStart => "git checkout -q -f -b feature-$CONDUCTOR_TASK-$$ $START".to_owned(),
            Act::ResetsToTheStart => "git reset -q --hard $START".to_owned(),
            Act::Detaches => {
                format!("git checkout -q -f --detach $START; {commit} --allow-empty -m detached")
            }
            Act::RemovesItsIndex => "rm -f \"$(git rev-parse --git-dir)/index\"".to_owned(),
            Act::RemovesItsGit => "rm -rf .git ../.git".to_owned(),
            Act::PlantsHooks => format!(
                "hooks=\"$(git rev-parse --git-common-dir)/hooks\"; mkdir -p \"$hooks\"; \
                 for hook in pre-commit post-checkout post-merge reference-transaction post-index-change; do \
                 printf '#!/bin/sh\\n{fired}\\n' > \"$hooks/$hook\"; chmod +x \"$hooks/$hook\"; done"
            ),
            Act::PlantsAFilter => format!(
                "git config filter.evil.smudge '{fired}; cat'; git config filter.evil.clean '{fired}; cat'; \
                 mkdir -p \"$(git rev-parse --git-common-dir)/info\"; \
                 echo '* filter=evil' >> \"$(git rev-parse --git-common-dir)/info/attributes\""
            ),
            Act::PlantsAHooksPath => format!(
                "mkdir -p {here:?}/planted; printf '#!/bin/sh\\n{fired}\\n' > {here:?}/planted/post-checkout; \
                 chmod +x {here:?}/planted/post-checkout; git config core.hooksPath {here:?}/planted; \
                 git config core.fsmonitor '{fired}'"
            ),
            Act::LeavesADaemon => format!("setsid sleep {daemon} > /dev/null 2>&1 &"),
            Act::LeavesANamelessDaemon => {
                format!("env -i setsid sleep {daemon} < /dev/null > /dev/null 2>&1 &")
            }
            Act::WritesTheUsersNames => "echo agent > .env; echo agent > notes.txt".to_owned(),
            Act::Collides => "echo $CONDUCTOR_TASK > shared.txt".to_owned(),
            Act::WritesMarkers => {
                "printf '<<<<<<< a\\nx\\n=======\\ny\\n>>>>>>> b\\n' > marked-$CONDUCTOR_TASK.txt".to_owned()
            }
            Act::Fails => "echo half > half-$CONDUCTOR_TASK.txt; false".to_owned(),
            Act::TalksMuch => "head -c 3000000 /dev/zero | tr '\\0' x".to_owned(),
            Act::Takes => "sleep 0.4".to_owned(),
        }
    }
}

/// The task file of a round. Every second task waits for one before it.
pub(super) fn file(acts: &[Act], token: u32, here: &str) -> String {
    let mut text = String::from("tasks:\n");
    for (task, act) in acts.iter().enumerate() {
        let waits = if task % 2 == 1 { format!(", dependencies: [t{}]", task - 1) } else { String::new() };
        let script = act.script(token, here);
        // The work comes last: what an act takes away, the task does not miss.
        let lines = [
            "START=$(git rev-list --max-parents=0 HEAD | tail -n 1)".to_owned(),
            script,
            "status=$?".to_owned(),
            format!("mkdir -p out; printf '{}' > out/t{task}.txt || exit", work(task).replace('\n', "\\n")),
            "exit $status".to_owned(),
        ];
        let block: String = lines.iter().map(|line| format!("      {line}\n")).collect();
        text.push_str(&format!("  - id: t{task}\n    run: |\n{block}"));
        if !waits.is_empty() {
            text.push_str(&format!("    {}\n", waits.trim_start_matches(", ")));
        }
    }
    text
}
