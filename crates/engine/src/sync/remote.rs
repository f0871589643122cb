//! One remote: what is there, read and checked.

use std::collections::BTreeMap;
use std::path::PathBuf;

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::sync::{
    self as carried, CONTENTS, Claim, Contents, Local, MANIFEST, Machine, Manifest, Relation, There,
};
use conductor_core::values::address::password_in;
use conductor_core::values::ids::RunId;

use super::address::Address;
use super::error::{SyncError, at};
use super::keys::Key;
use super::notes::{self, Agreed, RunNote};
use super::sealing::{self, Unsealed, digest, name_of};
use crate::git::ref_store::{RefStore, Swap, Swapped};
use crate::host::home::Home;
use crate::host::redact;

/// The refs at the remote.
pub(super) const RUNS: &str = "refs/conductor-sync/runs/";
pub(super) const ITEMS: &str = "refs/conductor-sync/expertise/";

const MANIFEST_FILE: &str = "manifest.json";
const CONTENTS_FILE: &str = "contents.json";
pub(super) const LOG: &str = "log.jsonl";

/// What the user has configured, with the built-in values filled in.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For whom parts are sealed, beside this machine.
    pub recipients: Vec<String>,
    /// The file with this machine's key.
    pub identity: PathBuf,
    pub transcripts: bool,
    /// Whether the remote may be a repository's own.
    pub code_remote: bool,
    pub plain: bool,
}

pub struct Remote {
    pub(super) home: Home,
    pub(super) address: Address,
    pub(super) store: RefStore,
    pub(super) us: Machine,
    pub(super) settings: Settings,
}

/// A run as it is at the remote, as far as all can read it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) name: String,
    pub(super) commit: String,
    pub(super) manifest: Manifest,
    files: BTreeMap<String, String>,
}

/// What is to be at a ref, in our own directory.
pub(super) struct Put {
    pub(super) commit: String,
    /// The blob of its contents.
    pub(super) contents: Option<String>,
    /// How large what is new in it is.
    pub(super) bytes: u64,
}

/// A run of this machine, to be compared.
pub(super) struct Here<'a> {
    pub(super) run: &'a RunId,
    pub(super) records: &'a [Record],
    pub(super) is_active: bool,
}

impl Remote {
    /// Nothing is asked of it yet, and nothing made there.
    pub fn open(home: &Home, address: Address, settings: Settings) -> Result<Remote, SyncError> {
        // Git says addresses as they are when something goes wrong.
        redact::learn(
            password_in(&address.git).into_iter().map(|secret| secret.as_bytes().to_vec()).collect(),
        );
        let folder = notes::of_remote(home, &address.git);
        let shown = address.shown().to_owned();
        let store =
            RefStore::open(&folder, &address.git).map_err(|source| SyncError::Git { shown, source })?;
        let us = notes::machine(home)?;
        Ok(Remote { home: home.clone(), address, store, us, settings })
    }

    /// The remote at which a run was pushed or pulled last.
    pub(super) fn of_note(home: &Home, note: &RunNote, settings: Settings) -> Result<Remote, SyncError> {
        let address = Address::of(&note.address, std::path::Path::new("/"))?;
        Remote::open(home, address, settings)
    }

    pub fn shown(&self) -> &str {
        self.address.shown()
    }

    pub fn machine(&self) -> &Machine {
        &self.us
    }

    /// For whom what is pushed is sealed; none where it is pushed in plain text.
    pub fn recipients(&self) -> Result<Vec<String>, SyncError> {
        if self.settings.plain {
            return Ok(Vec::new());
        }
        let mut all = self.settings.recipients.clone();
        match Key::read(&self.settings.identity) {
            Ok(key) => all.extend(key.public()),
            // One who only pushes needs no key of its own.
            Err(SyncError::NoKey(_)) if !all.is_empty() => {}
            Err(SyncError::NoKey(_)) => return Err(SyncError::NoRecipient),
            Err(error) => return Err(error),
        }
        for one in &mut all {
            *one = one.trim().to_owned();
            super::keys::recipient(one)?;
        }
        all.sort();
        all.dedup();
        Ok(all)
    }

    /// Whether the user has pushed there before, and in plain text if that is wanted now.
    pub fn may_push(&self) -> Result<bool, SyncError> {
        let agreed = notes::agreed(&self.home, &self.address.git)?;
        Ok(if self.settings.plain { agreed.plain } else { agreed.push })
    }

    pub fn agree_to_push(&self) -> Result<(), SyncError> {
        let agreed = notes::agreed(&self.home, &self.address.git)?;
        let plain = agreed.plain || self.settings.plain;
        notes::agree(&self.home, &self.address.git, Agreed { push: true, plain, ..agreed })
    }

    /// Whether the user has pulled from there before: what it holds is believed and can be gone on with.
    pub fn may_pull(&self) -> Result<bool, SyncError> {
        Ok(notes::agreed(&self.home, &self.address.git)?.pull)
    }

    pub fn agree_to_pull(&self) -> Result<(), SyncError> {
        let agreed = notes::agreed(&self.home, &self.address.git)?;
        notes::agree(&self.home, &self.address.git, Agreed { pull: true, ..agreed })
    }

    pub(super) fn told(&self, source: crate::git::GitError) -> SyncError {
        SyncError::Git { shown: self.shown().to_owned(), source }
    }

    /// All refs of ours below a prefix. A directory in which nothing was pushed yet has none.
    pub(super) fn list(&self, prefix: &str) -> Result<BTreeMap<String, String>, SyncError> {
        if let Some(git) = &self.address.local {
            if !RefStore::is_repository(git) {
                return Ok(BTreeMap::new());
            }
            self.store.be_as_local(git).map_err(|source| self.told(source))?;
        }
        self.store.list(prefix).map_err(|source| self.told(source))
    }

    /// The runs at the remote, of these if any are named. One that cannot be read is told by its name.
    pub(super) fn seen(
        &self,
        wanted: &[RunId],
    ) -> Result<BTreeMap<RunId, Result<Seen, SyncError>>, SyncError> {
        let listed = self.list(RUNS)?;
        let each = listed.iter().filter_map(|(name, commit)| {
            let run = RunId::parse(name.strip_prefix(RUNS)?)?;
            (wanted.is_empty() || wanted.contains(&run)).then_some((run, name, commit))
        });
        let each: Vec<_> = each.collect();
        let refs: Vec<_> = each.iter().map(|(_, name, commit)| (*name, *commit)).collect();
        self.fetch(&refs)?;
        Ok(each.into_iter().map(|(run, name, commit)| (run.clone(), self.look(&run, name, commit))).collect())
    }

    /// Where one of many is broken it does not keep the others here.
    fn fetch(&self, refs: &[(&String, &String)]) -> Result<(), SyncError> {
        match self.store.fetch(refs) {
            Err(_) if refs.len() > 1 => {
                for one in refs {
                    // `look` says what is wrong with it.
                    let _ = self.store.fetch(&[*one]);
                }
                Ok(())
            }
            Err(_) if refs.len() == 1 => Ok(()),
            done => done.map_err(|source| self.told(source)),
        }
    }

    pub(super) fn see(&self, run: &RunId) -> Result<Option<Seen>, SyncError> {
        self.seen(std::slice::from_ref(run))?.remove(run).transpose()
    }

    fn look(&self, run: &RunId, name: &str, commit: &str) -> Result<Seen, SyncError> {
        let damaged = |why: String| SyncError::Damaged { run: run.clone(), why };
        if !self.store.has(commit) {
            // Once more, for git's own words.
            let pair = (&name.to_owned(), &commit.to_owned());
            self.store.fetch(&[(pair.0, pair.1)]).map_err(|error| damaged(error.to_string()))?;
        }
        let files = self.store.files(commit).map_err(|error| damaged(error.to_string()))?;
        let blob = files.get(MANIFEST_FILE).ok_or_else(|| damaged(format!("it has no {MANIFEST_FILE}")))?;
        let bytes = self.store.read(blob).map_err(|error| damaged(error.to_string()))?;
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(format!("its {MANIFEST_FILE} cannot be read: {error}")))?;
        if manifest.schema != MANIFEST {
            return Err(damaged(format!(
                "its form is {}, this conductor knows {MANIFEST}; update conductor",
                manifest.schema
            )));
        }
        if manifest.run != *run {
            return Err(damaged(format!("it is run {}", manifest.run)));
        }
        if manifest.recipients.iter().any(|one| super::keys::recipient(one).is_err()) {
            return Err(damaged("it is encrypted for what is no public key".to_owned()));
        }
        Ok(Seen { name: name.to_owned(), commit: commit.to_owned(), manifest, files })
    }

    fn part(&self, seen: &Seen, name: &str) -> Result<Vec<u8>, SyncError> {
        let run = &seen.manifest.run;
        let damaged = |why: String| SyncError::Damaged { run: run.clone(), why };
        let is_plain = seen.manifest.recipients.is_empty();
        let file = name_of(name, is_plain);
        let blob = seen.files.get(&file).ok_or_else(|| damaged(format!("it has no {file}")))?;
        let bytes = self.store.read(blob).map_err(|error| damaged(error.to_string()))?;
        if is_plain {
            return Ok(bytes);
        }
        let path = &self.settings.identity;
        sealing::unseal(&bytes, &Key::read(path)?).map_err(|unsealed| match unsealed {
            Unsealed::NotForUs => {
                SyncError::NotForUs { recipients: seen.manifest.recipients.clone(), path: path.clone() }
            }
            Unsealed::Damaged(why) => damaged(format!("{file}: {why}")),
        })
    }

    pub(super) fn contents(&self, seen: &Seen) -> Result<Contents, SyncError> {
        let run = &seen.manifest.run;
        let damaged = |why: String| SyncError::Damaged { run: run.clone(), why };
        let contents: Contents = serde_json::from_slice(&self.part(seen, CONTENTS_FILE)?)
            .map_err(|error| damaged(format!("its {CONTENTS_FILE} cannot be read: {error}")))?;
        if contents.schema != CONTENTS {
            return Err(damaged(format!("its form is {}, this conductor knows {CONTENTS}", contents.schema)));
        }
        // What is sealed names the run and its length: another run, or an older push, in its place is noticed.
        match &contents.run == run && contents.events == seen.manifest.events {
            true => Ok(contents),
            false => Err(damaged(format!(
                "it says that it has {} events of run {run}, and holds {} of run {}",
                seen.manifest.events, contents.events, contents.run
            ))),
        }
    }

    /// A part that the contents name, and that is what they say; nothing where they do not name it.
    pub(super) fn checked(
        &self,
        seen: &Seen,
        contents: &Contents,
        name: &str,
    ) -> Result<Option<Vec<u8>>, SyncError> {
        let Some(said) = contents.parts.get(name) else { return Ok(None) };
        let bytes = self.part(seen, name)?;
        match digest(&bytes) == *said {
            true => Ok(Some(bytes)),
            false => {
                let why = format!("{name} is not what was pushed: its checksum differs");
                Err(SyncError::Damaged { run: seen.manifest.run.clone(), why })
            }
        }
    }

    /// The log, folded.
    pub(super) fn log(&self, seen: &Seen, contents: &Contents) -> Result<(Vec<Record>, Run), SyncError> {
        let run = &seen.manifest.run;
        let damaged = |why: String| SyncError::Damaged { run: run.clone(), why };
        let bytes = self.checked(seen, contents, LOG)?.ok_or_else(|| damaged(format!("it has no {LOG}")))?;
        let text = String::from_utf8(bytes).map_err(|_| damaged(format!("{LOG} is no text")))?;
        let read = carried::read(&text).map_err(|source| SyncError::BadLog { run: run.clone(), source })?;
        match read.0.len() as u64 == contents.events {
            true => Ok(read),
            false => {
                Err(damaged(format!("its log has {} events instead of {}", read.0.len(), contents.events)))
            }
        }
    }

    /// How a log stands to the remote's. It is read only where the remote has moved since we saw it last.
    pub(super) fn relation(&self, seen: &Seen, here: &Here<'_>) -> Result<Relation, SyncError> {
        let ours = here.records.len() as u64;
        if let Some(note) = notes::run(&self.home, here.run)?
            && note.commit == seen.commit
            && note.address == self.address.git
            && ours >= note.events
        {
            return Ok(match ours - note.events {
                0 => Relation::Same,
                more => Relation::Ahead(more),
            });
        }
        let (there, _) = self.log(seen, &self.contents(seen)?)?;
        Ok(carried::relation(&carried::lines(here.records)?, &carried::lines(&there)?))
    }

    pub(super) fn local<'a>(&'a self, here: &Here<'a>) -> Local<'a> {
        let events = here.records.len() as u64;
        Local { run: here.run, us: &self.us, events, is_active: here.is_active }
    }

    /// What the remote has of a run now. The rest stays as it was noted before.
    pub(super) fn note(
        &self,
        run: &RunId,
        commit: &str,
        events: u64,
        before: &RunNote,
    ) -> Result<(), SyncError> {
        let (address, commit) = (self.address.git.clone(), commit.to_owned());
        notes::note_run(&self.home, run, &RunNote { address, commit, events, ..before.clone() })
    }

    /// Replaces the claim of a run, and nothing else of it.
    pub(super) fn set_claim(&self, seen: &Seen, claim: Option<Claim>) -> Result<String, SyncError> {
        let manifest = Manifest { claim, ..seen.manifest.clone() };
        let mut files = seen.files.clone();
        let blob =
            self.store.put(&serde_json::to_vec_pretty(&manifest)?).map_err(|source| self.told(source))?;
        files.insert(MANIFEST_FILE.to_owned(), blob);
        let commit = self.store.commit(&files, &message(&manifest)).map_err(|source| self.told(source))?;
        if commit == seen.commit {
            return Ok(commit);
        }
        let swap =
            Swap { name: seen.name.clone(), from: Some(seen.commit.clone()), to: Some(commit.clone()) };
        self.swap_one(&seen.manifest.run, &swap)?;
        Ok(commit)
    }

    fn swap_one(&self, run: &RunId, swap: &Swap) -> Result<(), SyncError> {
        let became = self.store.swap(std::slice::from_ref(swap)).map_err(|source| self.told(source))?;
        match became.into_iter().next() {
            Some(Swapped::Done) => Ok(()),
            Some(Swapped::Moved) | None => Err(SyncError::Moved(run.clone())),
            Some(Swapped::Refused(why)) => Err(SyncError::Rejected { name: swap.name.clone(), why }),
        }
    }

    /// Puts what is to be at a ref into our own directory.
    pub(super) fn put(
        &self,
        manifest: &Manifest,
        contents: &Contents,
        parts: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Put, SyncError> {
        let (mut files, mut bytes) = (BTreeMap::new(), 0);
        let mut add = |name: String, part: &[u8]| -> Result<(), SyncError> {
            bytes += part.len() as u64;
            files.insert(name, self.store.put(part).map_err(|source| self.told(source))?);
            Ok(())
        };
        add(MANIFEST_FILE.to_owned(), &serde_json::to_vec_pretty(manifest)?)?;
        let inner = serde_json::to_vec_pretty(contents)?;
        let each = parts.iter().map(|(name, part)| (name.as_str(), part.as_slice()));
        for (name, part) in each.chain([(CONTENTS_FILE, inner.as_slice())]) {
            let is_plain = manifest.recipients.is_empty();
            match is_plain {
                true => add(name_of(name, true), part)?,
                false => add(name_of(name, false), &sealing::seal(part, &manifest.recipients)?)?,
            }
        }
        let commit = self.store.commit(&files, &message(manifest)).map_err(|source| self.told(source))?;
        let contents = files.remove(&name_of(CONTENTS_FILE, manifest.recipients.is_empty()));
        Ok(Put { commit, contents, bytes })
    }

    /// Has the repository in a directory, where something is pushed there for the first time.
    pub(super) fn make(&self) -> Result<(), SyncError> {
        let Some(git) = &self.address.local else { return Ok(()) };
        if let Some(folder) = git.parent().filter(|folder| !folder.is_dir()) {
            std::fs::create_dir_all(folder).map_err(at(folder))?;
        }
        match RefStore::is_repository(git) {
            true => Ok(()),
            false => RefStore::make_remote(git).map_err(|source| self.told(source)),
        }
    }
}

impl Seen {
    /// The blob of what belongs to the log and of the log itself: another one with each push, the same with each claim.
    pub(super) fn contents_blob(&self) -> Option<&str> {
        let file = name_of(CONTENTS_FILE, self.manifest.recipients.is_empty());
        self.files.get(&file).map(String::as_str)
    }

    pub(super) fn there(&self, relation: Relation) -> There<'_> {
        let Manifest { events, from, claim, .. } = &self.manifest;
        There { relation, events: *events, from, claim: claim.as_ref() }
    }
}

fn message(manifest: &Manifest) -> String {
    format!("{} events of run {}\n", manifest.events, manifest.run)
}
