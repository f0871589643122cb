use super::answer_json;
use crate::fault::{Exit, Fault};

pub(crate) fn run() -> Result<Exit, Fault> {
    answer_json(&conductor_core::spec::schema())?;
    Ok(Exit::Done)
}
