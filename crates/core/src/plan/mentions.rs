//! Files a task's words say it will touch. A guess that errs on the side of silence: tasks whose files meet do not run
//! side by side, so that a file named by mistake costs time and one that was overlooked costs a merge at the most.

/// More than this is a listing, not a task.
const MOST: usize = 30;
const LONGEST: usize = 200;
/// Further than this a text is not looked through.
const ENOUGH: usize = 64 << 10;

/// Endings by which a name without a folder is taken for a file.
const ENDINGS: [&str; 52] = [
    "rs", "toml", "py", "pyi", "ts", "tsx", "js", "jsx", "mjs", "cjs", "json", "yaml", "yml", "md", "mdx",
    "html", "css", "scss", "vue", "svelte", "go", "mod", "java", "kt", "swift", "rb", "php", "c", "h", "cc",
    "cpp", "hpp", "cs", "sh", "sql", "proto", "graphql", "xml", "ini", "cfg", "conf", "lock", "tf", "gradle",
    "txt", "csv", "ipynb", "lua", "ex", "exs", "zig", "dart",
];

/// Libraries that are called like files.
const LIBRARIES: [&str; 14] = [
    "node.js",
    "next.js",
    "vue.js",
    "nuxt.js",
    "express.js",
    "three.js",
    "d3.js",
    "react.js",
    "ember.js",
    "chart.js",
    "p5.js",
    "moment.js",
    "alpine.js",
    "discord.js",
];

/// Folders by which a path without an ending is known.
const FOLDERS: [&str; 22] = [
    "src",
    "lib",
    "crates",
    "tests",
    "test",
    "docs",
    "app",
    "apps",
    "packages",
    "cmd",
    "internal",
    "pkg",
    "include",
    "scripts",
    "examples",
    "config",
    "public",
    "components",
    "server",
    "client",
    "migrations",
    "benches",
];

/// What is only looked at: the nearest of these words before a path says so.
const READING: [&str; 21] = [
    "see",
    "read",
    "like",
    "per",
    "follow",
    "following",
    "according",
    "based",
    "similar",
    "compare",
    "reference",
    "refer",
    "from",
    "using",
    "use",
    "uses",
    "run",
    "execute",
    "import",
    "imports",
    "consult",
];
const WRITING: [&str; 28] = [
    "add",
    "build",
    "change",
    "clean",
    "correct",
    "create",
    "delete",
    "document",
    "edit",
    "extend",
    "extract",
    "fix",
    "generate",
    "implement",
    "improve",
    "into",
    "modify",
    "move",
    "put",
    "refactor",
    "remove",
    "rename",
    "replace",
    "rewrite",
    "split",
    "to",
    "update",
    "write",
];
/// Taking something away from a file changes it.
const MOVING: [&str; 6] = ["delete", "extract", "move", "remove", "rename", "split"];

/// What a task will touch by its words, in their order, each once. What should exist at the end is written, whatever
/// words surround it.
pub fn files(words: &str, deliverable: Option<&str>) -> Vec<String> {
    let mut found = Vec::new();
    sentences(opening(words)).for_each(|sentence| collect(sentence, true, &mut found));
    deliverable.into_iter().for_each(|text| collect(opening(text), false, &mut found));
    found.truncate(MOST);
    found
}

fn opening(text: &str) -> &str {
    &text[..text.floor_char_boundary(ENOUGH)]
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split_inclusive(". ").flat_map(|part| part.split_inclusive("; ")))
}

fn collect(text: &str, listens: bool, found: &mut Vec<String>) {
    let moving = text.split_whitespace().any(|word| MOVING.contains(&cue(word).as_str()));
    let mut reading = false;
    for word in text.split_whitespace() {
        let cue = cue(word);
        if READING.contains(&cue.as_str()) {
            reading = cue != "from" || !moving;
        } else if WRITING.contains(&cue.as_str()) {
            reading = false;
        } else {
            let path = path(word).filter(|path| !found.contains(path));
            found.extend(path.filter(|_| !(listens && reading)));
        }
    }
}

fn cue(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
}

/// The path a word is, if it is one.
fn path(word: &str) -> Option<String> {
    if word.contains(['@', '\\', '~']) {
        return None;
    }
    let quoted = word.contains('`');
    let word = word.trim_start_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '*'));
    let word = word.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '*' | '_' | '}'));
    let word = without_line(word);
    let word = word.strip_prefix("./").unwrap_or(word);
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '/' | '-' | '*' | '+' | '{' | '}' | ',');
    if word.len() > LONGEST || !word.chars().all(plain) || word.contains("//") {
        return None;
    }
    let parts: Vec<&str> = word.split('/').collect();
    let (last, folders) = parts.split_last()?;
    if parts.contains(&"..") || parts.contains(&".") || word.starts_with('/') {
        return None;
    }
    let fits = match folders.first() {
        None => is_file(last),
        Some(first) if is_host(first) => false,
        Some(first) if last.is_empty() => is_name(first),
        Some(_) if is_glob(word) => true,
        Some(_) if has_ending(last) => folders.iter().all(|folder| is_name(folder)),
        Some(first) => quoted && FOLDERS.contains(first),
    };
    fits.then(|| word.trim_end_matches('/').to_owned()).filter(|path| !path.is_empty())
}

/// `src/a.rs:10:2` is `src/a.rs`.
fn without_line(word: &str) -> &str {
    let mut word = word;
    while let Some((head, tail)) = word.rsplit_once(':') {
        if tail.is_empty() || !tail.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            break;
        }
        word = head;
    }
    word
}

fn is_file(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let stem_fits = !stem.is_empty() && is_name(stem) && !stem.contains(['*', '{', ',', '+']);
    let short = ending.len() == 1 && stem.contains('.');
    stem_fits && !short && ENDINGS.contains(&ending) && !LIBRARIES.contains(&name.to_lowercase().as_str())
}

fn has_ending(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(stem, ending)| {
        let plain =
            ending.bytes().all(|byte| byte.is_ascii_alphanumeric()) && (1..=8).contains(&ending.len());
        plain && ending.starts_with(|c: char| c.is_ascii_alphabetic()) && (!stem.is_empty() || name.len() > 1)
    })
}

/// A star alone matches everything and says nothing.
fn is_glob(path: &str) -> bool {
    path.contains('*') && !path.starts_with('*')
}

fn is_name(part: &str) -> bool {
    part.chars().any(char::is_alphabetic)
}

fn is_host(part: &str) -> bool {
    const HOSTS: [&str; 12] =
        ["com", "org", "net", "io", "dev", "app", "ai", "co", "gov", "edu", "rs", "local"];
    part == "localhost"
        || part.rsplit_once('.').is_some_and(|(name, top)| !name.is_empty() && HOSTS.contains(&top))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(words: &str, expect: &[&str]) {
        assert_eq!(files(words, None), expect, "{words}");
    }

    #[test]
    fn paths_are_found_as_people_write_them() {
        check(
            "Implement src/components/Login.tsx with TypeScript\nUpdate src/services/AuthService.ts\n",
            &["src/components/Login.tsx", "src/services/AuthService.ts"],
        );
        check("Fix the bug in `src/api.rs`.", &["src/api.rs"]);
        check(
            "Change (src/a.rs:10:2), then \"src/b.rs\"; and ./src/c.rs!",
            &["src/a.rs", "src/b.rs", "src/c.rs"],
        );
        check("Add it to Cargo.toml and README.md", &["Cargo.toml", "README.md"]);
        check(
            "Everything below `src/api` and crates/core/ and src/**/*.sql",
            &["src/api", "crates/core", "src/**/*.sql"],
        );
        check(
            "Repair .github/workflows/ci.yml twice: .github/workflows/ci.yml",
            &[".github/workflows/ci.yml"],
        );
        check("Write docs/übersicht.md", &["docs/übersicht.md"]);
    }

    #[test]
    fn what_only_looks_like_a_path_is_none() {
        for text in [
            "this and/or that, read/write, TCP/IP, client/server, 24/7",
            "https://example.com/a/b.html and http://localhost:8080/x.js",
            "github.com/owner/repo.git, docs.rs/serde/index.html, example.com",
            "mail me@example.org or @scope/package.json",
            "version 1.2.3, v2.0/3.0, 0.5, e.g. this, i.e. that, etc.",
            "Node.js and Next.js apps",
            "/etc/passwd, ~/.bashrc, ../outside.rs, C:\\temp\\a.rs, a/../../b.rs",
            "owner/repo, `origin/main`, `feature/login`",
            "foo.bar(), self.name, core::mem, a.b.c",
            "* one\n- two\n**bold**/x, *.rs, **/*.rs",
            "",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn what_is_only_read_does_not_count() {
        check("Read docs/spec.md and update src/api.rs", &["src/api.rs"]);
        check("Implement it as in src/old.rs", &["src/old.rs"]);
        check("Make src/new.rs work like src/old.rs. Then src/third.rs", &["src/new.rs", "src/third.rs"]);
        check("Generate src/types.ts from api/openapi.yaml", &["src/types.ts"]);
        check("Move the parser from src/a.rs to src/b.rs", &["src/a.rs", "src/b.rs"]);
        check("Run scripts/check.py", &[]);
        assert_eq!(files("See src/a.rs", Some("src/a.rs like docs/b.md")), ["src/a.rs", "docs/b.md"]);
    }

    #[test]
    fn a_listing_is_cut_short() {
        let many: String = (0..100).map(|n| format!("src/{n}.rs ")).collect();
        assert_eq!(files(&many, None).len(), MOST);
    }

    proptest! {
        /// Whatever is written: relative, inside, and without a space in it.
        #[test]
        fn nothing_leads_out_of_the_repository(text in "[ -~\\n\u{e4}`]{0,200}") {
            for file in files(&text, Some(&text)) {
                prop_assert!(!file.is_empty() && !file.starts_with(['/', '~', '\\']), "{}", file);
                prop_assert!(file.split('/').all(|part| part != ".."), "{}", file);
                prop_assert!(!file.contains(char::is_whitespace) && !file.contains(':'), "{}", file);
            }
        }
    }
}
