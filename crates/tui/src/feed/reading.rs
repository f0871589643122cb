//! The text of the tab that is shown, read again as long as it grows.

use std::time::Duration;

use conductor_core::values::ids::Attempt;
use conductor_engine::runs::listening::{self, Exchange, Listener, ShownLines};
use tokio::sync::watch;

use super::Feed;
use crate::app::pane::Tab;
use crate::app::{Message, Wanted};
use crate::data::state::{Glyphs, State};
use crate::data::text::{Text, Tone};
use crate::data::turns::{self, Speaking};

/// How often something that is at work is read on.
const AGAIN: Duration = Duration::from_millis(700);
/// How often its patch is made anew, which takes a snapshot of its files.
const PATCH: Duration = Duration::from_secs(5);
/// Of a long log, so many of the last lines; the pager has all of it.
const LINES: usize = 5_000;

/// What is to be read, and by which it is heard.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) wanted: Wanted,
    pub(crate) listener: Listener,
    /// Nothing for a command.
    pub(crate) agent: Option<String>,
}

impl Order {
    /// The attempt that is meant, and who made it.
    fn attempt(&self) -> Option<(Attempt, u32)> {
        let attempts = self.listener.attempts();
        match self.wanted.attempt {
            Some(number) => attempts.iter().find(|(attempt, _)| attempt.0 == number).copied(),
            None => attempts.last().copied(),
        }
    }
}

/// Reads whatever is wanted, until the view is gone.
pub(crate) async fn read(feed: Feed, glyphs: Glyphs, mut orders: watch::Receiver<Option<Order>>) {
    let mut open: Option<Open> = None;
    loop {
        let order = orders.borrow_and_update().clone();
        let again = match order {
            None => None,
            Some(order) => {
                let is_at_work = order.wanted.version.1 == State::Running;
                let tab = order.wanted.tab;
                one(&feed, glyphs, order, &mut open).await;
                is_at_work.then_some(if tab == Tab::Diff { PATCH } else { AGAIN })
            }
        };
        let changed = match again {
            Some(again) => tokio::time::timeout(again, orders.changed()).await.unwrap_or(Ok(())),
            None => orders.changed().await,
        };
        if changed.is_err() {
            return;
        }
    }
}

async fn one(feed: &Feed, glyphs: Glyphs, order: Order, open: &mut Option<Open>) {
    let wanted = order.wanted.clone();
    let text = match wanted.tab {
        Tab::Diff => {
            // What was read of another tab is sent again when the user comes back to it.
            *open = None;
            feed.diff(&wanted.run, &wanted.task).await
        }
        _ => match spoken(glyphs, order, open).await {
            Some(text) => text,
            None => return,
        },
    };
    feed.send(Message::Read { wanted, text });
}

/// What was read of an attempt so far.
struct Open {
    wanted: Wanted,
    attempt: Attempt,
    words: Words,
}

enum Words {
    Turns(Box<Exchange>, u64),
    Log { reader: Box<listening::Words>, lines: ShownLines, text: Text },
}

/// What an attempt says; nothing where nothing is new.
async fn spoken(glyphs: Glyphs, order: Order, open: &mut Option<Open>) -> Option<Text> {
    let Some((attempt, executor)) = order.attempt() else {
        *open = None;
        return Some(Text::one(Tone::Dim, "It has not begun."));
    };
    let wanted = order.wanted.clone();
    let goes_on = |open: &Open| {
        (&open.wanted.run, &open.wanted.task, open.wanted.tab, open.attempt)
            == (&wanted.run, &wanted.task, wanted.tab, attempt)
    };
    let is_new = !open.as_ref().is_some_and(goes_on);
    if is_new {
        let words = match wanted.tab {
            Tab::Conversation => {
                let agent = order.agent.as_deref();
                Words::Turns(Box::new(Exchange::new(order.listener.clone(), attempt, executor, agent)), 0)
            }
            _ => {
                let reader = Box::new(order.listener.reader(attempt, executor));
                Words::Log { reader, lines: ShownLines::default(), text: Text::default() }
            }
        };
        *open = Some(Open { wanted: wanted.clone(), attempt, words });
    }
    let open = open.as_mut()?;
    open.wanted = wanted;
    match &mut open.words {
        Words::Turns(exchange, mark) => {
            exchange.is_heard_by(order.listener);
            let is_at_work = match exchange.catch_up().await {
                Ok(is_at_work) => is_at_work,
                Err(error) => return Some(Text::one(Tone::Plain, error.to_string())),
            };
            let now = exchange.turns().mark();
            // Its end is news, too.
            let is_news = now != *mark || is_new || !is_at_work;
            *mark = now;
            let (all, _) = exchange.turns().since(0, usize::MAX);
            let speaking = Speaking { agent: order.agent.as_deref(), is_at_work, glyphs };
            is_news.then(|| said_or_nothing(turns::text(all.into_iter(), speaking)))
        }
        Words::Log { reader, lines, text } => {
            let is_news = match log(&order.listener, attempt, reader, lines, text).await {
                Ok(is_news) => is_news,
                Err(error) => {
                    return Some(Text::one(Tone::Plain, format!("the log cannot be read: {error}")));
                }
            };
            (is_news || is_new).then(|| said_or_nothing(text.clone()))
        }
    }
}

fn said_or_nothing(text: Text) -> Text {
    if text.0.is_empty() { Text::one(Tone::Dim, "It has not said anything.") } else { text }
}

/// Reads on; whether there was anything.
async fn log(
    listener: &Listener,
    attempt: Attempt,
    reader: &mut listening::Words,
    lines: &mut ShownLines,
    text: &mut Text,
) -> std::io::Result<bool> {
    let mut is_news = false;
    loop {
        let words = listener.next(attempt, reader).await?;
        if words.is_empty() {
            return Ok(is_news);
        }
        is_news = true;
        text.add(Tone::Plain, &lines.add(&words));
        let more = text.0.len().saturating_sub(LINES);
        text.0.drain(..more);
    }
}
