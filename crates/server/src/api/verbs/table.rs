//! The commands that are routes.

use super::{At, Verb, carry};
use crate::access::Role;
use crate::web::fields::{Kind, may, must};
use crate::web::route::{ADMIN, OPERATOR, Route, Rule, VIEWER, by, delete, get, post};

pub(super) const fn verb(route: Route, command: &'static str, at: At) -> Verb {
    Verb { route, command, at, input: None }
}

pub(super) const MARKERS: crate::web::fields::Field =
    may("allow_markers", Kind::Texts, "Land these files even if they have conflict markers.");
const HOW: Kind = Kind::OneOf(&["topological", "risk-first", "foundational-first", "parallel-maximising"]);

pub(super) static VERBS: &[Verb] = &[
    verb(
        get(
            "/api/projects/{project}/dependencies/validate",
            VIEWER,
            "Check the task file and show every error in it",
            by!(carry),
        )
        .json("conductor.validation/1", "file text, errors whole, warnings whole, findings [object]"),
        "validate --json -- {file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/config",
            VIEWER,
            "Show every setting, and where its value comes from",
            by!(carry),
        )
        .json("conductor.config/1", ""),
        "config show --origin --json -- {file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/rehearsal",
            VIEWER,
            "Estimate a run's time and cost without starting anything",
            by!(carry),
        )
        .query(&[may("parallel", Kind::Whole(1, 100_000), "For so many at once.")])
        .json("conductor.rehearsal/1", ""),
        "rehearse --json {options} -- {file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/costs/forecast",
            VIEWER,
            "What the whole file would cost, and how sure that is",
            by!(carry),
        )
        .json("conductor.rehearsal/1", ""),
        "rehearse --json -- {file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/prices",
            VIEWER,
            "The price of each model, and where it comes from",
            by!(carry),
        )
        .json("conductor.prices/1", ""),
        "prices --json --file={file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/worktrees",
            VIEWER,
            "List workspaces, and kept work that has not landed",
            by!(carry),
        )
        .query(&[may("run", Kind::Text, "Only what belongs to this run.")])
        .json("conductor.worktrees/1", ""),
        "worktree list --json {options}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/worktrees/clean",
            OPERATOR,
            "Remove workspaces that are no longer needed; what is in them is saved first",
            by!(carry),
        )
        .body(&[may("all", Kind::Flag, "Also of runs that could be resumed.")])
        .json("conductor.worktree-clean/1", ""),
        "worktree clean --json {options}",
        At::Project,
    ),
    verb(
        get("/api/runs/{run}/tasks/{task}/worktree", VIEWER, "The folder a task works in", by!(carry))
            .json("conductor.worktree-path/1", ""),
        "worktree path --json --run={run} -- {task}",
        At::Run,
    ),
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/merge",
            OPERATOR,
            "Try again to merge a failed task's work into the run's branch",
            by!(carry),
        )
        .body(&[MARKERS])
        .json("conductor.landing/1", ""),
        "worktree merge --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        post(
            "/api/runs/{run}/sync",
            OPERATOR,
            "Merge the project's branch into the run's branch",
            by!(carry),
        )
        .json("conductor.worktree-sync/1", ""),
        "worktree sync --json -- {run}",
        At::Run,
    ),
    verb(
        get("/api/runs/{run}/tasks/{task}/diff", VIEWER, "What a task has changed, as a patch", by!(carry))
            .query(&[may("stat", Kind::Flag, "Only file names, and how many lines changed.")])
            .json("conductor.diff/1", "run text, task text, status text, from text?, to text?, patch text?, stat text?"),
        "diff --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        get("/api/runs/{run}/tasks/{task}/explanation", VIEWER, "What happens to a task and why", by!(carry))
            .json(
                "conductor.explanation/1",
                "task text, name text, status text?, waits_for [text], live flag, waits [Reason]?, agent text?, \
                 verify [text], fix_rounds whole, isolation text, decisions [Decision]",
            ),
        "explain --json --run={run} -- {task}",
        At::Run,
    ),
    verb(
        get("/api/codes/{code}", VIEWER, "What an error code means", by!(carry)).json("conductor.code/1", ""),
        "explain --json -- {code}",
        At::Home,
    ),
    verb(
        get("/api/runs/{run}/summary", VIEWER, "The result of a run", by!(carry))
            .json("conductor.summary/1", "run text, outcome text, total_tasks whole"),
        "report --format=json --output=- -- {run}",
        At::Run,
    ),
    verb(
        get("/api/runs/{run}/report", VIEWER, "The report of a run, as a web page", by!(carry))
            .other("text/html; charset=utf-8"),
        "report --format=html --output=- -- {run}",
        At::Run,
    ),
    verb(
        get("/api/runs/{run}/report.md", VIEWER, "The report of a run, as Markdown", by!(carry))
            .other("text/markdown; charset=utf-8"),
        "report --format=md --output=- -- {run}",
        At::Run,
    ),
    verb(
        post(
            "/api/runs/prune",
            Rule::Everywhere(Role::Admin),
            "Remove the folders and records of old runs; only lists them without `yes`",
            by!(carry),
        )
        .body(&[
            may("older_than", Kind::Text, "Started longer ago than this, such as 30d or 12h."),
            may("keep", Kind::Whole(0, 1_000_000), "Keep the newest so many."),
            may(
                "branches",
                Kind::Flag,
                "Also their branches, if a branch or tag of yours has all of their work.",
            ),
            may(
                "refs",
                Kind::Flag,
                "Also the work they kept and their checkpoints, if a branch or tag of yours has all of it.",
            ),
            may("force", Kind::Flag, "Also runs that could be resumed, or that have work kept nowhere else."),
            may("yes", Kind::Flag, "Remove them."),
        ])
        .json("conductor.prune/1", ""),
        "runs prune --json {options}",
        At::Home,
    ),
    verb(
        get("/api/projects/{project}/checkpoints", VIEWER, "List every checkpoint, newest first", by!(carry))
            .json("conductor.checkpoints/1", ""),
        "checkpoint list --json",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/checkpoints",
            OPERATOR,
            "Save where the project's branch is, or a run's branch",
            by!(carry),
        )
        .body(&[
            may("name", Kind::Text, "The checkpoint's name."),
            may("run", Kind::Text, "Save the branch of this run."),
            may("message", Kind::Text, "What it is for."),
        ])
        .json("conductor.checkpoint/1", "")
        .status(201),
        "checkpoint create --json {options} -- {name}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/checkpoints/{name}/rollback",
            ADMIN,
            "Set a branch back to a checkpoint",
            by!(carry),
        )
        .json("conductor.checkpoint-rollback/1", ""),
        "checkpoint rollback --json -- {name}",
        At::Project,
    ),
    verb(
        get("/api/projects/{project}/reviews", VIEWER, "Work that waits for a person's review", by!(carry))
            .json("conductor.reviews/1", ""),
        "review --json",
        At::Project,
    ),
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/review/approve",
            OPERATOR,
            "Let the work of a task land",
            by!(carry),
        )
        .body(&[may("commit", Kind::Text, "Only this commit; refused if the work has changed since.")])
        .json("conductor.review/1", "run text, task text, action text, commit text, active flag"),
        "review approve --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/review/send-back",
            OPERATOR,
            "Send the work back to its agent with comments",
            by!(carry),
        )
        .body(&[must("message", Kind::Texts, "What to change; \"FILE:LINE: words\" is about that line.")])
        .json("conductor.review/1", "run text, task text, action text, commit text, active flag"),
        "review send-back --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        post(
            "/api/runs/{run}/tasks/{task}/review/edit",
            OPERATOR,
            "Edit the work in a folder, then land it with `continue`",
            by!(carry),
        )
        .body(&[
            may("continue", Kind::Flag, "Land the work as it is in the folder now."),
            may("abort", Kind::Flag, "Discard the edits; the work waits for its review as before."),
        ])
        .json("conductor.review-edit/1", "run text?, task text?, commit text?, folder text?"),
        "review edit --json {options} --run={run} -- {task}",
        At::Run,
    ),
    verb(
        delete(
            "/api/runs/{run}/tasks/{task}/review",
            OPERATOR,
            "Reject the work: it does not land, and is kept under a ref",
            by!(carry),
        )
        .json("conductor.review/1", "run text, task text, action text, commit text, active flag"),
        "review drop --json --run={run} -- {task}",
        At::Run,
    ),
    verb(
        get(
            "/api/projects/{project}/groups",
            VIEWER,
            "List every group that was run here, with its status",
            by!(carry),
        )
        .json("conductor.groups/1", ""),
        "group list --json",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/groups/detected",
            VIEWER,
            "The groups of the file's tasks, as marked in their text",
            by!(carry),
        )
        .json("conductor.groups-detected/1", ""),
        "group detect --json --tasks-file={file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/groups/plan",
            VIEWER,
            "The tasks of the file in groups to run in turn",
            by!(carry),
        )
        .query(&[
            may("strategy", HOW, "What comes first, where dependencies leave a choice."),
            may("max_group_size", Kind::Whole(1, 100_000), "At most this many tasks in a group."),
        ])
        .json("conductor.group-plan/1", ""),
        "group plan --json {options} -- {file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/groups/{group}",
            VIEWER,
            "The status of a group, during its run and after",
            by!(carry),
        )
        .query(&[may("run", Kind::Text, "In this run.")])
        .json("conductor.group/1", ""),
        "group status --json {options} --group-id={group}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/groups/{group}/report",
            VIEWER,
            "A group's result, and every decision about it",
            by!(carry),
        )
        .query(&[may("run", Kind::Text, "In this run.")])
        .json("conductor.group-report/1", ""),
        "group report --json {options} --group-id={group}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/import/beads",
            ADMIN,
            "Make tasks from the open issues of beads that are ready",
            by!(carry),
        )
        .body(&[
            may("output", Kind::Text, "The file to write (default tasks.yaml)."),
            may("force", Kind::Flag, "Overwrite an existing file."),
        ])
        .json("conductor.import/1", ""),
        "import beads --json {options}",
        At::Project,
    ),
    verb(
        get(
            "/api/agents",
            VIEWER,
            "List every agent: whether it is installed and logged in, and what it can do",
            by!(carry),
        )
        .json("conductor.agents/1", ""),
        "agents list --json",
        At::Home,
    ),
    verb(
        post(
            "/api/agents/test",
            OPERATOR,
            "Have agents write one word into a file; this costs a little",
            by!(carry),
        )
        .body(&[may("name", Kind::Agent, "Only this agent."), may("model", Kind::Text, "With this model.")])
        .json("conductor.agents-test/1", ""),
        "agents test --json {options} -- {name}",
        At::Home,
    ),
    verb(
        get("/api/doctor", VIEWER, "Check that everything a run needs of this machine is there", by!(carry))
            .json("conductor.doctor/1", ""),
        "doctor --machine --json",
        At::Home,
    ),
    verb(
        get(
            "/api/projects/{project}/doctor",
            VIEWER,
            "Check that everything a run of the project needs is there and works",
            by!(carry),
        )
        .json("conductor.doctor/1", ""),
        "doctor --json",
        At::Project,
    ),
    verb(
        get("/api/templates", VIEWER, "List the templates of task files", by!(carry))
            .json("conductor.templates/1", ""),
        "template list --json",
        At::Home,
    ),
    verb(
        get("/api/schema", VIEWER, "The JSON Schema of task files", by!(carry)).other("application/json"),
        "schema",
        At::Home,
    ),
];
