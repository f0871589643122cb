//! What a page has of what the selectors know, and a person who points at an element that they do not know.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::page::View;
use crate::page::{Page, PageError};
use crate::selectors::{Found, Pattern, Selectors, Step};

const LOOK: Duration = Duration::from_millis(250);

/// The next click is not carried out; what was clicked is remembered, as the control that it is part of.
const POINT: &str = "() => { delete window.conductorPointed; document.addEventListener('click', event => { \
    event.preventDefault(); event.stopImmediatePropagation(); \
    const known = 'button,a,input,textarea,select,[role],[contenteditable]'; \
    const path = event.composedPath().filter(one => one instanceof Element); \
    const meant = path.find(one => one.matches(known)) || path[0]; \
    document.querySelectorAll('[data-conductor-pointed]').forEach(one => one.removeAttribute('data-conductor-pointed')); \
    meant.setAttribute('data-conductor-pointed', ''); window.conductorPointed = true; \
  }, { capture: true, once: true }); return true; }";
const POINTED: &str = "() => window.conductorPointed === true";
const MEANT: &str = "[data-conductor-pointed]";

/// A control, and what the page has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probed {
    pub control: String,
    pub found: Found,
}

/// Looks for the controls that the first page must have. Nothing is clicked: lists that open later are not looked for.
pub fn probe(selectors: &Selectors, view: &View) -> Vec<Probed> {
    let mut probed: Vec<Probed> = Vec::new();
    for step in selectors.steps.get("create").into_iter().flatten() {
        let control = match step {
            Step::Choose { control, .. }
            | Step::Clear { control }
            | Step::Type { control, .. }
            | Step::Check { control, .. }
            | Step::Shows { control, .. }
            | Step::Submit { control }
            | Step::Click { control } => control,
            Step::Open | Step::Dismiss { .. } | Step::Address | Step::Link { .. } => continue,
        };
        if probed.iter().all(|one| one.control != *control) {
            let found = selectors.find(control, view, &Default::default());
            probed.push(Probed { control: control.clone(), found });
        }
    }
    probed
}

/// Waits until a person clicks an element, and gives the pattern by which it is known again. None: nothing was clicked.
pub fn point(page: &mut Page, within: Duration) -> Result<Option<Pattern>, PageError> {
    page.evaluate(POINT)?;
    let deadline = Instant::now() + within;
    while page.evaluate(POINTED)? != true {
        if Instant::now() >= deadline {
            return Ok(None);
        }
        sleep(LOOK);
    }
    let meant = page.view_of(MEANT)?;
    let Some(node) = meant.snapshot.nodes.into_iter().next() else { return Ok(None) };
    let name = Some(node.name).filter(|name| !name.is_empty());
    Ok(Some(Pattern { role: Some(node.role), name, ..Pattern::default() }))
}
