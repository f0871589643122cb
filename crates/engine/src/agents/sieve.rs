//! Reads from a line of JSON only the fields that the translator uses.
//!
//! Agents say a great deal that is of no use here: lists of all their tools, times of all kinds, whole files. Reading
//! past that costs a fraction of building it.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Which fields are taken in, by their names.
#[derive(Clone, Copy)]
pub(super) struct Sieve {
    pub(super) keeps: fn(&str) -> bool,
    /// Of these the fields inside are chosen by their names too; what else is kept is kept whole.
    pub(super) opens: fn(&str) -> bool,
}

impl Sieve {
    /// The object in a line, if there is one.
    pub(super) fn read(self, line: &[u8]) -> Option<Value> {
        let mut reader = serde_json::Deserializer::from_slice(line);
        let value = reader.deserialize_map(self).ok()?;
        reader.end().ok().map(|()| value)
    }
}

#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> DeserializeSeed<'de> for Sieve {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Sieve {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(Name(name)) = fields.next_key()? {
            if !(self.keeps)(&name) {
                fields.next_value::<IgnoredAny>()?;
            } else if (self.opens)(&name) {
                kept.insert(name.into_owned(), fields.next_value_seed(self)?);
            } else {
                kept.insert(name.into_owned(), fields.next_value()?);
            }
        }
        Ok(Value::Object(kept))
    }

    // What should be an object and is none has no fields to choose from.

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(Vec::new()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SIEVE: Sieve =
        Sieve { keeps: |name| matches!(name, "a" | "in" | "whole"), opens: |name| name == "in" };

    #[test]
    fn what_is_not_asked_for_is_read_past() {
        let line = br#"{"b":[1,{"a":2}],"a":1,"in":{"a":2,"b":3,"in":{"b":1}},"whole":{"b":4},"a\u0062":5}"#;
        assert_eq!(
            SIEVE.read(line),
            Some(json!({ "a": 1, "in": { "a": 2, "in": {} }, "whole": { "b": 4 } }))
        );
    }

    #[test]
    fn another_kind_of_value_than_expected_takes_nothing_else_along() {
        for odd in ["null", "7", "-7", "0.5", "true", "\"x\\n\"", "[1, [2]]"] {
            let line = format!("{{\"in\":{odd},\"a\":1}}");
            assert_eq!(SIEVE.read(line.as_bytes()).unwrap()["a"], 1, "{odd}");
        }
    }

    #[test]
    fn only_a_whole_object_counts() {
        for line in
            ["", "17", "[]", "null", "{", "{\"a\":1", "{\"a\":1} x", "{\"b\":tru}", "{\"b\":\"\u{1}\"}"]
        {
            assert_eq!(SIEVE.read(line.as_bytes()), None, "{line}");
        }
    }
}
