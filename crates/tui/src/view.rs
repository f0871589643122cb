//! The loop: keys, messages, signals and time come in; the view changes; it is drawn when something has changed.

mod signals;

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use conductor_core::values::ids::RunId;
use conductor_core::values::units::{Millis, Timestamp};
use conductor_engine::host::clock;
use conductor_engine::runs::listening::Listener;
use conductor_engine::stores;
use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures_util::StreamExt as _;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::app::{App, Effect, Message, Screen, Wanted};
use crate::data::state::{Glyphs, State};
use crate::feed::Feed;
use crate::feed::asking::{self, Ask};
use crate::feed::reading::{self, Order};
use crate::feed::watching::Follower;
use crate::remembered::Remembered;
use crate::terminal::{self, Window};
use crate::theme::{Depth, Theme};
use crate::{Invocation, Leaving, Left, outside, screens};
use signals::{Signalled, Signals};

/// No more than twenty frames a second.
const FRAME: Duration = Duration::from_millis(50);
const BEAT: Duration = Duration::from_secs(1);

pub(crate) struct View {
    app: App,
    window: Window,
    feed: Feed,
    project: crate::ReadProject,
    /// Nothing while another program has the terminal.
    events: Option<EventStream>,
    signals: Signals,
    follower: Option<Follower>,
    orders: watch::Sender<Option<Order>>,
    asks: UnboundedSender<Ask>,
    read_last: Option<Wanted>,
    asked_last: Option<(RunId, conductor_core::values::ids::TaskId)>,
    looked: Instant,
    is_stale: bool,
    drawn: Instant,
    /// While another program had the terminal.
    told_to_leave: Option<Leaving>,
}

/// Shows what is to be shown until the user leaves.
pub(crate) async fn show(invocation: Invocation) -> Result<Left, crate::TuiError> {
    let Invocation { home, store, directory, program, run, project, commands, colored, unicode } = invocation;
    let remembered = Remembered::read(home.root());
    let glyphs = if unicode { Glyphs::Unicode } else { Glyphs::Ascii };
    let theme = Theme::named(&remembered.theme, Depth::of_environment(colored));
    let mut app = App::new(theme, glyphs, remembered.mouse, commands);
    let (messages, heard) = unbounded_channel();
    let feed = Feed { home, store, directory, program, messages };
    let mut follower = None;
    if run.is_none() {
        app.board.project = project();
    }
    if let Some(stored) = run {
        let run = stored.id.clone();
        let watched =
            feed.read(stored).await.map_err(|why| crate::TuiError::Unreadable { run: run.clone(), why })?;
        follower = Some(Follower::new(&feed, &run, watched.course.last()));
        app.hear(Message::Opened(Box::new(watched)));
        feed.look(&run).await.into_iter().for_each(|live| drop(app.hear(live)));
    }
    let (orders, ordered) = watch::channel(None);
    tokio::spawn(reading::read(feed.clone(), glyphs, ordered));
    let (asks, asked) = unbounded_channel();
    tokio::spawn(asking::ask_all(feed.clone(), asked));
    let mut view = View {
        window: Window::open(app.mouse)?,
        app,
        feed,
        project,
        events: Some(EventStream::new()),
        signals: Signals::new()?,
        follower,
        orders,
        asks,
        read_last: None,
        asked_last: None,
        looked: Instant::now(),
        is_stale: true,
        drawn: Instant::now() - FRAME,
        told_to_leave: None,
    };
    // First what was asked for, then what may be asked for next.
    view.draw()?;
    view.look_at_board();
    let left = view.go(heard).await;
    drop(view.window);
    left
}

impl View {
    async fn go(&mut self, mut heard: UnboundedReceiver<Message>) -> Result<Left, crate::TuiError> {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some(by) = self.told_to_leave {
                return Ok(self.left(by));
            }
            self.order();
            let due = self.drawn + FRAME;
            let effects = tokio::select! {
                biased;
                signalled = self.signals.next() => match signalled {
                    Signalled::Leave(by) => return Ok(self.left(by)),
                    Signalled::Stop => vec![Effect::Suspend],
                },
                () = tokio::time::sleep_until(due), if self.is_stale => {
                    self.draw()?;
                    continue;
                }
                event = next(&mut self.events) => match event {
                    Some(Ok(event)) => self.take(event),
                    // The terminal is gone.
                    Some(Err(_)) | None => return Ok(self.left(Leaving::Terminated)),
                },
                Some(message) = heard.recv() => self.hear(message, &mut heard),
                _ = beat.tick() => self.beat(),
            };
            if self.carry_out(effects).await? {
                return Ok(self.left(Leaving::ByKey));
            }
        }
    }

    fn left(&self, by: Leaving) -> Left {
        let watched = self.app.watched.as_ref().filter(|_| self.app.screen == Screen::Run);
        let is_over = watched.is_some_and(|watched| watched.course.now().all_ended());
        Left { run: watched.map(|watched| watched.id().clone()), is_over, by }
    }

    fn draw(&mut self) -> io::Result<()> {
        self.is_stale = false;
        self.app.now = now();
        let app = &mut self.app;
        self.window.draw(|frame| screens::draw(frame, app))?;
        self.drawn = Instant::now();
        Ok(())
    }

    fn take(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                self.is_stale = true;
                return separated(key).iter().flat_map(|key| self.app.key(key)).collect();
            }
            Event::Mouse(event) => {
                self.app.point(event);
                self.is_stale = true;
            }
            Event::Paste(text) => {
                self.app.paste(&text);
                self.is_stale = true;
            }
            Event::Resize(..) => self.is_stale = true,
            _ => {}
        }
        Vec::new()
    }

    /// All that has come by now, so that many events are one change.
    fn hear(&mut self, message: Message, heard: &mut UnboundedReceiver<Message>) -> Vec<Effect> {
        let mut effects = Vec::new();
        let mut next = Some(message);
        let mut records: Option<(RunId, Vec<_>)> = None;
        while let Some(message) = next {
            match (message, &mut records) {
                (Message::Records { run, records: more }, Some((same, all))) if *same == run => {
                    all.extend(more)
                }
                (Message::Records { run, records: more }, _) => {
                    self.add(records.take());
                    records = Some((run, more));
                }
                (other, _) => {
                    if let Message::Live { .. } = other {
                        self.looked = Instant::now();
                    }
                    self.add(records.take());
                    effects.extend(self.app.hear(other));
                }
            }
            next = heard.try_recv().ok();
        }
        self.add(records);
        self.is_stale = true;
        effects
    }

    fn add(&mut self, records: Option<(RunId, Vec<conductor_core::run::event::Record>)>) {
        if let Some((run, records)) = records {
            self.app.hear(Message::Records { run, records });
            // What it waits for may be another by now.
            self.asked_last = None;
        }
    }

    /// Only a run that goes on looks different a second later.
    fn beat(&mut self) -> Vec<Effect> {
        let is_live = self.app.watched.as_ref().is_some_and(|watched| watched.is_live());
        // A coordinator that answers is looked at once a second as it is.
        if is_live && self.app.screen == Screen::Run && self.looked.elapsed() > BEAT * 3 / 2 {
            let since = self.looked.elapsed().as_millis();
            self.app.beat(Millis(u64::try_from(since).unwrap_or(u64::MAX)));
            self.is_stale = true;
        }
        Vec::new()
    }

    /// Has read what the tab shows, and asked why a task waits, where that is another by now.
    fn order(&mut self) {
        let wanted = self.app.wanted();
        if wanted != self.read_last {
            self.read_last.clone_from(&wanted);
            let order = wanted.and_then(|wanted| self.order_for(wanted));
            let _ = self.orders.send(order);
        }
        let asked = self.app.asked_why();
        if asked != self.asked_last {
            self.asked_last.clone_from(&asked);
            if let Some((run, task)) = asked {
                let feed = self.feed.clone();
                tokio::spawn(async move { feed.send(feed.waits(run, task).await) });
            }
        }
    }

    fn order_for(&self, wanted: Wanted) -> Option<Order> {
        let watched = self.app.watched.as_ref()?;
        let (run, place) = (watched.run(), wanted.place);
        if wanted.version.1 == State::Pending && run.progress(place).last_attempt == 0 {
            return None;
        }
        let agent = run.agent_choice(place).map(|choice| choice.agent.clone());
        let listener =
            Listener::new(&self.feed.home, self.feed.store.clone(), &wanted.run, run, place, false);
        Some(Order { wanted, listener, agent })
    }

    fn look_at_board(&self) {
        let (feed, project) = (self.feed.clone(), (self.project)());
        tokio::spawn(async move { feed.send(feed.board(project).await) });
    }

    /// Does what is to be done; whether the view is left.
    async fn carry_out(&mut self, effects: Vec<Effect>) -> Result<bool, crate::TuiError> {
        let mut ahead: VecDeque<Effect> = effects.into();
        while let Some(effect) = ahead.pop_front() {
            match effect {
                Effect::Leave => return Ok(true),
                Effect::Suspend => self.suspend()?,
                Effect::Look => self.look_at_board(),
                Effect::Remember => self.remember()?,
                Effect::Copy(text) => self.copy(&text),
                Effect::Open(run) => ahead.extend(self.open(&run).await),
                Effect::Ask { request, words, done } => self.ask(*request, words, done),
                Effect::Program { words, purpose } => self.start(words, purpose),
                Effect::Page(words) => self.page(&words).await?,
                Effect::Edit(edit) => ahead.extend(self.edit(edit).await?),
                Effect::PullRequest { branch, directory } => {
                    let done = self.outside(outside::pull_request(&branch, &directory)).await?;
                    self.tell(done.map(|()| format!("a pull request of {branch} is open")));
                }
            }
        }
        Ok(false)
    }

    fn tell(&mut self, done: io::Result<String>) {
        match done {
            Ok(words) => self.app.say(words),
            Err(error) => self.app.complain(error.to_string()),
        }
        self.is_stale = true;
    }

    fn ask(&mut self, request: conductor_core::schedule::Request, words: Vec<String>, done: String) {
        let Some(run) = self.app.watched.as_ref().map(|watched| watched.id().clone()) else { return };
        let news = self.follower.as_ref().map(Follower::handle);
        let _ = self.asks.send(Ask { run, request, words, done, news });
    }

    fn start(&mut self, words: Vec<String>, purpose: crate::app::Purpose) {
        self.app.say(format!("conductor {} …", words.join(" ")));
        self.is_stale = true;
        let feed = self.feed.clone();
        let (news, run) = (self.follower.as_ref().map(Follower::handle), words);
        tokio::spawn(async move {
            let message = feed.run(run, purpose).await;
            feed.send(message);
            // What it recorded is to be seen, whether a coordinator drives the run or not.
            news.iter().for_each(|news| news.notify_one());
        });
    }

    async fn open(&mut self, run: &RunId) -> Vec<Effect> {
        // Before the first run of all there was no store.
        if let Ok(store) = stores::open_to_look(&self.feed.home).await {
            self.feed.store = store;
        }
        let stored = match self.feed.store.runs().await {
            Ok(runs) => runs.into_iter().find(|known| known.id == *run),
            Err(error) => {
                self.app.complain(error.to_string());
                None
            }
        };
        self.is_stale = true;
        let Some(stored) = stored else {
            self.app.complain(format!("run {run} is not in the store"));
            return Vec::new();
        };
        match self.feed.read(stored).await {
            Ok(watched) => {
                self.follower = Some(Follower::new(&self.feed, run, watched.course.last()));
                self.app.hear(Message::Opened(Box::new(watched)));
                self.feed.look(run).await.map_or_else(Vec::new, |live| self.app.hear(live))
            }
            Err(why) => {
                self.app.complain(why);
                Vec::new()
            }
        }
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.events = None;
        terminal::stop();
        self.come_back()
    }

    /// Everything is drawn anew, and only what is typed from now on counts.
    fn come_back(&mut self) -> io::Result<()> {
        self.window.take_again()?;
        self.signals = Signals::new()?;
        self.events = Some(EventStream::new());
        self.is_stale = true;
        Ok(())
    }

    /// Gives the terminal to other programs until they are done. Ctrl-Z stops them, and us with them, until the shell lets all of
    /// them go on; Ctrl-C is theirs.
    async fn outside<T>(
        &mut self,
        programs: impl Future<Output = io::Result<T>>,
    ) -> io::Result<io::Result<T>> {
        self.events = None;
        terminal::give_back();
        tokio::pin!(programs);
        let done = loop {
            tokio::select! {
                done = &mut programs => break done,
                signalled = self.signals.next() => match signalled {
                    Signalled::Stop => terminal::stop(),
                    Signalled::Leave(Leaving::Terminated) => {
                        self.told_to_leave = Some(Leaving::Terminated);
                        return Ok(Err(io::ErrorKind::Interrupted.into()));
                    }
                    Signalled::Leave(_) => {}
                },
            }
        };
        self.come_back()?;
        Ok(done)
    }

    async fn page(&mut self, words: &[String]) -> io::Result<()> {
        let feed = self.feed.clone();
        if let Err(error) = self.outside(outside::page(&feed, words)).await? {
            self.app.complain(error.to_string());
        }
        Ok(())
    }

    async fn edit(&mut self, edit: crate::app::Edit) -> io::Result<Vec<Effect>> {
        match self.outside(outside::edit(&edit)).await? {
            Ok(()) => Ok(self.app.hear(Message::Edited(edit))),
            Err(error) => {
                self.app.complain(format!("{error}; what was laid out is in {}", edit.folder.display()));
                Ok(Vec::new())
            }
        }
    }

    fn remember(&mut self) -> io::Result<()> {
        self.window.set_mouse(self.app.mouse)?;
        let remembered = Remembered { theme: self.app.theme.name().to_owned(), mouse: self.app.mouse };
        if let Err(error) = remembered.write(self.feed.home.root()) {
            self.app.complain(format!("it cannot be remembered: {error}"));
        }
        Ok(())
    }

    fn copy(&mut self, text: &str) {
        match terminal::copy(text) {
            Ok(bytes) if bytes < text.len() => {
                self.app.say(format!("the last {bytes} of {} bytes are copied", text.len()));
            }
            Ok(_) => self.app.say(format!("{} lines are copied", text.lines().count())),
            Err(error) => self.app.complain(error.to_string()),
        }
    }
}

/// Terminals send Alt as an escape before the key, which is also what Esc and a key typed fast look like. Alt means nothing here.
fn separated(key: KeyEvent) -> Vec<KeyEvent> {
    match key.modifiers.contains(KeyModifiers::ALT) {
        true => {
            let plain = KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key };
            vec![KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE), plain]
        }
        false => vec![key],
    }
}

fn now() -> Timestamp {
    clock::wall()
}

async fn next(events: &mut Option<EventStream>) -> Option<io::Result<Event>> {
    match events {
        Some(events) => events.next().await,
        None => std::future::pending().await,
    }
}
