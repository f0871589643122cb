//! A git configuration without what signs in: an agent's git works as the user's does, and cannot speak to a forge in the
//! user's name.
//!
//! An allow-list, too: a key that a credential helper invents tomorrow is not in it.

use std::fmt::Write as _;

use crate::values::address::shown;

/// Sections of which git needs something for work in a checkout.
const SECTIONS: [&str; 37] = [
    "advice",
    "am",
    "apply",
    "author",
    "blame",
    "branch",
    "checkout",
    "clean",
    "color",
    "column",
    "commit",
    "committer",
    "core",
    "diff",
    "extensions",
    "feature",
    "fetch",
    "filter",
    "format",
    "gc",
    "gitflow",
    "grep",
    "i18n",
    "index",
    "init",
    "lfs",
    "log",
    "merge",
    "pack",
    "pull",
    "push",
    "rebase",
    "remote",
    "rerere",
    "submodule",
    "url",
    "user",
];

/// Of sections that hold other things: how a server is reached, not by which sign-in.
const KEYS: [&str; 5] =
    ["http.proxy", "http.sslbackend", "http.sslcainfo", "http.sslcapath", "http.sslverify"];

/// Commands that would be given a password, or hold one.
const WITHHELD: [&str; 3] = ["core.askpass", "core.gitproxy", "core.sshcommand"];

/// What a key is called that holds a secret, whatever section it is in.
const SECRET: [&str; 5] = ["password", "passwd", "secret", "token", "extraheader"];

/// From what `git config --list -z` says of a file, as the text of another one.
pub fn without_sign_ins(listing: &[u8]) -> String {
    let mut text = String::new();
    for entry in listing.split(|&byte| byte == 0).filter(|entry| !entry.is_empty()) {
        let entry = String::from_utf8_lossy(entry);
        let (key, value) = entry.split_once('\n').map_or((&*entry, None), |(key, value)| (key, Some(value)));
        let Some((section, rest)) = key.split_once('.') else { continue };
        let (part, name) = rest.rsplit_once('.').map_or((None, rest), |(part, name)| (Some(part), name));
        if !is_kept(section, name) {
            continue;
        }
        let part = part.map(|part| format!(" {}", quoted(&shown(part)))).unwrap_or_default();
        let value = value.map(|value| format!(" = {}", quoted(&shown(value)))).unwrap_or_default();
        let _ = writeln!(text, "[{section}{part}]\n\t{name}{value}");
    }
    text
}

fn is_kept(section: &str, name: &str) -> bool {
    let key = format!("{section}.{name}");
    let is_known = SECTIONS.contains(&section) || KEYS.contains(&key.as_str());
    is_known && !WITHHELD.contains(&key.as_str()) && !SECRET.iter().any(|secret| name.contains(secret))
}

fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t");
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_signs_in_is_left_out_and_all_else_stays_as_it_is() {
        let listing = [
            "core.repositoryformatversion\n0",
            "core.bare",
            "remote.origin.url\nhttps://x-access-token:T0KEN@github.com/a/b.git",
            "remote.origin.pushurl\nhttps://T0KEN@github.com/a/b.git",
            "remote.other.url\nssh://git:T0KEN@example.com/a.git",
            "remote.plain.url\ngit@example.com:a/b.git",
            "http.https://github.com/.extraheader\nAUTHORIZATION: basic T0KEN",
            "http.cookiefile\n/home/ada/T0KEN",
            "http.sslverify\nfalse",
            "credential.helper\n!echo T0KEN",
            "credential.https://example.com.username\nT0KEN",
            "url.https://T0KEN@github.com/.insteadof\nhttps://github.com/",
            "core.sshcommand\nsshpass -p T0KEN ssh",
            "gitlab.key\nT0KEN",
            "lfs.https://example.com/.apitoken\nT0KEN",
            "filter.lfs.clean\ngit-lfs clean -- \"%f\"\\\n",
        ]
        .join("\0");
        let text = without_sign_ins(listing.as_bytes());
        assert!(!text.contains("T0KEN"), "{text}");
        let expected = "[core]\n\trepositoryformatversion = \"0\"\n[core]\n\tbare\n\
            [remote \"origin\"]\n\turl = \"https://x-access-token@github.com/a/b.git\"\n\
            [remote \"origin\"]\n\tpushurl = \"https://github.com/a/b.git\"\n\
            [remote \"other\"]\n\turl = \"ssh://git@example.com/a.git\"\n\
            [remote \"plain\"]\n\turl = \"git@example.com:a/b.git\"\n\
            [http]\n\tsslverify = \"false\"\n\
            [url \"https://github.com/\"]\n\tinsteadof = \"https://github.com/\"\n\
            [filter \"lfs\"]\n\tclean = \"git-lfs clean -- \\\"%f\\\"\\\\\\n\"\n";
        assert_eq!(text, expected);
    }
}
