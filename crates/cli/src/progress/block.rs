//! The block below the lines: a bar, those at work, what needs a person, what is left and what it cost. Knows no terminal:
//! it is given room and gives lines that fit, drawn with the tones, glyphs and widths of the full-screen view.

use conductor_core::forecast::TimeLeft;
use conductor_core::run::costs;
use conductor_core::run::event::Usage;
use conductor_core::values::counted::counted;
use conductor_core::values::units::{Millis, Usd};
use conductor_tui::inline::{self, Glyphs, Line, State, Tone, clock, cut, width_of};

use super::terminal::Size;

const GOOD: Tone = Tone::State(State::Completed);
const BAD: Tone = Tone::State(State::Failed);
const LEFT_OUT: Tone = Tone::State(State::Skipped);
const LOUD: Tone = Tone::State(State::NeedsYou);

/// How many of those at work are shown.
pub(super) const ROWS: usize = 8;
/// How many questions, and how many providers.
const CALLS: usize = 3;
/// More than this is only a longer way for the eye.
const WIDEST_BAR: usize = 30;
const NARROWEST_BAR: usize = 6;
const WIDEST_ID: usize = 24;
/// Below this there is only room for few words.
const NARROW: usize = 60;

/// All that is shown of a run at a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Picture {
    pub(super) total: u32,
    pub(super) completed: u32,
    pub(super) failed: u32,
    /// Skipped or cancelled.
    pub(super) left_out: u32,
    pub(super) running: u32,
    /// Of those that run: only their landing is left.
    pub(super) landing: u32,
    pub(super) waiting: u32,
    pub(super) elapsed: Millis,
    /// Those at work, longest first; no more than can be shown.
    pub(super) rows: Vec<Row>,
    /// Who asks what.
    pub(super) asks: Vec<(String, String)>,
    /// Which agent's provider takes nothing until when.
    pub(super) parked: Vec<(String, String)>,
    /// What is the matter with the run as a whole.
    pub(super) stage: Option<&'static str>,
    pub(super) path: Option<TimeLeft>,
    pub(super) spent: Usage,
    pub(super) cap: Option<Usd>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) task: String,
    pub(super) elapsed: Millis,
    pub(super) phase: &'static str,
    pub(super) said: String,
}

/// What it may be drawn with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub(super) colored: bool,
    pub(super) glyphs: Glyphs,
}

/// Every line with its width, all narrower than the terminal and no more than half as many as it has rows.
pub(super) fn lines(picture: &Picture, size: Size, manner: Manner) -> Vec<(String, usize)> {
    let width = size.columns.saturating_sub(1);
    let room = (size.rows / 2).clamp(1, ROWS + 6);
    let mut calls = calls(picture, width, manner);
    calls.truncate(room.saturating_sub(2).max(usize::from(room > 1)));
    let foot = foot(picture, width, manner).filter(|_| room >= calls.len() + 3);
    let left = room - 1 - calls.len() - usize::from(foot.is_some());
    let all = std::iter::once(head(picture, width, manner))
        .chain(rows(picture, left.min(ROWS + 1), width, manner))
        .chain(calls)
        .chain(foot);
    inline::drawn(&all.collect::<Vec<_>>(), width, manner.glyphs, manner.colored)
}

/// The bar, the counts and the clock; what does not fit goes, the least important first.
fn head(picture: &Picture, width: usize, manner: Manner) -> Line {
    let done = picture.completed + picture.failed + picture.left_out;
    let working = picture.running.saturating_sub(picture.landing);
    let counts = [
        (Tone::Strong, done, format!("{done}/{}", picture.total)),
        (BAD, picture.failed, format!("{} failed", picture.failed)),
        (Tone::Plain, working, format!("{working} running")),
        (Tone::Plain, picture.landing, format!("{} landing", picture.landing)),
        (Tone::Dim, picture.waiting, format!("{} waiting", picture.waiting)),
        (LEFT_OUT, picture.left_out, format!("{} skipped", picture.left_out)),
        (Tone::Dim, 1, clock(picture.elapsed)),
    ];
    let mut text = Line::default();
    for (at, (tone, count, words)) in counts.into_iter().enumerate() {
        let gap = if at == 0 { 0 } else { 2 };
        if (at == 0 || count > 0) && text.width() + gap + words.len() <= width {
            text.add(Tone::Plain, &"  "[..gap]);
            text.add(tone, words);
        }
    }
    let room = width.saturating_sub(text.width() + 2).min(WIDEST_BAR);
    if room < NARROWEST_BAR {
        return text;
    }
    let mut line = bar(picture, room, manner);
    line.add(Tone::Plain, "  ");
    line.append(text);
    line
}

fn bar(picture: &Picture, cells: usize, manner: Manner) -> Line {
    let share = |count: u32| (count as usize * cells).checked_div(picture.total as usize).unwrap_or(0);
    let good = share(picture.completed);
    let ended = share(picture.completed + picture.failed + picture.left_out);
    let bad = match picture.failed {
        0 => 0,
        _ => (share(picture.completed + picture.failed) - good).max(1).min(cells - good),
    };
    let other = ended.saturating_sub(good + bad);
    let either = |unicode, ascii| manner.glyphs.either(unicode, ascii);
    Line::of(GOOD, either("━", "#").repeat(good))
        .and(BAD, either("━", "!").repeat(bad))
        .and(LEFT_OUT, either("━", "=").repeat(other))
        .and(Tone::Dim, either("─", ".").repeat(cells - good - bad - other))
}

/// A line for each that is at work; where there are more than fit, the last line says how many.
fn rows(picture: &Picture, room: usize, width: usize, manner: Manner) -> Vec<Line> {
    let all = picture.running as usize;
    let shown = if all > room.min(ROWS) { room.saturating_sub(1).min(ROWS) } else { all };
    let rows = &picture.rows[..shown.min(picture.rows.len())];
    let longest = rows.iter().map(|row| width_of(&row.task)).max().unwrap_or(0);
    let id = longest.min(WIDEST_ID).min(width / 3);
    let mut lines: Vec<Line> = rows.iter().map(|row| at_work(row, id, width, manner)).collect();
    let more = all - rows.len();
    if more > 0 && room > 0 {
        let rest = if rows.is_empty() { "at work" } else { "more at work" };
        lines.push(Line::of(Tone::Dim, format!("  {} {more} {rest}", manner.glyphs.ellipsis())));
    }
    lines
}

fn at_work(row: &Row, id: usize, width: usize, manner: Manner) -> Line {
    let mut line = Line::of(Tone::Plain, format!("  {} ", padded(&row.task, id, manner)));
    line.add(Tone::Dim, format!("{:>6}", clock(row.elapsed)));
    line.add(Tone::Dim, format!(" {:<9}", row.phase));
    // A few letters of what it says are worse than none.
    if width > line.width() + 10 && !row.said.is_empty() {
        line.add(Tone::Plain, format!(" {}", row.said));
    }
    line
}

/// What a person has to know or do.
fn calls(picture: &Picture, width: usize, manner: Manner) -> Vec<Line> {
    let stage = picture.stage.map(|words| Line::of(LOUD, format!("! {words}")));
    let asks = picture.asks.iter().take(CALLS).map(|(task, words)| {
        let how = format!("  conductor task approve {task}");
        let asks = format!("? {task} asks: {words}");
        // How to answer is never cut, as long as it fits at all.
        match width.checked_sub(how.len()).filter(|room| *room > 20) {
            Some(room) => Line::of(LOUD, cut(&asks, room, manner.glyphs.ellipsis()) + &how),
            None => Line::of(LOUD, asks),
        }
    });
    let more = picture.asks.len().saturating_sub(CALLS);
    let more = (more > 0).then(|| Line::of(LOUD, format!("? {more} more ask something: conductor status")));
    let parked = picture.parked.iter().take(CALLS);
    let parked =
        parked.map(|(agent, until)| Line::of(LOUD, format!("! {agent} takes nothing more until {until}")));
    stage.into_iter().chain(asks).chain(more).chain(parked).collect()
}

/// What is left at the least, and what it has cost.
fn foot(picture: &Picture, width: usize, manner: Manner) -> Option<Line> {
    let path = picture.path.filter(|left| left.tasks > 0).map(|TimeLeft { tasks, time }| {
        let time = time.map(|time| format!(", about {}", clock(time))).unwrap_or_default();
        match width < NARROW {
            true => format!("path {tasks} left{time}"),
            false => format!("critical path {}{time} left", counted(tasks, "task")),
        }
    });
    let spent = picture.spent.tokens > 0 || picture.spent.cost.0 > 0;
    let cost = (spent || picture.cap.is_some()).then(|| {
        let cap = picture.cap.map(|cap| format!(" of {cap}")).unwrap_or_default();
        format!("{}{cap}", costs::words(picture.spent))
    });
    let parts: Vec<String> = path.into_iter().chain(cost).collect();
    let between = manner.glyphs.either(" · ", " | ");
    (!parts.is_empty()).then(|| Line::of(Tone::Dim, format!("  {}", parts.join(between))))
}

fn padded(text: &str, width: usize, manner: Manner) -> String {
    let text = cut(text, width, manner.glyphs.ellipsis());
    let gap = width.saturating_sub(width_of(&text));
    text + &" ".repeat(gap)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ASCII: Manner = Manner { colored: false, glyphs: Glyphs::Ascii };
    const NICE: Manner = Manner { colored: false, glyphs: Glyphs::Unicode };

    fn picture() -> Picture {
        let row = |task: &str, secs, phase, said: &str| Row {
            task: task.into(),
            elapsed: Millis::from_secs(secs),
            phase,
            said: said.into(),
        };
        Picture {
            total: 40,
            completed: 12,
            failed: 2,
            left_out: 1,
            running: 3,
            landing: 0,
            waiting: 22,
            elapsed: Millis::from_secs(130),
            rows: vec![
                row("api-schema", 62, "working", "[Edit] src/api/schema.rs"),
                row("a-task-with-a-very-long-name-indeed", 14, "verifying", "cargo test -p parser --quiet"),
                row("docs", 3, "preparing", ""),
            ],
            asks: vec![("deploy".into(), "Bash: terraform apply -auto-approve".into())],
            parked: vec![("claude".into(), "Mon 14:05".into())],
            stage: None,
            path: Some(TimeLeft { tasks: 5, time: Some(Millis::from_secs(240)) }),
            spent: Usage { cost: Usd(1_240_000), tokens: 99, ..Usage::default() },
            cap: Some(Usd(10_000_000)),
        }
    }

    fn shown(picture: &Picture, columns: usize, rows: usize, manner: Manner) -> String {
        let lines = lines(picture, Size { columns, rows }, manner);
        lines.into_iter().map(|(line, _)| line + "\n").collect()
    }

    #[test]
    fn it_reads_well_at_every_size() {
        let sizes = [(80, 24), (120, 40), (40, 10), (20, 4)];
        let all = sizes.map(|(columns, rows)| {
            format!("--- {columns}x{rows}\n{}", shown(&picture(), columns, rows, NICE))
        });
        insta::assert_snapshot!(all.concat() + "--- ASCII\n" + &shown(&picture(), 80, 24, ASCII));
    }

    /// Five of which one only lands, on four slots: four are running.
    #[test]
    fn a8_what_only_lands_is_not_counted_as_running() {
        let landing = Picture { running: 5, landing: 1, ..picture() };
        assert!(shown(&landing, 80, 24, ASCII).contains("2 failed  4 running  1 landing  22 waiting"));
        let all = Picture { running: 1, landing: 1, ..picture() };
        assert!(shown(&all, 80, 24, ASCII).contains("2 failed  1 landing  22 waiting"));
    }

    #[test]
    fn many_at_work_are_counted_and_none_is_not() {
        let mut many = picture();
        many.running = 1000;
        many.rows = (0..ROWS + 1)
            .map(|n| Row { task: format!("t{n}"), phase: "working", ..Row::default() })
            .collect();
        let text = shown(&many, 80, 40, ASCII);
        assert_eq!(text.lines().filter(|line| line.contains("working")).count(), ROWS);
        assert!(text.contains("... 992 more at work"), "{text}");
        let text = shown(&many, 80, 8, ASCII);
        assert_eq!(text.lines().count(), 4);
        assert!(text.contains("... 1000 at work"), "{text}");
        let none = shown(&Picture { total: 3, waiting: 3, ..Picture::default() }, 80, 24, ASCII);
        assert_eq!(none, "..............................  0/3  3 waiting  0s\n");
    }

    #[test]
    fn colours_are_only_there_where_they_are_wanted_and_always_put_back() {
        let size = Size { columns: 80, rows: 24 };
        let plain = lines(&picture(), size, NICE);
        let colored = lines(&picture(), size, Manner { colored: true, ..NICE });
        assert!(!shown(&picture(), 80, 24, NICE).contains('\x1b'));
        for ((plain, plain_width), (colored, width)) in plain.into_iter().zip(colored) {
            assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
            assert_eq!(width, plain_width);
            assert_eq!(colored.matches("\x1b[0m").count() * 2, colored.matches('\x1b').count());
        }
    }

    proptest! {
        #[test]
        fn nothing_is_ever_wider_than_the_terminal_nor_higher_than_half_of_it(
            columns in 1usize..200, rows in 1usize..60, running in 0u32..2000,
            task in "[a-z漢字🎉é-]{1,60}", said in "\\PC{0,300}", asks in 0usize..6, unicode: bool,
        ) {
            let mut picture = picture();
            picture.running = running;
            let row = Row { task: task.clone(), said, phase: "verifying", elapsed: Millis(9_999_999) };
            picture.rows = vec![row; (running as usize).min(ROWS + 1)];
            picture.asks = vec![(task, "漢".repeat(90)); asks];
            let glyphs = if unicode { Glyphs::Unicode } else { Glyphs::Ascii };
            let size = Size { columns, rows };
            let plain = lines(&picture, size, Manner { colored: false, glyphs });
            let lines = lines(&picture, size, Manner { colored: true, glyphs });
            prop_assert!(lines.len() <= (rows / 2).max(1));
            for ((line, width), (plain, _)) in lines.into_iter().zip(plain) {
                prop_assert_eq!(anstream::adapter::strip_str(&line).to_string(), plain);
                prop_assert!(width < columns.max(2), "{} of {}", width, columns);
            }
        }
    }
}
