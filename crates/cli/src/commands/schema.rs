use conductor_core::spec::{config_schema, schema};

use super::answer_json;
use crate::args::Schema;
use crate::fault::{Exit, Fault};

pub(crate) fn run(args: &Schema) -> Result<Exit, Fault> {
    answer_json(&if args.config { config_schema() } else { schema() })?;
    Ok(Exit::Done)
}
