//! Who calls at a shim's socket. Every process of the user can, the agent too: each is heard as it speaks, beside all else, and
//! one that says nothing keeps the shim from nothing.

use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::frames::{Frame, Incoming, Kind, VERSION};
use super::keeping::{Keeper, PATIENCE};
use super::records::Said;
use super::{Hello, Start, Welcome, passing};

/// So many are heard at a time; the one that called first makes room. A coordinator speaks as soon as it has called.
const MOST: usize = 16;

/// Who they are is said in far less.
const LONGEST: usize = 16 << 10;

/// Those who have not said yet who they are.
#[derive(Default)]
pub(super) struct Callers {
    all: Vec<Caller>,
}

struct Caller {
    stream: UnixStream,
    incoming: Incoming,
    heard: usize,
    /// Then it is let go of.
    until: Instant,
}

/// What a caller has said by now.
enum Word {
    Nothing,
    Hello(Hello),
    /// It is gone, or what it says is no word of a coordinator.
    Nonsense,
}

impl Callers {
    pub(super) fn streams(&self) -> impl Iterator<Item = &UnixStream> {
        self.all.iter().map(|caller| &caller.stream)
    }

    /// When the next of them is let go of.
    pub(super) fn due(&self) -> Option<Instant> {
        self.all.iter().map(|caller| caller.until).min()
    }

    fn add(&mut self, stream: UnixStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        if self.all.len() >= MOST {
            self.all.remove(0);
        }
        let until = Instant::now() + PATIENCE;
        self.all.push(Caller { stream, incoming: Incoming::default(), heard: 0, until });
        Ok(())
    }

    /// Those who have said who they are by now.
    fn hear(&mut self) -> Vec<(UnixStream, Hello)> {
        let (now, mut named) = (Instant::now(), Vec::new());
        for mut caller in std::mem::take(&mut self.all) {
            match caller.hear() {
                Word::Hello(hello) => named.push((caller.stream, hello)),
                Word::Nothing if now < caller.until => self.all.push(caller),
                Word::Nothing | Word::Nonsense => {}
            }
        }
        named
    }
}

impl Caller {
    fn hear(&mut self) -> Word {
        let mut bytes = [0; 4096];
        match self.stream.read(&mut bytes) {
            Ok(0) => return Word::Nonsense,
            Ok(read) => {
                self.heard += read;
                self.incoming.add(&bytes[..read]);
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return Word::Nonsense,
        }
        match self.incoming.next() {
            Ok(Some(frame)) if frame.kind == Kind::Hello => {
                frame.read_json().map_or(Word::Nonsense, Word::Hello)
            }
            Ok(None) if self.heard < LONGEST => Word::Nothing,
            _ => Word::Nonsense,
        }
    }
}

impl Keeper {
    /// Takes in who calls, and links a coordinator that knows the secret. The one that was there before is let go of.
    pub(super) fn answer_the_door(&mut self) {
        if let Ok((stream, _)) = self.listener.accept() {
            let _ = self.callers.add(stream);
        }
        for (stream, hello) in self.callers.hear() {
            if let Ok(Some(stream)) = self.let_in(stream, &hello) {
                let _ = self.link(stream);
            }
        }
    }

    fn let_in(&self, mut stream: UnixStream, hello: &Hello) -> io::Result<Option<UnixStream>> {
        let Start { secret, mark, .. } = &self.start;
        if hello.secret != *secret || hello.task != mark.task || hello.attempt != mark.attempt {
            return Ok(None);
        }
        stream.set_nonblocking(false)?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let said = Said { worked: self.worked(), ..self.said.clone() };
        let welcome = Welcome {
            version: VERSION,
            agent: self.agent,
            said,
            ending: self.ending.map(|ending| ending.why),
            has_tools: self.tools.is_some(),
            slice: self.slice,
        };
        Frame::json(Kind::Welcome, &welcome)?.write(&mut stream)?;
        if let Some(tools) = &self.tools {
            passing::give(&stream, tools.as_fd())?;
        }
        Ok(Some(stream))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use conductor_core::values::ids::{Attempt, TaskId};

    use super::*;

    fn caller(callers: &mut Callers) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        callers.add(ours).unwrap();
        theirs
    }

    #[test]
    fn silent_callers_keep_no_coordinator_waiting() {
        let mut callers = Callers::default();
        let silent: Vec<UnixStream> = (0..3 * MOST).map(|_| caller(&mut callers)).collect();
        assert_eq!(callers.all.len(), MOST, "they are not gathered without end");
        let mut half = caller(&mut callers);
        let (task, attempt) = (TaskId::parse("t").unwrap(), Attempt(1));
        let hello = Frame::json(Kind::Hello, &Hello { secret: "s".into(), task, attempt }).unwrap().encoded();
        half.write_all(&hello[..9]).unwrap();
        let begun = Instant::now();
        assert!(callers.hear().is_empty());
        half.write_all(&hello[9..]).unwrap();
        let named = callers.hear();
        assert_eq!(named.iter().map(|(_, hello)| hello.secret.as_str()).collect::<Vec<_>>(), ["s"]);
        assert!(begun.elapsed() < PATIENCE / 2, "none of them was waited for");
        drop(silent);
        assert!(callers.hear().is_empty() && callers.all.is_empty(), "they are gone");
    }

    #[test]
    fn one_that_talks_without_end_or_of_something_else_is_let_go_of() {
        let mut callers = Callers::default();
        let mut endless = caller(&mut callers);
        let mut head = Frame::bare(Kind::Hello).encoded();
        head[9..13].copy_from_slice(&(1u32 << 20).to_le_bytes());
        endless.write_all(&head).unwrap();
        endless.write_all(&vec![b'x'; 2 * LONGEST]).unwrap();
        let mut other = caller(&mut callers);
        other.write_all(&Frame::bare(Kind::Close).encoded()).unwrap();
        for _ in 0..2 * LONGEST / 4096 {
            assert!(callers.hear().is_empty());
        }
        assert!(callers.all.is_empty());
    }
}
