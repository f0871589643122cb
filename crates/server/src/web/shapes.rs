//! Parts of answers that have a name: written as the fields of an answer are, described once, and used by the page's types.

/// Name, and its fields.
pub(crate) const SHAPES: &[(&str, &str)] = &[
    (
        "Counts",
        "pending whole, running whole, waiting whole, completed whole, failed whole, skipped whole, cancelled whole, landing whole",
    ),
    (
        "AtWork",
        "task text, epic_id text?, attempt whole, phase text, for_ms whole?, agent text?, model text?, pid whole?, cost_usd number?, last_tool text?",
    ),
    ("Reason", "words text"),
    ("Waiting", "task text, why [Reason]"),
    ("TaskWords", "task text, words text"),
    ("TaskQuestion", "task text, question text"),
    ("ParkedAgent", "agent text, until text"),
    (
        "Listed",
        "run text, project text?, directory text, source text, tasks whole, state text, live flag, created_at text, \
         can_be_resumed flag, figures Figures?",
    ),
    (
        "Figures",
        "shown Shown, cost_usd number?, known_cost_usd number, tokens whole, max_cost_usd number?, elapsed_ms whole, \
         ended_at text?, slots whole, by text",
    ),
    (
        "Shown",
        "pending whole, waiting whole, running whole, needs whole, landed whole, completed whole, failed whole, \
         conflict whole, skipped whole, cancelled whole",
    ),
    (
        "RunTask",
        "id text, name text, epic_id text?, group text?, status text, state text, phase text?, priority whole, \
         dependencies [text], attempts whole, tried whole, agent text?, model text?, started_at text?, ended_at text?, \
         worked_ms whole, cost_usd number?, tokens whole, commit text?, added whole?, removed whole?, files_changed whole?, \
         words text?",
    ),
    (
        "Need",
        "kind text, run text, project text?, source text, task text?, name text?, words text, evidence text, why text, \
         since text?, due text?, otherwise text, held whole, live flag, seq whole, agent text?, model text?, attempt whole?, \
         cost_usd number?, isolation text?, workspace text?, commit text?, files whole?, added whole?, removed whole?",
    ),
    ("Decision", "attempt whole, nature text, strategy text, reason text"),
    ("Failure", "class text, message text, evidence text?, findings [Finding]?"),
    ("Finding", "level text, message text, file text?, line whole?, column whole?, code text?, by text?"),
    ("AskedOfUser", "tool text?, what text?, put text, since text"),
    ("Touched", "files [text], created whole?, added whole?, removed whole?"),
    (
        "TaskDetail",
        "id text, name text, epic_id text?, group text?, kind text, work any, verify [text], files [text], \
         status text, state text, phase text?, priority whole, dependencies [text], attempts whole, tried whole, \
         agent text?, model text?, started_at text?, ended_at text?, worked_ms whole, cost_usd number?, tokens whole, \
         commit text?, added whole?, removed whole?, files_changed whole?, words text?, failure Failure?, \
         findings [Finding], question AskedOfUser?, touched Touched?, chosen any, max_cost_usd number?, output_tokens whole, cloud text?, \
         checks [CheckRun], last_tool ToolCall?",
    ),
    ("CheckRun", "on text, command text, at text, took_ms whole, passed flag, why text?, lines [text]"),
    ("ToolCall", "tool text, what text, from text, to text, failed flag"),
    ("ConflictVersion", "kind text, text text?, bytes whole?"),
    (
        "ConflictFile",
        "path text, base ConflictVersion, ours ConflictVersion, theirs ConflictVersion, now ConflictVersion",
    ),
    ("Attempt", "attempt whole, executor whole?, from_ms whole, to_ms whole?, end text?, phases [any]"),
    ("Project", "id text, name text, directory text, file text, created_at text"),
    ("DoneBy", "run text, at text, commit text?, unmerged_branch text?"),
    (
        "ProjectTask",
        "id text, name text, epic_id text?, group text?, kind text, work any, agent text?, model text?, verify any, files any, \
         dependencies [text], status text, done flag, done_by DoneBy?, run text?",
    ),
    (
        "CostLine",
        "key text?, kind text, attempts whole, untold_attempts whole, turns whole, tokens whole, cost_usd number?, known_cost_usd number, unpriced_tokens whole",
    ),
];

pub(crate) fn is_known(name: &str) -> bool {
    SHAPES.iter().any(|(known, _)| *known == name)
}
