//! `conductor completions`: a script by which a shell asks us what can follow; for nushell one that has all of it in it.

use clap::{CommandFactory as _, ValueEnum as _};
use clap_complete::env::Shells;
use clap_complete_nushell::Nushell;

use super::answer;
use crate::args::{Arguments, CompletingShell, Completions};
use crate::error::{CliError, Exit};
use crate::settings::variables::COMPLETE;

/// In a folder of zsh's functions the script is itself the function `_conductor`, and is to complete when it is called for
/// the first time; where it is sourced it is not.
const AS_A_FUNCTION: &str = "
if [ \"$funcstack[1]\" = _conductor ]; then
    _clap_dynamic_completer_conductor \"$@\"
fi
";

pub(crate) fn run(args: &Completions) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    match args.shell {
        CompletingShell::Nushell => {
            clap_complete::generate(Nushell, &mut Arguments::command(), "conductor", &mut script);
        }
        shell => {
            let name = shell.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            let shell = Shells::builtins();
            let shell = shell
                .completer(&name)
                .ok_or_else(|| CliError::new(Exit::Usage, format!("there are no completions for {name}")))?;
            // By its name, so that the script fits after an update too.
            shell.write_registration(COMPLETE, "conductor", "conductor", "conductor", &mut script)?;
            if args.shell == CompletingShell::Zsh {
                script.extend_from_slice(AS_A_FUNCTION.as_bytes());
            }
        }
    }
    answer(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
