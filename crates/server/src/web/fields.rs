//! What a request may say, field by field: checked and described from one list, so that what the reference page tells is
//! what is accepted.

use conductor_core::plan::ACP;
use serde_json::{Map, Value, json};

use crate::problem::{Problem, Result};

/// Longer text than this is no name.
const LONGEST_NAME: usize = 4_000;

/// Of words for an agent, a description of what is to be done, or a patch.
const LONGEST_WORDS: usize = 200_000;

const MOST_TEXTS: usize = 10_000;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    /// One line.
    Text,
    /// The name of an agent, in one line. One that names a program is for those who may run any command.
    Agent,
    /// As many lines as wanted.
    Words,
    Whole(u64, u64),
    /// Above nothing.
    Amount,
    Flag,
    Texts,
    OneOf(&'static [&'static str]),
    /// Keys and values that are checked elsewhere.
    Object,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) words: &'static str,
    pub(crate) needed: bool,
}

pub(crate) const fn must(name: &'static str, kind: Kind, words: &'static str) -> Field {
    Field { name, kind, words, needed: true }
}

pub(crate) const fn may(name: &'static str, kind: Kind, words: &'static str) -> Field {
    Field { name, kind, words, needed: false }
}

/// What was said, each value of the kind its field has.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given(Map<String, Value>);

impl Given {
    /// The fields of a body.
    pub(crate) fn of_body(fields: &[Field], body: Value) -> Result<Given> {
        let Value::Object(body) = body else {
            return Err(Problem::new(422, "the body has to be a JSON object"));
        };
        let mut given = Given::default();
        for (name, value) in body {
            let field = known(fields, &name)?;
            if !value.is_null() {
                given.0.insert(name, checked(field, value)?);
            }
        }
        given.complete(fields)
    }

    /// The parameters behind the question mark.
    pub(crate) fn of_query(fields: &[Field], query: &str) -> Result<Given> {
        let mut given = Given::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            let field = known(fields, &name)?;
            if given.0.contains_key(&name) {
                return Err(Problem::field(&name, "is there twice"));
            }
            let value = checked(field, read(field.kind, value))?;
            given.0.insert(name, value);
        }
        given.complete(fields)
    }

    fn complete(self, fields: &[Field]) -> Result<Given> {
        match fields.iter().find(|field| field.needed && !self.0.contains_key(field.name)) {
            Some(missing) => Err(Problem::field(missing.name, "is missing")),
            None => Ok(self),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    /// One that was marked as needed.
    pub(crate) fn needed(&self, name: &str) -> Result<&str> {
        self.text(name).ok_or_else(|| Problem::field(name, "is missing"))
    }

    /// As `needed`, of one that says nothing if it is empty.
    pub(crate) fn filled(&self, name: &str) -> Result<&str> {
        let text = self.needed(name)?;
        if text.trim().is_empty() { Err(Problem::field(name, "is empty")) } else { Ok(text) }
    }

    pub(crate) fn whole(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Map<String, Value>> {
        self.0.get(name).and_then(Value::as_object)
    }

    /// The field by which a program is named that would be started as an agent, where one is.
    pub(crate) fn program(&self, fields: &[Field]) -> Option<&'static str> {
        let agents = fields.iter().filter(|field| matches!(field.kind, Kind::Agent));
        let mut programs =
            agents.filter(|field| self.text(field.name).is_some_and(|name| name.starts_with(ACP)));
        programs.next().map(|field| field.name)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

fn known<'a>(fields: &'a [Field], name: &str) -> Result<&'a Field> {
    fields.iter().find(|field| field.name == name).ok_or_else(|| {
        let names = fields.iter().map(|field| field.name);
        let meant = conductor_core::values::suggest::did_you_mean(name, names);
        Problem::field(name, "is not known here").meant(meant)
    })
}

/// A value of a query, as the body would have it.
fn read(kind: Kind, text: String) -> Value {
    match kind {
        Kind::Whole(..) => text.parse::<u64>().map_or(Value::String(text), |number| json!(number)),
        Kind::Amount => text.parse::<f64>().map_or(Value::String(text), |amount| json!(amount)),
        Kind::Flag => match text.as_str() {
            "true" | "1" => json!(true),
            "false" | "0" => json!(false),
            _ => Value::String(text),
        },
        // Empty ones say nothing, and count against the limit like all others.
        Kind::Texts if text.split(',').count() > MOST_TEXTS => Value::String(text),
        Kind::Texts => text.split(',').filter(|part| !part.is_empty()).collect(),
        Kind::Text | Kind::Agent | Kind::Words | Kind::OneOf(_) | Kind::Object => Value::String(text),
    }
}

fn checked(field: &Field, value: Value) -> Result<Value> {
    let wrong = |what: &str| Err(Problem::field(field.name, what));
    let is_line = |text: &str| text.len() <= LONGEST_NAME && !text.chars().any(char::is_control);
    match (field.kind, &value) {
        (Kind::Text | Kind::Agent, Value::String(text)) if is_line(text) => Ok(value),
        (Kind::Text | Kind::Agent, _) => wrong("has to be one line of text"),
        (Kind::Words, Value::String(text)) if text.len() <= LONGEST_WORDS && !text.contains('\0') => {
            Ok(value)
        }
        (Kind::Words, _) => wrong("has to be text"),
        (Kind::Whole(least, most), value) => match value.as_u64() {
            Some(number) if (least..=most).contains(&number) => Ok(json!(number)),
            _ => wrong(&format!("has to be a whole number from {least} to {most}")),
        },
        (Kind::Amount, value) => match value.as_f64() {
            Some(amount) if amount.is_finite() && amount > 0.0 && amount < 1e12 => Ok(json!(amount)),
            _ => wrong("has to be an amount above 0"),
        },
        (Kind::Flag, Value::Bool(_)) => Ok(value),
        (Kind::Flag, _) => wrong("has to be true or false"),
        (Kind::Texts, Value::Array(list)) if list.len() <= MOST_TEXTS => {
            match list.iter().all(|one| one.as_str().is_some_and(is_line)) {
                true => Ok(value),
                false => wrong("has to be a list of lines of text"),
            }
        }
        (Kind::Texts, _) => wrong(&format!("has to be a list of at most {MOST_TEXTS} lines of text")),
        (Kind::OneOf(names), Value::String(text)) if names.contains(&text.as_str()) => Ok(value),
        (Kind::OneOf(names), _) => wrong(&format!("has to be one of {}", names.join(", "))),
        (Kind::Object, Value::Object(_)) => Ok(value),
        (Kind::Object, _) => wrong("has to be an object"),
    }
}

/// Text of an address as it was meant.
pub(crate) fn decoded(text: &str) -> Result<String> {
    let malformed = || Problem::new(400, "the address is not encoded as it should be");
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().ok_or_else(malformed)?, rest.next().ok_or_else(malformed)?];
                let digits = std::str::from_utf8(&digits).map_err(|_| malformed())?;
                bytes.push(u8::from_str_radix(digits, 16).map_err(|_| malformed())?);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| malformed())
}

/// A field as the API's document describes it.
pub(crate) fn schema(field: &Field) -> Value {
    let mut schema = match field.kind {
        Kind::Text | Kind::Agent => {
            json!({ "type": "string", "maxLength": LONGEST_NAME, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" })
        }
        Kind::Words => {
            json!({ "type": "string", "maxLength": LONGEST_WORDS / 4, "pattern": "^[^\\u0000]*$" })
        }
        Kind::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Amount => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1e12 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Texts => {
            json!({ "type": "array", "maxItems": MOST_TEXTS, "items": { "type": "string", "maxLength": LONGEST_NAME,
                "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$" } })
        }
        Kind::OneOf(names) => json!({ "type": "string", "enum": names }),
        Kind::Object => json!({ "type": "object" }),
    };
    schema["description"] = json!(field.words);
    schema
}

/// In a body, what may be left out may also be null.
pub(crate) fn in_body(field: &Field) -> Value {
    let mut schema = schema(field);
    if field.needed {
        return schema;
    }
    schema["type"] = json!([schema["type"], "null"]);
    if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        names.push(Value::Null);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        must("name", Kind::Text, "A name"),
        may("count", Kind::Whole(1, 9), "How many"),
        may("force", Kind::Flag, "Whether"),
        may("how", Kind::OneOf(&["a", "b"]), "How"),
        may("tags", Kind::Texts, "Which"),
    ];

    #[test]
    fn a_body_is_checked_field_by_field() {
        let wrong = |body: Value| {
            let problem = Given::of_body(FIELDS, body).unwrap_err();
            (problem.status(), problem.detail().to_owned())
        };
        let given = Given::of_body(FIELDS, json!({ "name": "x", "count": 3, "how": null })).unwrap();
        assert_eq!((given.text("name"), given.whole("count"), given.text("how")), (Some("x"), Some(3), None));
        assert_eq!(wrong(json!({})), (422, "'name' is missing".into()));
        assert_eq!(wrong(json!({ "nam": "x" })).1, "'nam' is not known here");
        assert_eq!(wrong(json!({ "name": 3 })).1, "'name' has to be one line of text");
        assert_eq!(wrong(json!({ "name": "a\nb" })).1, "'name' has to be one line of text");
        assert_eq!(
            wrong(json!({ "name": "x", "count": 10 })).1,
            "'count' has to be a whole number from 1 to 9"
        );
        assert_eq!(wrong(json!({ "name": "x", "force": "yes" })).1, "'force' has to be true or false");
        assert_eq!(wrong(json!({ "name": "x", "how": "c" })).1, "'how' has to be one of a, b");
        assert_eq!(wrong(json!([1])).0, 422);
    }

    #[test]
    fn a_list_in_an_address_is_as_long_as_its_commas_say() {
        let tags = |text: String| checked(&FIELDS[4], read(Kind::Texts, text));
        assert_eq!(tags("a,,b,".to_owned()).unwrap(), json!(["a", "b"]));
        assert_eq!(tags(",".repeat(MOST_TEXTS - 1)).unwrap(), json!([]));
        let problem = tags(",".repeat(MOST_TEXTS)).unwrap_err();
        assert_eq!(problem.detail(), "'tags' has to be a list of at most 10000 lines of text");
    }

    #[test]
    fn what_may_be_null_is_described_so() {
        let described = |name: &str| in_body(FIELDS.iter().find(|field| field.name == name).unwrap());
        assert_eq!(described("name")["type"], "string");
        assert_eq!(described("count")["type"], json!(["integer", "null"]));
        assert!(described("count").get("enum").is_none());
        assert_eq!(described("how")["enum"], json!(["a", "b", null]));
        assert_eq!(schema(&FIELDS[3])["enum"], json!(["a", "b"]), "a query has no null");
    }

    #[test]
    fn a_query_says_the_same_in_text() {
        let given = Given::of_query(FIELDS, "name=a%20b+c&count=2&force=true&tags=x,y").unwrap();
        assert_eq!(given.text("name"), Some("a b c"));
        assert_eq!((given.whole("count"), given.flag("force")), (Some(2), true));
        assert_eq!(given.texts("tags"), ["x", "y"]);
        for (query, status) in
            [("name=x&name=y", 422), ("name=%zz", 400), ("name=%ff", 400), ("name=x&count=0", 422)]
        {
            assert_eq!(Given::of_query(FIELDS, query).unwrap_err().status(), status, "{query}");
        }
    }
}
