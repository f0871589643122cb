//! The repository's own file of items: what it has is in the store, and what it has no more is retired.

use std::collections::BTreeSet;

use conductor_core::expertise::{Item, Retirement, SharedItem, Source, read_shared, write_shared};
use conductor_core::values::units::Timestamp;

use super::error::ExpertiseError;
use super::place::SHARED_FILE;
use super::store::{Expertise, failed};
use super::versions::{Author, check};
use crate::host::access;

/// What came of taking a file in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sync {
    pub taken: usize,
    pub retired: usize,
}

impl Expertise {
    /// The file of the user's checkout as it is now, unless it is what was taken in last; with what it is known by.
    async fn fresh_file(&self) -> Result<Option<(Vec<u8>, String)>, ExpertiseError> {
        let path = self.project.shared_file();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failed(&path, &error.to_string())),
        };
        let sum = format!("{:08x} {}", crc32fast::hash(&bytes), bytes.len());
        let known = self.note("file").await?;
        let is_known = known.as_deref() == Some(&sum) || (known.is_none() && bytes.is_empty());
        Ok((!is_known).then_some((bytes, sum)))
    }

    /// Whether what the file of the user's checkout says is in the store.
    pub async fn is_in_step(&self) -> Result<bool, ExpertiseError> {
        Ok(self.fresh_file().await?.is_none())
    }

    /// Takes the file of the user's checkout in, where it differs from what was taken in last.
    pub async fn sync_file(&self, now: Timestamp) -> Result<Sync, ExpertiseError> {
        let Some((bytes, sum)) = self.fresh_file().await? else { return Ok(Sync::default()) };
        let items = read_shared(SHARED_FILE, bytes).map_err(ExpertiseError::File)?;
        let done = self.take_file(&items, now).await?;
        self.set_note("file", Some(&sum)).await?;
        Ok(done)
    }

    async fn take_file(&self, items: &[SharedItem], now: Timestamp) -> Result<Sync, ExpertiseError> {
        let names: BTreeSet<_> = items.iter().map(|item| &item.id).collect();
        let mut done = Sync::default();
        for known in self.all().await? {
            let left = known.item.source == Source::File && known.item.retired.is_none();
            if left && !names.contains(&known.item.id) {
                let why = Retirement::LeftFile;
                let words = why.to_string();
                let item = Item { retired: Some(why), ..known.item };
                self.put(&item, Author::File, &words, now).await?;
                done.retired += 1;
            }
        }
        done.taken = self.import(items, Source::File, now).await?;
        Ok(done)
    }

    /// Takes items in: all of them, or none where one of them is bad. How many are new or differ.
    pub async fn import(
        &self,
        items: &[SharedItem],
        source: Source,
        now: Timestamp,
    ) -> Result<usize, ExpertiseError> {
        let mut changed = Vec::new();
        for SharedItem { id, draft } in items {
            let known = self.get(id).await?.map(|known| known.item);
            let retired = match known.as_ref().and_then(|known| known.retired.clone()) {
                // What left the file and is in it again counts again; what was retired for a reason stays so.
                Some(Retirement::LeftFile) | None => None,
                other => other,
            };
            let item = match known {
                Some(known) if known.draft == *draft && known.retired == retired => continue,
                Some(known) => Item { draft: draft.clone(), edited: true, retired, ..known },
                None => Item::new(id.clone(), draft.clone(), source),
            };
            check(&item)?;
            changed.push(item);
        }
        let author = if source == Source::File { Author::File } else { Author::User };
        for item in &changed {
            self.put(item, author, "imported", now).await?;
        }
        Ok(changed.len())
    }

    /// The text of the file for all items that are given.
    pub async fn export(&self) -> Result<String, ExpertiseError> {
        let told = self.all().await?.into_iter().map(|one| one.item).filter(Item::is_told);
        let items: Vec<SharedItem> = told.map(|item| SharedItem { id: item.id, draft: item.draft }).collect();
        Ok(write_shared(&items))
    }

    /// Writes the file of the user's checkout. What it holds then is what is in the store.
    pub async fn export_file(&self) -> Result<(std::path::PathBuf, usize), ExpertiseError> {
        let (path, text) = (self.project.shared_file(), self.export().await?);
        let told = |error: std::io::Error| failed(&path, &error.to_string());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(told)?;
        }
        access::replace(&path, text.as_bytes()).map_err(told)?;
        Ok((path.clone(), text.matches("\n  - id: ").count()))
    }
}
