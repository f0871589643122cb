//! What this process knows to be secret: of its environment, and of every plan it has to do with.
//!
//! Attempts have redactors of their own, for their own secrets, which are faster. This one is for what is said about all
//! of them: events, notices, errors, reports, answers.

use std::sync::{Arc, PoisonError, RwLock};

use super::{Redactor, is_secret_name};

static KNOWN: RwLock<Option<Arc<Redactor>>> = RwLock::new(None);

pub fn known() -> Arc<Redactor> {
    if let Some(known) = &*KNOWN.read().unwrap_or_else(PoisonError::into_inner) {
        return known.clone();
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_with(|| Arc::new(of_the_environment())).clone()
}

/// From now on these are known too.
pub(crate) fn learn(values: Vec<Vec<u8>>) {
    let more = known().and(values);
    *KNOWN.write().unwrap_or_else(PoisonError::into_inner) = Some(more);
}

fn of_the_environment() -> Redactor {
    let secret = std::env::vars_os().filter(|(name, _)| is_secret_name(&name.to_string_lossy()));
    Redactor::new(secret.map(|(_, value)| value.into_encoded_bytes()))
}
