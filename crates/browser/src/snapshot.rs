//! A page as its accessibility tree says it: roles, names and texts, with a reference to act on each.
//!
//! References change with each load, so nothing here is kept across snapshots.

/// One element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    pub role: String,
    pub name: String,
    /// What stands behind the colon: the text of a leaf, the value of a box.
    pub text: String,
    pub reference: Option<String>,
    pub disabled: bool,
    /// Where a link leads.
    pub url: Option<String>,
    /// The place in the list of the element that this one is in.
    pub parent: Option<usize>,
}

/// All elements, in the order of the page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    pub nodes: Vec<Node>,
}

impl Snapshot {
    /// Reads the lines as Playwright MCP writes them. What cannot be read is passed over: a page may contain anything.
    pub fn parse(text: &str) -> Snapshot {
        let mut nodes: Vec<Node> = Vec::new();
        // The elements that the next line may be inside of, with their indentation.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for line in text.lines() {
            let indent = line.len() - line.trim_start().len();
            let Some(rest) = line.trim_start().strip_prefix("- ") else { continue };
            while open.last().is_some_and(|(depth, _)| *depth >= indent) {
                open.pop();
            }
            let parent = open.last().map(|(_, at)| *at);
            if let Some(url) = rest.strip_prefix("/url:") {
                if let Some(node) = parent.and_then(|at| nodes.get_mut(at)) {
                    node.url = Some(unquoted(url.trim()));
                }
                continue;
            }
            if rest.starts_with('/') {
                continue;
            }
            let Some(node) = read(rest, parent) else { continue };
            open.push((indent, nodes.len()));
            nodes.push(node);
        }
        Snapshot { nodes }
    }

    /// Whether an element is inside of one that fits.
    pub fn is_within(&self, at: usize, fits: impl Fn(&Node) -> bool) -> bool {
        let mut parent = self.nodes.get(at).and_then(|node| node.parent);
        while let Some(at) = parent {
            let Some(node) = self.nodes.get(at) else { return false };
            if fits(node) {
                return true;
            }
            parent = node.parent;
        }
        false
    }

    /// All that is to be read in an element and below it.
    pub fn text_of(&self, at: usize) -> String {
        let mut words = Vec::new();
        for (place, node) in self.nodes.iter().enumerate().skip(at) {
            if place != at && !self.has_ancestor(place, at) {
                continue;
            }
            words
                .extend([node.name.as_str(), node.text.as_str()].into_iter().filter(|text| !text.is_empty()));
        }
        words.join(" ")
    }

    /// Whether an element is inside of another one.
    pub(crate) fn has_ancestor(&self, place: usize, ancestor: usize) -> bool {
        let mut parent = self.nodes.get(place).and_then(|node| node.parent);
        while let Some(at) = parent {
            if at == ancestor {
                return true;
            }
            parent = self.nodes.get(at).and_then(|node| node.parent);
        }
        false
    }
}

/// `role "name" [flag] [ref=e1]: text`; in quotes as a whole where it would not be YAML otherwise.
fn read(line: &str, parent: Option<usize>) -> Option<Node> {
    let whole = line.starts_with('\'').then(|| single_quoted(line)).flatten();
    let (line, after) = match &whole {
        Some((inner, after)) => (inner.as_str(), *after),
        None => (line, ""),
    };
    let role_ends = line.find([' ', ':', '[']).unwrap_or(line.len());
    let (role, mut rest) = line.split_at(role_ends);
    if role.is_empty() {
        return None;
    }
    let mut node = Node { role: role.to_owned(), parent, ..Node::default() };
    rest = rest.trim_start();
    if let Some((name, after)) = quoted(rest) {
        node.name = name;
        rest = after.trim_start();
    }
    while let Some((flag, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        match flag.split_once('=') {
            Some(("ref", reference)) => node.reference = Some(reference.to_owned()),
            None if flag == "disabled" => node.disabled = true,
            _ => {}
        }
        rest = after.trim_start();
    }
    let text = rest.strip_prefix(':').or_else(|| after.trim_start().strip_prefix(':'));
    node.text = text.map(|text| unquoted(text.trim())).unwrap_or_default();
    Some(node)
}

/// A text in double quotes at the beginning, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => {
                let literal = &text[..at + 2];
                let read = serde_json::from_str(literal).unwrap_or_else(|_| inner[..at].to_owned());
                return Some((read, &inner[at + 1..]));
            }
            _ => escaped = false,
        }
    }
    None
}

/// A text in single quotes, in which a quote is written twice.
fn single_quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('\'')?;
    let mut read = String::new();
    let mut chars = inner.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if chars.peek().is_some_and(|(_, next)| *next == '\'') => {
                chars.next();
                read.push('\'');
            }
            '\'' => return Some((read, &inner[at + 1..])),
            c => read.push(c),
        }
    }
    None
}

fn unquoted(text: &str) -> String {
    if let Some((read, _)) = quoted(text) {
        return read;
    }
    single_quoted(text).map_or_else(|| text.to_owned(), |(read, _)| read)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"
- generic [active] [ref=e1]:
  - dialog "Notify" [ref=e2]:
    - button "Not Now" [ref=e3]
  - textbox "Say \"what\" to do" [ref=e4]: "line: one"
  - button "Send" [disabled] [ref=e5]
  - link "Fix it, Idle" [ref=e6] [cursor=pointer]:
    - /url: /code/session_1
    - text: Fix it
  - 'button "Select repo: none" [ref=e7]'
  - 'heading "It''s: so" [level=1] [ref=e8]': here
  - text: loose
"#;

    #[test]
    fn roles_names_flags_and_references_are_read() {
        let page = Snapshot::parse(PAGE);
        let found = |name: &str| page.nodes.iter().find(|node| node.name == name).unwrap();
        assert_eq!(found("Not Now").reference.as_deref(), Some("e3"));
        assert!(found("Send").disabled);
        assert_eq!(found("Say \"what\" to do").text, "line: one");
        assert_eq!(found("Fix it, Idle").url.as_deref(), Some("/code/session_1"));
        assert_eq!(found("Select repo: none").reference.as_deref(), Some("e7"));
        assert_eq!((found("It's: so").role.as_str(), found("It's: so").text.as_str()), ("heading", "here"));
    }

    #[test]
    fn what_is_inside_of_what_is_known() {
        let page = Snapshot::parse(PAGE);
        let at = |name: &str| page.nodes.iter().position(|node| node.name == name).unwrap();
        assert!(page.is_within(at("Not Now"), |node| node.role == "dialog"));
        assert!(!page.is_within(at("Send"), |node| node.role == "dialog"));
        assert_eq!(page.text_of(at("Fix it, Idle")), "Fix it, Idle Fix it");
        assert_eq!(page.text_of(at("Notify")), "Notify Not Now");
    }

    #[test]
    fn any_text_is_read_without_harm() {
        for text in [
            "",
            "- ",
            "-",
            "- \"",
            "- '",
            "- '''",
            "- a [",
            "- a [ref",
            "- \"x\"",
            "::::",
            "- /url: x",
            "- é\"ü",
        ] {
            let _ = Snapshot::parse(text);
        }
    }
}
