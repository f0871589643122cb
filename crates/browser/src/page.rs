//! A tab of a browser, by the tools of Playwright MCP. It knows no site.

use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use thiserror::Error;

use crate::client::{Answer, CallError, Client};
use crate::link::LinkError;
use crate::records::{OwnRecord, Request, write_whole};
use crate::snapshot::Snapshot;

#[derive(Debug, Error)]
pub enum PageError {
    /// The page's process died; the browser and its other tabs live.
    #[error("the page crashed")]
    Crashed,
    /// The browser is gone, or the connection to it.
    #[error("the browser is gone: {0}")]
    BrowserGone(String),
    #[error("the page does not answer: {0}")]
    Unresponsive(String),
    #[error("{url} cannot be opened: {why}")]
    NotOpened { url: String, why: String },
    #[error("there is no browser to start: {0}")]
    NoBrowser(String),
    #[error(transparent)]
    Server(LinkError),
    #[error("the browser refused: {0}")]
    Refused(String),
}

impl From<CallError> for PageError {
    fn from(error: CallError) -> PageError {
        match error {
            CallError::Link(error) => PageError::Server(error),
            CallError::Tool { said, .. } => told(&said),
            CallError::Empty { tool } => PageError::Server(LinkError::Garbage(format!("nothing for {tool}"))),
        }
    }
}

/// What a failed tool means. The words are Playwright's; what is not known is `Refused`, with the words.
fn told(said: &str) -> PageError {
    let has = |part: &str| said.contains(part);
    let first = said.lines().next().unwrap_or(said).to_owned();
    if has("crashed") {
        PageError::Crashed
    } else if has("executable doesn't exist")
        || has("is not found at")
        || has("Failed to launch")
        || has("is not installed")
    {
        PageError::NoBrowser(first)
    } else if has("has been closed") || has("Browser closed") || has("ECONNREFUSED") || has("Target closed") {
        PageError::BrowserGone(first)
    } else if has("Timeout") || has("timed out") {
        PageError::Unresponsive(first)
    } else {
        PageError::Refused(first)
    }
}

/// What is seen of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub url: String,
    pub title: String,
    pub snapshot: Snapshot,
    /// As the server wrote it, to be kept where a page is not understood.
    pub raw: String,
}

/// One tab. All that is done goes to this tab: each client of the server has a current tab of its own.
#[derive(Debug)]
pub struct Page {
    client: Client,
}

impl Page {
    pub fn new(client: Client) -> Page {
        Page { client }
    }

    /// Opens a tab of our own. Before that, the current tab may be another's.
    pub fn open_tab(&mut self) -> Result<(), PageError> {
        self.call("browser_tabs", &json!({ "action": "new" })).map(drop)
    }

    pub fn close_tab(&mut self) -> Result<(), PageError> {
        self.call("browser_tabs", &json!({ "action": "close" })).map(drop)
    }

    /// Titles and addresses of all tabs of the browser.
    pub fn tabs(&mut self) -> Result<Vec<Tab>, PageError> {
        let answer = self.call("browser_tabs", &json!({ "action": "list" }))?;
        Ok(answer.text.lines().filter_map(Tab::read).collect())
    }

    /// Shows our tab: selecting the current one brings its window to the front.
    pub fn to_front(&mut self) -> Result<(), PageError> {
        let answer = self.call("browser_tabs", &json!({ "action": "list" }))?;
        let current = answer.text.lines().find(|line| line.contains(": (current) ")).and_then(Tab::read);
        self.select_tab(current.map_or(0, |tab| tab.index))
    }

    pub fn select_tab(&mut self, index: u32) -> Result<(), PageError> {
        self.call("browser_tabs", &json!({ "action": "select", "index": index })).map(drop)
    }

    pub fn navigate(&mut self, url: &str) -> Result<(), PageError> {
        let gone = self.call("browser_navigate", &json!({ "url": url }));
        gone.map(drop).map_err(|error| match error {
            PageError::Refused(why) => PageError::NotOpened { url: url.to_owned(), why },
            other => other,
        })
    }

    pub fn reload(&mut self) -> Result<(), PageError> {
        self.evaluate("() => { location.reload(); return true; }").map(drop)
    }

    pub fn view(&mut self) -> Result<View, PageError> {
        let answer = self.call("browser_snapshot", &json!({}))?;
        Ok(read_view(&answer.text))
    }

    /// One element and what is in it, by a CSS selector.
    pub fn view_of(&mut self, selector: &str) -> Result<View, PageError> {
        let answer = self.call("browser_snapshot", &json!({ "target": selector }))?;
        Ok(read_view(&answer.text))
    }

    pub fn click(&mut self, reference: &str, what: &str) -> Result<(), PageError> {
        self.call("browser_click", &json!({ "target": reference, "element": what })).map(drop)
    }

    /// Inserts text as if it were typed, in place of what is in the box.
    pub fn fill(&mut self, reference: &str, what: &str, text: &str) -> Result<(), PageError> {
        self.call("browser_type", &json!({ "target": reference, "element": what, "text": text })).map(drop)
    }

    pub fn press(&mut self, key: &str) -> Result<(), PageError> {
        self.call("browser_press_key", &json!({ "key": key })).map(drop)
    }

    pub fn evaluate(&mut self, function: &str) -> Result<Value, PageError> {
        self.evaluated(&json!({ "function": function }))
    }

    pub fn evaluate_on(&mut self, reference: &str, what: &str, function: &str) -> Result<Value, PageError> {
        self.evaluated(&json!({ "target": reference, "element": what, "function": function }))
    }

    /// Closes a dialog of the browser's own (`alert`, `confirm`), which blocks everything else.
    pub fn dismiss_dialog(&mut self) -> Result<(), PageError> {
        self.call("browser_handle_dialog", &json!({ "accept": false })).map(drop)
    }

    pub fn wait(&mut self, time: Duration) -> Result<(), PageError> {
        self.call("browser_wait_for", &json!({ "time": time.as_secs_f64() })).map(drop)
    }

    /// A picture of what is seen, as PNG.
    pub fn picture(&mut self) -> Result<Vec<u8>, PageError> {
        let answer = self.call("browser_take_screenshot", &json!({ "type": "png" }))?;
        let image = answer.image.ok_or_else(|| PageError::Refused("no picture was sent".to_owned()))?;
        base64::engine::general_purpose::STANDARD
            .decode(image)
            .map_err(|_| PageError::Refused("the picture is not base64".to_owned()))
    }

    /// Does what other processes ask of the session in it: only the process of a session touches its tab.
    pub(crate) fn answer(&mut self, record: &OwnRecord) {
        if let Some(answer) = record.asked(Request::Picture)
            && let Ok(picture) = self.picture()
        {
            let _ = write_whole(&answer, &picture);
        }
        if let Some(answer) = record.asked(Request::Front)
            && self.to_front().is_ok()
        {
            let _ = write_whole(&answer, b"done");
        }
    }

    /// Ends the connection; tabs of a shared browser stay.
    pub fn close(&mut self) {
        self.client.close();
    }

    fn evaluated(&mut self, arguments: &Value) -> Result<Value, PageError> {
        let answer = self.call("browser_evaluate", arguments)?;
        let result = section(&answer.text, "### Result").unwrap_or_default();
        Ok(serde_json::from_str(result.trim()).unwrap_or(Value::Null))
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Answer, PageError> {
        Ok(self.client.call(tool, arguments)?)
    }
}

/// A line of the list of tabs: `- 1: (current) [title](address)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tab {
    pub index: u32,
    pub title: String,
    pub url: String,
}

impl Tab {
    fn read(line: &str) -> Option<Tab> {
        let (index, rest) = line.strip_prefix("- ")?.split_once(": ")?;
        let rest = rest.trim_start_matches("(current) ");
        let (title, url) = rest.strip_prefix('[')?.split_once("](")?;
        Some(Tab {
            index: index.parse().ok()?,
            title: title.to_owned(),
            url: url.strip_suffix(')')?.to_owned(),
        })
    }
}

fn read_view(text: &str) -> View {
    let page = section(text, "### Page").unwrap_or_default();
    let line =
        |head: &str| page.lines().find_map(|line| line.strip_prefix(head)).unwrap_or_default().to_owned();
    let raw = section(text, "### Snapshot").unwrap_or_default();
    let raw = raw.trim().trim_start_matches("```yaml").trim_end_matches("```").to_owned();
    View { url: line("- Page URL: "), title: line("- Page Title: "), snapshot: Snapshot::parse(&raw), raw }
}

/// What stands below a heading, up to the next one.
fn section<'t>(text: &'t str, heading: &str) -> Option<&'t str> {
    let begins = text.match_indices(heading).find(|(at, _)| *at == 0 || text[..*at].ends_with('\n'))?.0;
    let rest = &text[begins + heading.len()..];
    Some(rest.find("\n### ").map_or(rest, |end| &rest[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_read_from_its_sections() {
        let text = "### Open tabs\n- 0: (current) [A](http://h/a)\n### Page\n- Page URL: http://h/a\n- Page Title: A\n\
                    ### Snapshot\n```yaml\n- button \"x\" [ref=e2]\n```\n### Events\n- none";
        let view = read_view(text);
        assert_eq!((view.url.as_str(), view.title.as_str()), ("http://h/a", "A"));
        assert_eq!(view.snapshot.nodes[0].name, "x");
        assert_eq!(view.raw.trim(), "- button \"x\" [ref=e2]");
    }

    #[test]
    fn tabs_are_read_from_their_lines() {
        let tab = Tab::read("- 2: (current) [Title (1)](http://h/x)").unwrap();
        assert_eq!((tab.index, tab.title.as_str(), tab.url.as_str()), (2, "Title (1)", "http://h/x"));
        assert_eq!(Tab::read("### Result"), None);
    }

    #[test]
    fn failures_are_told_apart_by_their_words() {
        assert!(matches!(told("Error: x: Target crashed "), PageError::Crashed));
        assert!(matches!(told("Target page, context or browser has been closed"), PageError::BrowserGone(_)));
        assert!(matches!(
            told("TimeoutError: page.goto: Timeout 60000ms exceeded"),
            PageError::Unresponsive(_)
        ));
        assert!(matches!(told("Ref e9 not found"), PageError::Refused(_)));
    }
}
