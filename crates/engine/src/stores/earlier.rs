//! Runs that are only consulted, for what they teach or claim: one that cannot be read is left out, and stops nothing.

use std::collections::BTreeMap;

use conductor_core::run::Run;
use conductor_core::run::event::Record;
use conductor_core::values::ids::RunId;

use super::{LogReader, StoreError, StoredRun};

pub struct EarlierRuns<'a> {
    store: &'a dyn LogReader,
    unreadable: BTreeMap<RunId, String>,
}

impl<'a> EarlierRuns<'a> {
    pub fn of(store: &'a dyn LogReader) -> EarlierRuns<'a> {
        EarlierRuns { store, unreadable: BTreeMap::new() }
    }

    /// All of them, newest first.
    pub async fn list(&self) -> Result<Vec<StoredRun>, StoreError> {
        self.store.runs().await
    }

    /// Its log; nothing where it cannot be read.
    pub async fn records(&mut self, run: &RunId) -> Option<Vec<Record>> {
        match self.store.load(run, 0).await {
            Ok(records) => Some(records),
            // It was removed between the list and this.
            Err(StoreError::NoSuchRun(_)) => None,
            Err(error) => self.leave_out(run, error.to_string()),
        }
    }

    /// As its log makes it; nothing where it cannot be read.
    pub async fn run(&mut self, run: &RunId) -> Option<Run> {
        let records = self.records(run).await?;
        self.replayed(run, &records)
    }

    /// What its log makes of it; nothing where that does not fit together.
    pub fn replayed(&mut self, run: &RunId, records: &[Record]) -> Option<Run> {
        match Run::replay(records) {
            Ok(replayed) => Some(replayed),
            Err(error) => self.leave_out(run, error.to_string()),
        }
    }

    fn leave_out<T>(&mut self, run: &RunId, why: String) -> Option<T> {
        self.unreadable.insert(run.clone(), why);
        None
    }

    /// What to tell the user once: which runs were left out, and why.
    pub fn notice(&self) -> Option<String> {
        let (first, why) = self.unreadable.iter().next()?;
        let others = match self.unreadable.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        Some(format!(
            "earlier run {first}{others} cannot be read and is left out: {why}; `conductor doctor` says more"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::home::Home;
    use crate::stores::{NewRun, open};

    #[tokio::test]
    async fn an_unreadable_run_is_left_out_and_told_once() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path()).unwrap();
        let store = open(&home).await.unwrap();
        for name in ["whole", "wrong"] {
            let id = RunId::parse(name).unwrap();
            let (_, first) = Run::create(Default::default(), Default::default());
            let new = NewRun { id, directory: "/".into(), source: String::new(), tasks: 0 };
            store.create(&new, &first).await.unwrap();
        }
        let (whole, wrong) = (RunId::parse("whole").unwrap(), RunId::parse("wrong").unwrap());
        std::fs::write(home.run(&wrong).join("head"), 9u64.to_le_bytes()).unwrap();
        let mut earlier = EarlierRuns::of(&*store);
        assert!(earlier.run(&whole).await.is_some());
        assert_eq!(earlier.notice(), None);
        assert!(earlier.run(&wrong).await.is_none() && earlier.records(&wrong).await.is_none());
        let notice = earlier.notice().unwrap();
        assert!(notice.starts_with("earlier run wrong cannot be read and is left out: "), "{notice}");
        assert!(earlier.run(&RunId::parse("never").unwrap()).await.is_none());
    }
}
