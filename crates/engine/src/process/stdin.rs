//! What is said to a program that is spoken to: over a pipe of ours, or by its shim.

use std::io::Write as _;
use std::process::ChildStdin;
use std::sync::mpsc;

use super::shim::Notes;

/// Taking it away closes it, unless a shim holds it: that closes it when it is told so.
pub(crate) enum Stdin {
    /// Written by a thread of its own: a program that does not read must not hold us up.
    Pipe(mpsc::Sender<Vec<u8>>),
    Shim(Notes),
}

impl Stdin {
    pub(super) fn of_pipe(mut stdin: ChildStdin) -> Stdin {
        let (words, to_say) = mpsc::channel::<Vec<u8>>();
        std::thread::spawn(move || {
            while let Ok(bytes) = to_say.recv() {
                if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        Stdin::Pipe(words)
    }

    /// `answers`: the place in what it has written that this is the answer to, where it answers anything.
    pub(crate) fn say(&self, answers: Option<u64>, bytes: Vec<u8>) {
        match self {
            Stdin::Pipe(words) => drop(words.send(bytes)),
            Stdin::Shim(notes) => notes.say(answers, bytes),
        }
    }

    pub(crate) fn close(self) {
        if let Stdin::Shim(notes) = self {
            notes.close();
        }
    }
}
