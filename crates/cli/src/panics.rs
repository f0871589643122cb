//! The last resort: a mistake in this program ends it in order, with an exit code of its own.
//!
//! 101, which a panic gives by itself, means that a merge conflict is left.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::console;
use crate::error::Exit;
use crate::progress::terminal;

/// Carries a command out. What it holds is dropped on the way here, which ends every process of a run it drives.
pub(crate) fn guarded(command: impl FnOnce() -> Exit) -> Exit {
    catch_unwind(AssertUnwindSafe(command)).unwrap_or_else(|_| {
        // The message itself was written when it happened.
        terminal::step_aside();
        console::say(LAST_WORDS);
        Exit::Internal
    })
}

const LAST_WORDS: &str = "\x1b[1;31minternal error\x1b[0m: conductor failed by a bug of its own, shown above\n\
    \x1b[1;36mhelp\x1b[0m: nothing is lost: a run that was going on is resumed by `conductor run --resume`; please report \
    what is shown above, with the output of `conductor version`";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_has_an_exit_code_that_means_nothing_else() {
        assert_eq!(guarded(|| panic!("as it is meant to")), Exit::Internal);
        assert_eq!(Exit::Internal as u8, 70);
        assert_eq!(guarded(|| Exit::ConflictLeft), Exit::ConflictLeft);
    }
}
