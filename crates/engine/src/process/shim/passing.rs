//! An open socket handed from one process to another: what listens for an agent's calls goes on listening without a coordinator.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};

/// Goes along with what is handed over: nothing alone is not sent.
const BYTE: [u8; 1] = *b"F";

pub(super) fn give(to: impl AsFd, what: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    let handed = [what];
    if !message.push(SendAncillaryMessage::ScmRights(&handed)) {
        return Err(io::Error::other("no room to hand over a socket"));
    }
    sendmsg(to, &[IoSlice::new(&BYTE)], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

pub(super) fn take(from: impl AsFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut message, RecvFlags::CMSG_CLOEXEC)?;
    let handed = message.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut all) => all.next(),
        _ => None,
    });
    handed.ok_or_else(|| io::Error::other("no socket was handed over"))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn a_caller_of_that_time_is_answered_by_the_next_holder() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        give(&ours, listener.as_fd()).unwrap();
        drop(listener);
        let mut caller = TcpStream::connect(address).unwrap();
        let taken = TcpListener::from(take(&theirs).unwrap());
        let (mut called, _) = taken.accept().unwrap();
        io::Write::write_all(&mut called, b"yes").unwrap();
        drop(called);
        let mut said = String::new();
        caller.read_to_string(&mut said).unwrap();
        assert_eq!(said, "yes");
    }
}
