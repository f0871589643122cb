//! What a prompt says to do, recognised by an imperative and what it is done to.

use super::{LOOKED_AT, Risk, cut, once, quoted};

/// What a prompt can say to do, and to what.
struct Deed {
    risk: Risk,
    verbs: &'static [&'static str],
    nouns: &'static [&'static str],
}

const DEEDS: [Deed; 9] = [
    Deed {
        risk: Risk::Push,
        verbs: &["push"],
        nouns: &[
            "branch", "branches", "commit", "commits", "change", "changes", "main", "master", "origin",
            "remote", "upstream", "tag", "tags", "image", "images", "registry", "github", "gitlab", "it",
        ],
    },
    Deed {
        risk: Risk::Push,
        verbs: &["publish"],
        nouns: &["package", "packages", "crate", "crates", "image", "npm", "pypi", "release", "registry"],
    },
    Deed {
        risk: Risk::Delete,
        verbs: &["delete", "remove", "wipe", "purge", "erase"],
        nouns: &[
            "directory",
            "directories",
            "folder",
            "folders",
            "recursively",
            "bucket",
            "buckets",
            "everything",
            "disk",
            "database",
            "databases",
        ],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["run", "apply", "execute", "perform"],
        nouns: &["migration", "migrations"],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["migrate"],
        nouns: &["database", "databases", "schema", "data", "tables", "records", "users", "production"],
    },
    Deed {
        risk: Risk::Migration,
        verbs: &["drop", "truncate"],
        nouns: &["table", "tables", "database", "schema"],
    },
    Deed {
        risk: Risk::Deploy,
        verbs: &["deploy", "redeploy"],
        nouns: &[
            "it",
            "production",
            "prod",
            "staging",
            "server",
            "servers",
            "cluster",
            "site",
            "website",
            "app",
            "application",
            "service",
            "services",
            "version",
            "release",
            "kubernetes",
            "live",
            "everything",
        ],
    },
    Deed {
        risk: Risk::Secrets,
        verbs: &["rotate", "revoke", "regenerate"],
        nouns: &[
            "secret",
            "secrets",
            "credential",
            "credentials",
            "password",
            "passwords",
            "key",
            "keys",
            "token",
            "tokens",
            "certificate",
            "certificates",
        ],
    },
    Deed {
        risk: Risk::Secrets,
        verbs: &["set", "store", "change", "replace", "update", "delete", "write"],
        nouns: &["secret", "secrets", "credential", "credentials", "password", "passwords"],
    },
];

/// Words that may stand before an imperative.
const BEFORE: [&str; 11] =
    ["please", "then", "and", "now", "finally", "also", "first", "next", "afterwards", "lastly", "to"];
/// Words with which a thing's name is over, so that it is no part of a longer one, as in "password form".
const AFTER: [&str; 22] = [
    "in", "on", "of", "for", "to", "with", "from", "and", "at", "by", "that", "which", "when", "once", "if",
    "into", "or", "again", "now", "then", "after", "under",
];
/// How far what is done may stand from the word that says so.
const NEAR: usize = 6;

/// What a prompt says to do. Strict: a word that tells to do it, and near it what it is done to.
pub fn of_prompt(prompt: &str) -> Vec<(Risk, String)> {
    let prompt = cut(prompt, LOOKED_AT);
    let sentences = prompt.split(['\n', ';', '!', '?']).flat_map(|line| line.split(". "));
    once(sentences.flat_map(|sentence| of_sentence(sentence).map(|risk| (risk, quoted(sentence)))).collect())
}

fn of_sentence(sentence: &str) -> impl Iterator<Item = Risk> {
    let quotes_rm = sentence.contains("rm -rf ") && !sentence.to_lowercase().contains("not ");
    let words: Vec<Word> = sentence.split_whitespace().filter_map(Word::new).collect();
    let told = move |deed: &Deed| {
        let is_told = |(at, word): (usize, &Word)| {
            deed.verbs.contains(&word.text.as_str())
                && is_imperative(&words, at)
                && is_done_to(&words[at..], deed.nouns)
        };
        words.iter().enumerate().any(is_told)
    };
    let deeds: Vec<Risk> = DEEDS.iter().filter(|deed| told(deed)).map(|deed| deed.risk).collect();
    quotes_rm.then_some(Risk::Delete).into_iter().chain(deeds)
}

struct Word {
    text: String,
    /// Whether the thought is over behind it.
    ends: bool,
}

impl Word {
    fn new(word: &str) -> Option<Word> {
        let text = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let ends = word.ends_with([',', '.', ':', ')', '"', '`', '\'']);
        (!text.is_empty()).then_some(Word { text, ends })
    }
}

/// Whether a word stands where it is an imperative.
fn is_imperative(words: &[Word], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|at| &words[at]) else { return true };
    let negated = words[..at].iter().rev().take(3).any(|word| {
        matches!(word.text.as_str(), "not" | "never" | "don't" | "cannot" | "without" | "how" | "able")
    });
    let numbered = at == 1 && before.text.chars().all(|c| c.is_ascii_digit());
    !negated && (before.ends || numbered || BEFORE.contains(&before.text.as_str()))
}

/// Whether one of these things is what the first word is done to.
fn is_done_to(words: &[Word], nouns: &[&str]) -> bool {
    for (at, word) in words.iter().enumerate().skip(1).take(NEAR) {
        if nouns.contains(&word.text.as_str()) {
            let over = word.ends || words.get(at + 1).is_none_or(|next| AFTER.contains(&next.text.as_str()));
            if over {
                return true;
            }
        }
        if word.ends {
            return false;
        }
    }
    false
}
