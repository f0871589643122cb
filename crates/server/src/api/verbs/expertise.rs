//! What a project has taught, as routes. What is changed reaches every agent of the project, and a check may be run: it
//! takes an admin.

use super::table::verb;
use super::{At, Verb, carry};
use crate::web::fields::{Field, Kind, may, must};
use crate::web::route::{ADMIN, VIEWER, by, get, post, put};

const CLAIM: &str = "In a sentence or two, what is to be known.";
const KINDS: Kind = Kind::OneOf(&["file_map", "pattern", "technique", "failure", "command"]);
const DOMAIN: Field = may("domain", Kind::Text, "Which part of the project it is about.");
const SCOPE: Field = may("scope", Kind::Texts, "Globs of the files it is about; all where absent.");
const CHECK: Field = may(
    "check",
    Kind::Text,
    "A command that succeeds as long as the claim holds; run only if the task file has it under `verify`.",
);
const ITEM: &str = "conductor.expertise-item/1";

pub(super) static VERBS: &[Verb] = &[
    verb(
        get("/api/projects/{project}/expertise", VIEWER, "List what the project has taught", by!(carry))
            .query(&[
                may("domain", Kind::Text, "List only items of this domain."),
                may("all", Kind::Flag, "Include items that are retired or were seen too rarely."),
            ])
            .json("conductor.expertise/1", "items [object]"),
        "expertise list --json {options}",
        At::Project,
    ),
    verb(
        post("/api/projects/{project}/expertise", ADMIN, "Add an item", by!(carry))
            .body(&[
                must("claim", Kind::Words, CLAIM),
                may("kind", KINDS, "Choose the kind of claim (default: pattern)."),
                DOMAIN,
                SCOPE,
                CHECK,
            ])
            .json(ITEM, "")
            .status(201),
        "expertise add --json {options} -- {claim}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/expertise-stats",
            VIEWER,
            "Compare tasks with items to tasks without, and show how agents and models did",
            by!(carry),
        )
        .json("conductor.expertise-stats/1", ""),
        "expertise stats --json",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/expertise-evidence",
            VIEWER,
            "Show the evidence behind estimates, the choice of models and the overlap of tasks",
            by!(carry),
        )
        .json(
            "conductor.expertise-evidence/1",
            "times [object], models [object], advice [object], together [object], touched [object]",
        ),
        "expertise evidence --json --file={file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/expertise-export",
            VIEWER,
            "The items as a file to share, as `.conductor/expertise.yaml` has them",
            by!(carry),
        )
        .other("application/yaml"),
        "expertise export",
        At::Project,
    ),
    Verb {
        input: Some("text"),
        ..verb(
            post(
                "/api/projects/{project}/expertise-import",
                ADMIN,
                "Import the items in a file: all of them, or none if one is invalid",
                by!(carry),
            )
            .body(&[must("text", Kind::Words, "The file, as an export writes it.")])
            .json("conductor.expertise-imported/1", "items whole, changed whole"),
            "expertise import --json -",
            At::Project,
        )
    },
    verb(
        post(
            "/api/projects/{project}/expertise-learn",
            ADMIN,
            "Have a model turn what a task's agent and its tools said into items; costs money",
            by!(carry),
        )
        .body(&[
            must("task", Kind::Text, "Read the newest attempt of this task."),
            must("max_cost", Kind::Amount, "Stop the model once it has cost this much, in dollars."),
            may("run", Kind::Text, "Use this run (default: the newest one of the project with the task)."),
            may("agent", Kind::Agent, "Ask this agent (default: the configured agent)."),
            may("model", Kind::Text, "Ask with this model."),
        ])
        .json("conductor.expertise-learned/1", "items [text], dropped [text]"),
        "expertise learn --json {options} -- {task}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/expertise-resume",
            ADMIN,
            "Give items to agents again after expertise was paused, and start measuring afresh",
            by!(carry),
        )
        .json("conductor.expertise-resumed/1", "was_paused flag"),
        "expertise resume --json",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/expertise-validate",
            ADMIN,
            "Look whether items still hold; runs those of their checks that the task file has, and changes nothing",
            by!(carry),
        )
        .json("conductor.expertise-validated/1", "items whole, findings [object]"),
        "expertise validate --json --file={file}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/expertise-improve",
            ADMIN,
            "Retire the items that do not hold any more, as `validate` finds them",
            by!(carry),
        )
        .json("conductor.expertise-validated/1", "items whole, findings [object]"),
        "expertise improve --json --file={file}",
        At::Project,
    ),
    verb(
        get(
            "/api/projects/{project}/expertise/{item}",
            VIEWER,
            "An item with its evidence, or the page of a domain",
            by!(carry),
        )
        .json(ITEM, ""),
        "expertise show --json -- {item}",
        At::Project,
    ),
    verb(
        put(
            "/api/projects/{project}/expertise/{item}",
            ADMIN,
            "Change an item; its earlier versions are kept",
            by!(carry),
        )
        .body(&[may("claim", Kind::Words, CLAIM), DOMAIN, SCOPE, CHECK])
        .json(ITEM, ""),
        "expertise edit --json {options} -- {item}",
        At::Project,
    ),
    verb(
        get("/api/projects/{project}/expertise/{item}/history", VIEWER, "The versions of an item", by!(carry))
            .json("conductor.expertise-history/1", "item text, versions [object]"),
        "expertise history --json -- {item}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/expertise/{item}/retire",
            ADMIN,
            "Stop giving an item to agents",
            by!(carry),
        )
        .json(ITEM, ""),
        "expertise retire --json -- {item}",
        At::Project,
    ),
    verb(
        post(
            "/api/projects/{project}/expertise/{item}/restore",
            ADMIN,
            "Give a retired item to agents again, or go back to an earlier version of it",
            by!(carry),
        )
        .body(&[may("version", Kind::Whole(1, 1_000_000), "Go back to this version, byte for byte.")])
        .json(ITEM, ""),
        "expertise restore --json {options} -- {item}",
        At::Project,
    ),
];
