//! JSON among other words: whatever begins a line with a bracket and can be read from there.

use serde::de::DeserializeOwned;

/// How many beginnings that cannot be read are tried: each may cost as much as the whole text.
const TRIES: usize = 16;

/// Objects or lists, by `begins`, that can be read as `T`, each with its own text; those within others are passed over.
pub(super) fn documents<T: DeserializeOwned>(text: &str, begins: char) -> Documents<'_, T> {
    Documents { text, at: 0, begins, tries: TRIES, kind: std::marker::PhantomData }
}

pub(super) struct Documents<'t, T> {
    text: &'t str,
    at: usize,
    begins: char,
    tries: usize,
    kind: std::marker::PhantomData<T>,
}

impl<'t, T: DeserializeOwned> Iterator for Documents<'t, T> {
    type Item = (T, &'t str);

    fn next(&mut self) -> Option<(T, &'t str)> {
        while self.tries > 0 && self.at < self.text.len() {
            let rest = self.text.get(self.at..)?;
            let line = rest.split_inclusive('\n').next()?;
            if !line.starts_with(self.begins) {
                self.at += line.len();
                continue;
            }
            let mut read = serde_json::Deserializer::from_str(rest).into_iter::<T>();
            match read.next() {
                Some(Ok(found)) => {
                    let own = rest.get(..read.byte_offset())?;
                    // What follows on the same line is no line of its own.
                    let behind = rest.get(own.len()..).and_then(|behind| behind.find('\n'));
                    self.at += behind.map_or(rest.len(), |end| own.len() + end + 1);
                    return Some((found, own));
                }
                _ => {
                    self.tries -= 1;
                    self.at += line.len();
                }
            }
        }
        None
    }
}
