//! The commands by which a conflict is solved from afar: it is laid out in a folder, looked at, written file by file, landed.

use super::table::{MARKERS, verb};
use super::{At, Verb, carry};
use crate::web::fields::{Kind, may, must};
use crate::web::route::{OPERATOR, VIEWER, by, get, post};

const PATH: crate::web::fields::Field =
    must("path", Kind::Text, "A file of the conflict, by its path in the repository.");

pub(super) static VERBS: &[Verb] = &[
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/conflict/resolve",
            OPERATOR,
            "Resolve the conflict of a failed task; without a choice it is laid out in a folder",
            by!(carry),
        )
        .body(&[
            may("ours", Kind::Flag, "Take what has landed wherever both changed the same lines."),
            may("theirs", Kind::Flag, "Take the task's work there."),
            may("continue", Kind::Flag, "Check the resolved work, and land it."),
            may("abort", Kind::Flag, "Give the resolution up; the work stays kept."),
            MARKERS,
        ])
        .json(
            "conductor.landing/1",
            "run text, task text, outcome text, branch text?, commit text?, evidence text?, folder text?, files [text]?",
        ),
        "worktree resolve --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        get(
            "/api/runs/{run}/tasks/{task}/conflict",
            VIEWER,
            "The files of a conflict that is laid out: as they were, both sides, and as they are in the folder",
            by!(carry),
        )
        .json(
            "conductor.conflict/1",
            "run text, task text, folder text, landed text, kept text, files [ConflictFile]",
        ),
        "worktree resolve --json --show --run={run} -- {task}",
        At::Run,
    ),
    Verb {
        input: Some("text"),
        ..verb(
            post(
                "/api/runs/{run}/tasks/{task}/conflict/files",
                OPERATOR,
                "Write a file of a conflict that is laid out",
                by!(carry),
            )
            .body(&[PATH, must("text", Kind::Words, "The file as it should be.")])
            .json("conductor.conflict-file/1", "run text, task text, path text"),
            "worktree resolve --json --write={path} --run={run} -- {task}",
            At::Run,
        )
    },
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/conflict/take",
            OPERATOR,
            "Take one side's version of a file of a conflict that is laid out",
            by!(carry),
        )
        .body(&[
            PATH,
            must("side", Kind::OneOf(&["ours", "theirs"]), "What has landed, or the task's work."),
        ])
        .json("conductor.conflict-file/1", "run text, task text, path text"),
        "worktree resolve --json --write={path} --take={side} --run={run} -- {task}",
        At::Run,
    ),
];
