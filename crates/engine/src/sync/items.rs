//! What a project has taught, to the remote and from it. It outlives runs, so it has a ref of its own, named after the
//! repository's first commit: the same on every machine.

use std::collections::BTreeMap;
use std::path::Path;

use conductor_core::expertise::{Item, ItemId, Source};
use conductor_core::sync as carried;
use conductor_core::values::units::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::SyncError;
use super::keys::Key;
use super::origin::Repositories;
use super::remote::{ITEMS, Remote};
use super::sealing::{self, Unsealed, digest, name_of};
use crate::expertise::{Author, Expertise, Project};
use crate::git::ref_store::{Swap, Swapped};
use crate::host::redact;

const SCHEMA: &str = "conductor.sync-expertise/1";
const ITEMS_FILE: &str = "items.jsonl";
const MANIFEST_FILE: &str = "manifest.json";

#[derive(Serialize, Deserialize)]
struct Head {
    schema: String,
    /// The end of the ref's name: what was sealed for one project is not taken for another.
    project: String,
    #[serde(default)]
    recipients: Vec<String>,
}

/// What a push would add to what the remote knows of a project.
pub struct ItemsToPush {
    pub new: usize,
    pub bytes: u64,
    swap: Swap,
}

struct Known {
    commit: String,
    recipients: Vec<String>,
    items: BTreeMap<ItemId, Item>,
}

impl Remote {
    /// Puts together what this machine knows of the project around a directory with what is there. Nothing outside of a
    /// repository, and where all is there already.
    pub async fn items_to_push(&self, directory: &Path) -> Result<Option<ItemsToPush>, SyncError> {
        let Some(name) = name_of_project(directory) else { return Ok(None) };
        if !self.settings.code_remote {
            self.address.check_is_not_of_code(directory)?;
        }
        let ours = self.items_here(directory).await?;
        let known = self.items_there(&name)?;
        let mut whole = known.as_ref().map(|known| known.items.clone()).unwrap_or_default();
        let mut new = 0;
        for item in ours {
            if let Some(joined) = carried::joined(whole.get(&item.id), &item) {
                whole.insert(item.id.clone(), joined);
                new += 1;
            }
        }
        let recipients = self.recipients()?;
        let is_settled = known.as_ref().is_some_and(|known| known.recipients == recipients);
        if new == 0 && (is_settled || whole.is_empty()) {
            return Ok(None);
        }
        let (commit, bytes) = self.put_items(&name, recipients, &whole)?;
        let swap =
            Swap { name: format!("{ITEMS}{name}"), from: known.map(|known| known.commit), to: Some(commit) };
        Ok(Some(ItemsToPush { new, bytes, swap }))
    }

    pub fn push_items(&self, items: &ItemsToPush) -> Result<(), SyncError> {
        self.make()?;
        let became =
            self.store.swap(std::slice::from_ref(&items.swap)).map_err(|source| self.told(source))?;
        let name = items.swap.name.clone();
        match became.into_iter().next() {
            Some(Swapped::Done) => Ok(()),
            Some(Swapped::Refused(why)) => Err(SyncError::Rejected { name, why }),
            Some(Swapped::Moved) | None => {
                let why = "another machine pushed at the same moment; push again".to_owned();
                Err(SyncError::Rejected { name, why })
            }
        }
    }

    /// Takes in what the remote knows of the project around a directory. How many items are new or say more.
    pub async fn pull_items(&self, directory: &Path, now: Timestamp) -> Result<usize, SyncError> {
        let Some(name) = name_of_project(directory) else { return Ok(0) };
        let Some(there) = self.items_there(&name)? else { return Ok(0) };
        let store = Expertise::open(self.home.root(), Project::of(directory)).await?;
        let mut taken = 0;
        for item in there.items.values() {
            let known = store.get(&item.id).await?.map(|known| known.item);
            if let Some(joined) = carried::joined(known.as_ref(), item) {
                store.put(&joined, Author::Machine, "from another machine", now).await?;
                taken += 1;
            }
        }
        Ok(taken)
    }

    /// Those of the repository's own file travel with the repository.
    async fn items_here(&self, directory: &Path) -> Result<Vec<Item>, SyncError> {
        let store = Expertise::open_to_look(self.home.root(), Project::of(directory)).await?;
        let Some(store) = store else { return Ok(Vec::new()) };
        let items = store.all().await?.into_iter().map(|known| known.item);
        let redactor = redact::known();
        // What is left of a claim without its secret is no claim.
        let is_clean =
            |item: &Item| serde_json::to_string(item).is_ok_and(|text| redactor.text(&text) == text);
        Ok(items.filter(|item| item.source != Source::File && is_clean(item)).collect())
    }

    fn put_items(
        &self,
        project: &str,
        recipients: Vec<String>,
        items: &BTreeMap<ItemId, Item>,
    ) -> Result<(String, u64), SyncError> {
        let head = Head { schema: SCHEMA.to_owned(), project: project.to_owned(), recipients };
        let mut text = serde_json::to_string(&head)? + "\n";
        for item in items.values() {
            text += &serde_json::to_string(item)?;
            text.push('\n');
        }
        let is_plain = head.recipients.is_empty();
        let part = match is_plain {
            true => text.into_bytes(),
            false => sealing::seal(text.as_bytes(), &head.recipients)?,
        };
        let manifest = serde_json::to_vec_pretty(&head)?;
        let bytes = (part.len() + manifest.len()) as u64;
        let put = |part: &[u8]| self.store.put(part).map_err(|source| self.told(source));
        let files = BTreeMap::from([
            (MANIFEST_FILE.to_owned(), put(&manifest)?),
            (name_of(ITEMS_FILE, is_plain), put(&part)?),
        ]);
        let commit =
            self.store.commit(&files, "expertise of a project\n").map_err(|source| self.told(source))?;
        Ok((commit, bytes))
    }

    fn items_there(&self, project: &str) -> Result<Option<Known>, SyncError> {
        let name = format!("{ITEMS}{project}");
        let damaged = |why: String| SyncError::DamagedItems { name: name.clone(), why };
        let Some(commit) = self.list(&name)?.remove(&name) else { return Ok(None) };
        self.store.fetch(&[(&name, &commit)]).map_err(|error| damaged(error.to_string()))?;
        let files = self.store.files(&commit).map_err(|error| damaged(error.to_string()))?;
        let read = |file: &str| {
            let blob = files.get(file).ok_or_else(|| damaged(format!("it has no {file}")))?;
            self.store.read(blob).map_err(|error| damaged(error.to_string()))
        };
        let unread = |error: serde_json::Error| damaged(error.to_string());
        let head: Head = serde_json::from_slice(&read(MANIFEST_FILE)?).map_err(unread)?;
        let is_plain = head.recipients.is_empty();
        let mut bytes = read(&name_of(ITEMS_FILE, is_plain))?;
        if !is_plain {
            let path = &self.settings.identity;
            bytes = sealing::unseal(&bytes, &Key::read(path)?).map_err(|unsealed| match unsealed {
                Unsealed::Damaged(why) => damaged(why),
                Unsealed::NotForUs => {
                    SyncError::NotForUs { recipients: head.recipients.clone(), path: path.clone() }
                }
            })?;
        }
        let text = String::from_utf8(bytes).map_err(|_| damaged("it is no text".to_owned()))?;
        let mut lines = text.lines();
        let inner: Head = serde_json::from_str(lines.next().unwrap_or_default()).map_err(unread)?;
        if inner.schema != SCHEMA || inner.project != project {
            return Err(damaged(format!("it is {} of project {}", inner.schema, inner.project)));
        }
        let items: Result<Vec<Item>, _> = lines.map(serde_json::from_str).collect();
        let items = items.map_err(unread)?.into_iter().map(|item: Item| (item.id.clone(), item)).collect();
        Ok(Some(Known { commit, recipients: head.recipients, items }))
    }
}

fn name_of_project(directory: &Path) -> Option<String> {
    let mut repositories = Repositories::default();
    let (_, first) = repositories.of(directory)?;
    let named = format!("conductor project {}", first.as_ref()?);
    Some(digest(named.as_bytes()).sha256[..32].to_owned())
}
