//! What has no end by itself: sockets, events and logs that are followed. They end with the server, and are told so.

use tokio::sync::watch;

/// All that is followed at this server.
#[derive(Debug)]
pub(crate) struct Streams(watch::Sender<bool>);

/// Kept by one of them for as long as it lasts.
#[derive(Debug, Clone)]
pub(crate) struct Stream(watch::Receiver<bool>);

impl Default for Streams {
    fn default() -> Streams {
        Streams(watch::Sender::new(false))
    }
}

impl Streams {
    pub(crate) fn begin(&self) -> Stream {
        Stream(self.0.subscribe())
    }

    /// Tells all of them to end, and waits until they have.
    pub(crate) async fn end(&self) {
        self.0.send_replace(true);
        self.0.closed().await;
    }
}

impl Stream {
    /// Until the server stops.
    pub(crate) async fn over(mut self) {
        // Where there is no server any more, it has stopped.
        let _ = self.0.wait_for(|is_over| *is_over).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn the_server_waits_for_streams_that_it_ends() {
        let streams = Streams::default();
        let (stream, late) = (streams.begin(), streams.begin());
        let following = tokio::spawn(stream.over());
        let mut ending = Box::pin(streams.end());
        assert!(timeout(Duration::ZERO, &mut ending).await.is_err());
        following.await.unwrap();
        assert!(timeout(Duration::ZERO, &mut ending).await.is_err());
        drop(late);
        ending.await;
        // One that begins now is over at once.
        streams.begin().over().await;
    }
}
