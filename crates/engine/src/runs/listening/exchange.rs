//! One attempt's conversation, as far as it has come: read on whenever a client asks.

use conductor_core::values::ids::Attempt;

use super::{ListenError, Listener, Standing, Words};
use crate::agents::conversation;
use crate::process::transcript::{News, PartReader, Reader};

/// Reads what an attempt said into turns, each byte once.
pub struct Exchange {
    listener: Listener,
    attempt: Attempt,
    words: Words,
    turns: conversation::Reader,
    over: bool,
}

impl Exchange {
    /// Of an attempt by this agent, or by a command.
    pub fn new(listener: Listener, attempt: Attempt, executor: u32, agent: Option<&str>) -> Exchange {
        let speaker = listener.speaker(attempt, executor);
        let words = match agent {
            Some(_) => Words::ToUs(PartReader::new(&speaker)),
            // A command speaks only to people.
            None => Words::Shown(Reader::new(&speaker, false)),
        };
        let turns = conversation::Reader::new(listener.plan.clone(), agent);
        Exchange { listener, attempt, words, turns, over: false }
    }

    pub fn turns(&self) -> &conversation::Reader {
        &self.turns
    }

    /// The log knows more by now, for instance that the attempt is over.
    pub fn is_heard_by(&mut self, listener: Listener) {
        self.listener = listener;
    }

    /// Reads to where it can be read by now; whether the attempt is at work.
    pub async fn catch_up(&mut self) -> Result<bool, ListenError> {
        while !self.over {
            let standing = self.listener.standing(self.attempt).await?;
            let Some(is_news) = self.read(&standing).await? else { continue };
            match standing {
                _ if is_news => tokio::task::yield_now().await,
                Standing::AtWork(_) => return Ok(true),
                _ => {
                    self.turns.end();
                    self.over = true;
                }
            }
        }
        Ok(false)
    }

    /// Whether there was anything; nothing where it did not stay at work meanwhile.
    async fn read(&mut self, standing: &Standing) -> Result<Option<bool>, ListenError> {
        match &mut self.words {
            Words::ToUs(parts) => {
                let mut ahead = parts.clone();
                let mut news = ahead.next(standing.newest())?;
                if let Standing::AtWork(before) = standing
                    && !self.listener.goes_on(before).await
                {
                    return Ok(None);
                }
                *parts = ahead;
                if let (Standing::Left { .. }, Some((_, bytes))) = (standing, &mut news.said) {
                    *bytes = self.listener.without_secrets(std::mem::take(bytes));
                }
                let part = parts.part();
                Ok(Some(self.take(news, part)))
            }
            Words::Shown(_) => {
                let words = self.listener.next(self.attempt, &mut self.words).await?;
                self.turns.hear(1, &words);
                Ok(Some(!words.is_empty()))
            }
        }
    }

    fn take(&mut self, news: News, part: usize) -> bool {
        let is_news = !news.is_empty();
        news.notes.iter().for_each(|note| self.turns.note(note));
        if let Some((part, bytes)) = &news.said {
            self.turns.hear(*part, bytes);
        }
        if !is_news {
            self.turns.reach(part);
        }
        is_news
    }
}
