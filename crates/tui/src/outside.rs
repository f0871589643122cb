//! Other programs in the terminal, while the view has given it back: the pager, the editor, the merge tool, gh.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::app::Edit;
use crate::feed::Feed;

/// What the user set, else something that is everywhere.
fn set(names: &[&str], usual: &str) -> String {
    let found =
        names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.trim().is_empty());
    found.unwrap_or_else(|| usual.to_owned())
}

/// What a command prints, in the user's pager.
pub(crate) async fn page(feed: &Feed, words: &[String]) -> io::Result<()> {
    let mut program = feed.command(words);
    program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut program = program.spawn()?;
    let pager = set(&["CONDUCTOR_PAGER", "PAGER"], "less");
    let mut command = Command::new("sh");
    command.args(["-c", &pager]);
    if let Some(out) = program.stdout.take() {
        command.stdin(out);
    }
    if std::env::var_os("LESS").is_none() {
        // Colours as they are, from the end on; a pager even for what fits the screen.
        command.env("LESS", "R");
    }
    let done = command.status().await;
    // A pager that is left early does not read the rest.
    let _ = program.kill();
    let _ = program.wait();
    succeeded(&pager, done?)
}

/// Files of a folder in the user's editor; a conflict in the merge tool that git is set up with.
pub(crate) async fn edit(edit: &Edit) -> io::Result<()> {
    if edit.is_conflict && has_merge_tool(&edit.folder).await {
        let done = Command::new("git").arg("mergetool").current_dir(&edit.folder).status().await?;
        return succeeded("git mergetool", done);
    }
    let editor = set(&["VISUAL", "EDITOR"], "vi");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{editor} \"$@\""), "sh"]).current_dir(&edit.folder);
    match edit.files.is_empty() {
        true => command.arg("."),
        false => command.args(&edit.files),
    };
    succeeded(&editor, command.status().await?)
}

async fn has_merge_tool(folder: &Path) -> bool {
    let mut git = Command::new("git");
    git.args(["config", "merge.tool"]).current_dir(folder).stdin(Stdio::null());
    git.output().await.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

/// The user sees what both programs say, and answers what gh asks.
const PULL_REQUEST: &str = r#"
remote=$(git remote | grep -x origin || git remote | head -n 1)
if [ -z "$remote" ]; then echo "this repository has no remote to push to"; else
git push "$remote" "$1:$1" && gh pr create --head "$1" --fill; fi
code=$?
printf 'Enter goes back to conductor: '
read -r _
exit $code
"#;

pub(crate) async fn pull_request(branch: &str, directory: &Path) -> io::Result<()> {
    let mut command = Command::new("sh");
    command.args(["-c", PULL_REQUEST, "sh", branch]).current_dir(directory);
    succeeded("the pull request", command.status().await?)
}

fn succeeded(what: &str, status: std::process::ExitStatus) -> io::Result<()> {
    match status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{what} failed ({status})"))),
    }
}
