//! Keys of other tools.

/// Keys of other tools, and what they are called here.
const FOREIGN: [(&str, &str); 19] = [
    ("blocked_by", "dependencies"),
    ("budget", "max_cost"),
    ("checks", "verify"),
    ("cmd", "run"),
    ("command", "run"),
    ("defaults", "config"),
    ("deps", "dependencies"),
    ("instructions", "prompt"),
    ("needs", "dependencies"),
    ("on_error", "recovery"),
    ("order", "execution_order"),
    ("retries", "max_attempts"),
    ("retries", "retry_policy"),
    ("retry", "retry_policy"),
    ("script", "run"),
    ("settings", "config"),
    ("shell", "run"),
    ("steps", "tasks"),
    ("version", "metadata"),
];

/// Our word for another tool's key, where it is one of the candidates.
pub(super) fn translated(
    word: &str,
    candidates: impl Iterator<Item = &'static str> + Clone,
) -> Option<&'static str> {
    let ours = |(foreign, ours): &(&str, &'static str)| {
        (*foreign == word && candidates.clone().any(|candidate| candidate == *ours)).then_some(*ours)
    };
    FOREIGN.iter().find_map(ours)
}
