//! `conductor man`: manual pages, made from the same words as the help.

use std::fs;

use clap::CommandFactory as _;

use super::answer;
use crate::args::{Arguments, Man};
use crate::error::{CliError, Exit};

pub(crate) fn run(args: &Man) -> Result<Exit, CliError> {
    let command = Arguments::command();
    let Some(dir) = &args.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        answer(&String::from_utf8_lossy(&page))?;
        return Ok(Exit::Done);
    };
    let failed = |error| {
        CliError::new(Exit::Unexpected, format!("cannot write pages into {}: {error}", dir.display()))
    };
    fs::create_dir_all(dir).map_err(failed)?;
    clap_mangen::generate_to(command, dir).map_err(failed)?;
    answer(&format!("the pages are in {}", dir.display()))?;
    Ok(Exit::Done)
}
