use conductor_core::file::{config_schema, schema};

use super::{answer, answer_json};
use crate::args::Schema;
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &Schema) -> Result<Exit, CliError> {
    if args.openapi {
        answer(conductor_server::openapi())?;
        return Ok(Exit::Done);
    }
    answer_json(&if args.config { config_schema() } else { schema() })?;
    Ok(Exit::Done)
}
