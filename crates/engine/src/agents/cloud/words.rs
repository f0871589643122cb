//! What a session is told beside its task: where it begins, and where its work has to go.

/// The line that the message of a last commit ends with.
pub(super) const DONE: &str = "Conductor-Done";

/// The line that the anchor's message ends with.
pub(super) const ATTEMPT: &str = "Conductor-Attempt";

/// The task, and what is only true in the cloud. The first step comes first: some sessions start on the default branch.
pub(super) fn prompt(task: &str, branch: &str, anchor: &str, mark: &str) -> String {
    let result = format!("claude/{}", branch.replace('/', "-"));
    format!(
        "Before anything else, begin at the right commit: run `git fetch origin {branch}` and then \
         `git checkout -B {result} {anchor}`. Work that does not build on {anchor} cannot be taken.\n\n\
         {task}\n\n\
         ## Where the work goes\n\n\
         - Commit your work and push it: `git push origin HEAD:{result}`. If that name is refused, push to any other new branch. \
         What is not pushed does not count as done.\n\
         - Do not open a pull request, and do not push to {branch} or to the default branch.\n\
         - When everything is done, let the message of your last commit end with a line of its own: `{DONE}: {mark}`. \
         Push that, too.\n"
    )
}

/// The message of an anchor.
pub(super) fn anchor(title: &str, mark: &str) -> String {
    format!(
        "Start of {title}\n\nAn empty commit by which the work of a session is known again.\n\n{ATTEMPT}: {mark}\n"
    )
}

/// Whether a commit's message says that all is done.
pub(super) fn is_last(message: &str, mark: &str) -> bool {
    let line = format!("{DONE}: {mark}");
    message.lines().any(|said| said.trim() == line)
}
