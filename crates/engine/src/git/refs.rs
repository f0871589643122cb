//! The refs and tags of the repository: read, listed, moved and deleted.

use super::{GitError, Repository, output, with_input};

impl Repository {
    /// What a ref points to; nothing where there is no such ref. Most are a small file, which needs no git to
    /// be read.
    pub fn read_ref(&self, name: &str) -> Result<Option<String>, GitError> {
        let file = std::fs::read_to_string(self.common.join(name)).unwrap_or_default();
        if name.starts_with("refs/") && matches!(file.trim_end().len(), 40 | 64) && !file.starts_with("ref:")
        {
            return Ok(Some(file.trim_end().to_owned()));
        }
        let mut command = self.command();
        command
            .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(format!("{name}^{{commit}}"));
        match output(command) {
            Ok(commit) => Ok(Some(commit)),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Moves a ref if it still is where it was; `old` empty makes it, `new` empty takes it away. Whether it
    /// was moved.
    pub fn move_ref(&self, name: &str, new: &str, old: &str) -> Result<bool, GitError> {
        let mut command = self.command();
        let zero = "0".repeat(new.len().max(old.len()));
        let or_zero = |commit: &str| if commit.is_empty() { zero.clone() } else { commit.to_owned() };
        command.args(["update-ref", "--no-deref", "--create-reflog", "-m", "conductor"]);
        command.arg(name).arg(or_zero(new)).arg(or_zero(old));
        match output(command) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(self.read_ref(name)?.unwrap_or_default() == new),
            Err(error) => Err(error),
        }
    }

    /// Sets a ref wherever it was. For refs that only one attempt writes.
    pub fn set_ref(&self, name: &str, commit: &str) -> Result<(), GitError> {
        if self.write_loose(name, commit) {
            return Ok(());
        }
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", name, commit]);
        output(command).map(drop)
    }

    /// Sets many refs at once, wherever they were; those without a commit are taken away. All of it happens
    /// or none.
    pub fn set_refs(&self, refs: &[(String, Option<String>)]) -> Result<(), GitError> {
        if refs.is_empty() {
            return Ok(());
        }
        let line = |(name, commit): &(String, Option<String>)| match commit {
            Some(commit) => format!("update {name} {commit}\n"),
            None => format!("delete {name}\n"),
        };
        let lines: String = refs.iter().map(line).collect();
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-m", "conductor", "--stdin"]);
        with_input(command, lines.as_bytes()).map(drop)
    }

    pub fn delete_ref(&self, name: &str) -> Result<(), GitError> {
        let mut command = self.command();
        command.args(["update-ref", "--no-deref", "-d", name]);
        output(command).map(drop)
    }

    /// Names of refs below a prefix, with what they point to.
    pub fn refs(&self, prefix: &str) -> Result<Vec<(String, String)>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname) %(objectname)", prefix]);
        let text = output(command)?;
        Ok(text.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.into(), b.into())).collect())
    }

    /// Names of all refs that are one of these or below one.
    pub fn named(&self, names: &[String]) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname)"]).args(names);
        Ok(output(command)?.lines().map(str::to_owned).collect())
    }

    /// Every ref in whose history a commit is.
    pub fn holders(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname)", "--contains", commit]);
        Ok(output(command)?.lines().map(str::to_owned).collect())
    }

    /// Refs below a prefix, with their commits' first lines.
    pub fn subjects(&self, prefix: &str) -> Result<Vec<(String, String, String)>, GitError> {
        let mut command = self.command();
        command.args(["for-each-ref", "--format=%(refname) %(objectname) %(contents:subject)", prefix]);
        let entry = |line: &str| {
            let mut parts = line.splitn(3, ' ').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?))
        };
        Ok(output(command)?.lines().filter_map(entry).collect())
    }

    /// Makes an annotated tag.
    pub fn tag(&self, name: &str, commit: &str, message: &str) -> Result<(), GitError> {
        let (user, email) = self.identity();
        let mut command = self.command();
        command.env("GIT_COMMITTER_NAME", user).env("GIT_COMMITTER_EMAIL", email);
        command.args(["tag", "--annotate", "--no-sign", "--cleanup=verbatim", "-F", "-", "--", name, commit]);
        with_input(command, message.as_bytes()).map(drop)
    }

    /// Annotated tags below a prefix: name, commit, when made, message.
    pub fn tags(&self, prefix: &str) -> Result<Vec<(String, String, i64, String)>, GitError> {
        let mut command = self.command();
        let format = "--format=%(refname)%00%(*objectname)%00%(taggerdate:unix)%00%(contents)%01";
        command.args(["for-each-ref", format, prefix]);
        let text = output(command)?;
        let entry = |entry: &str| {
            let mut parts = entry.trim_start_matches('\n').splitn(4, '\0').map(str::to_owned);
            Some((parts.next()?, parts.next()?, parts.next()?.parse().ok()?, parts.next()?))
        };
        Ok(text.split('\u{1}').filter_map(entry).collect())
    }
}
