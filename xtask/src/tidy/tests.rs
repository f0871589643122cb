use std::fs;
use std::path::Path;

use super::*;

/// A repository of one crate, `a`, with these files; what is found in it.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for folder in ["contrib", "examples", "web/src"] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    write(&root.path().join("xtask/src/main.rs"), "");
    write(&root.path().join("docs/ARCHITECTURE.md"), &map("| `one`, `two/`, `three` | `four` |"));
    write(&root.path().join("docs/GLOSSARY.md"), "");
    for module in ["lib", "one", "two", "three"] {
        write(&root.path().join(format!("crates/a/src/{module}.rs")), "");
    }
    for (path, text) in files {
        write(&root.path().join(path), text);
    }
    findings(root.path()).unwrap().iter().map(ToString::to_string).collect()
}

/// The map of a crate with these rows.
fn map(rows: &str) -> String {
    format!("`crates/a`\n\n| module | contents |\n|---|---|\n{rows}\n")
}

const LIB: (&str, &str) = ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;");

#[test]
fn what_is_tidy_is_left_alone() {
    let one = ("crates/a/src/one.rs", "use crate::two::{self, X};\nuse crate::{three};");
    let two = ("crates/a/src/two/mod.rs", "use crate::three::Y;\nuse crate::two::inner;");
    assert!(found(&[LIB, one, two, ("crates/a/src/three.rs", "")]).is_empty());
}

#[test]
fn a_cycle_is_named_with_its_way() {
    let one = ("crates/a/src/one.rs", "\nuse crate::{two::X, three};");
    let two = ("crates/a/src/two/inner.rs", "fn x() { say!(\"{}\", crate::three::y()) }");
    let three = ("crates/a/src/three.rs", "fn y() -> crate::one::Z {}");
    let found = found(&[LIB, one, two, three]);
    let expected =
        "crates/a/src/one.rs:2: a cycle: `one` uses `two`, and `two` uses `three`, `three` uses `one`";
    assert!(found.contains(&expected.to_owned()), "{found:#?}");
}

#[test]
fn a_cycle_by_what_the_root_passes_on_is_found() {
    let lib =
        ("crates/a/src/lib.rs", "mod one;\nmod two;\nmod three;\npub use crate::two::{X, deep::Y as Z};");
    let one = ("crates/a/src/one.rs", "use crate::Z;");
    let two = ("crates/a/src/two/mod.rs", "use crate::one;");
    let told = found(&[lib, one, two, ("crates/a/src/three.rs", "use crate::X;")]);
    assert!(
        told.contains(&"crates/a/src/one.rs:1: a cycle: `one` uses `two`, and `two` uses `one`".to_owned()),
        "{told:#?}"
    );
    assert!(!told.iter().any(|finding| finding.contains("three")), "{told:#?}");
}

#[test]
fn a_cycle_by_super_is_found_where_it_leads_to_the_root() {
    let one = ("crates/a/src/one.rs", "use super::two::X;\nmod inner { use super::super::two; }");
    let two = ("crates/a/src/two/deep.rs", "use super::super::{three::y, two::z};");
    let three = ("crates/a/src/three.rs", "mod inner { fn z() -> super::super::one::Z {} }");
    let told = found(&[LIB, one, two, three]);
    let cycle =
        "crates/a/src/two/deep.rs:1: a cycle: `two` uses `three`, and `three` uses `one`, `one` uses `two`";
    assert!(told.contains(&cycle.to_owned()), "{told:#?}");
    // Within its own module, `super` leads nowhere else.
    let two = ("crates/a/src/two/deep.rs", "use super::one;\nmod more { use super::super::three; }");
    let told = found(&[LIB, one, two, three]);
    assert!(told.is_empty(), "{told:#?}");
}

#[test]
fn a_path_on_the_map_that_is_not_there_is_found() {
    let map = map(
        "| `one`, `two/`, `three` | all |\n\n`a/one.rs`, `a/one`, `a/two/`, `a/NAME.rs`, `a/…`, `x/y.rs`\n`a/gone.rs`, `docs/gone.md`",
    );
    let files = [("crates/a/src/two/mod.rs", ""), ("docs/ARCHITECTURE.md", map.as_str())];
    let told =
        ["a/gone.rs", "docs/gone.md"].map(|path| format!("docs/ARCHITECTURE.md:8: `{path}` does not exist"));
    assert_eq!(found(&files), told);
}

#[test]
fn what_only_tests_use_makes_no_cycle() {
    let one = ("crates/a/src/one.rs", "use crate::two::X;");
    let two = (
        "crates/a/src/two.rs",
        "#[cfg(test)]\nmod more;\n#[cfg(test)]\nmod tests { use crate::one; use crate::two; }",
    );
    let more = ("crates/a/src/two/more.rs", "use crate::one;");
    assert!(found(&[LIB, one, two, more]).is_empty());
}

#[test]
fn a_module_that_is_not_on_the_map_is_named() {
    let found = found(&[("crates/a/src/four.rs", "")]);
    assert_eq!(found, ["docs/ARCHITECTURE.md:1: `four` of `crates/a` has no row"], "a mention is no row");
}

#[test]
fn a_row_of_a_module_that_is_gone_is_found() {
    let map = map("| `one`, `two/` | all |\n| `three`, `five/` | more |");
    let found = found(&[("docs/ARCHITECTURE.md", &map)]);
    assert_eq!(found, ["docs/ARCHITECTURE.md:6: `five` is no module of `crates/a`"]);
}

#[test]
fn the_table_of_words_is_in_order_and_leads_somewhere() {
    let words = "| early | a | `a/one` |\n| word | what it is | where |\n|---|---|---|\n| box (of one) | a | `One` in `a/one` |\n\
                 | box (of two) | a | `a/two` |\n| ark | a | `a/gone` |\n";
    let told = [
        "docs/GLOSSARY.md:1: 'early' stands before the head of the table",
        "docs/GLOSSARY.md:4: 'box (of one)' stands behind 'early'",
        "docs/GLOSSARY.md:6: 'ark' stands behind 'box'",
        "docs/GLOSSARY.md:6: `a/gone` does not exist",
    ];
    assert_eq!(found(&[("docs/GLOSSARY.md", words)]), told);
}

#[test]
fn our_own_commands_are_looked_at_too() {
    let body = "    call();\n".repeat(80);
    let told = found(&[
        ("xtask/src/one.rs", &format!("use crate::two;\nfn long() {{\n{body}}}\n")),
        ("xtask/src/two.rs", "use crate::one;"),
    ]);
    let expected = [
        "xtask/src/one.rs:1: a cycle: `one` uses `two`, and `two` uses `one`",
        "xtask/src/one.rs:2: `long` has 82 lines; at most 70",
        "xtask/src/two.rs:1: a cycle: `two` uses `one`, and `one` uses `two`",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_word_that_names_no_subject_is_found_wherever_people_read() {
    let word = ["Some", "body"].concat();
    let comment = format!("// {word} calls.\n");
    let found = found(&[
        ("crates/a/src/one.rs", &comment),
        ("docs/more.md", &format!("a\nb {}\n", word.to_lowercase())),
        ("crates/a/tests/fixture.md", &word),
        ("CONTRIBUTING.md", &word),
        ("contrib/a.sh", &word),
        ("examples/a.yaml", &word),
        ("web/src/a.tsx", &word),
    ]);
    let places = found.iter().map(|finding| finding.split_once(": 'some").unwrap().0).collect::<Vec<_>>();
    let expected = [
        "CONTRIBUTING.md:1",
        "contrib/a.sh:1",
        "crates/a/src/one.rs:1",
        "docs/more.md:2",
        "examples/a.yaml:1",
        "web/src/a.tsx:1",
    ];
    assert_eq!(places, expected);
}

#[test]
fn what_is_long_is_found_and_tests_do_not_count() {
    let body = "    call();\n".repeat(80);
    let function = format!("impl A {{\n\nfn long() {{\n{body}}}\n}}\n");
    let tests = format!("#[cfg(test)]\nmod tests {{\nfn long() {{\n{}}}\n}}\n", body.repeat(6));
    let lines = "const A: u8 = 0;\n".repeat(460);
    let found = found(&[
        ("crates/a/src/one.rs", &format!("{function}{tests}")),
        ("crates/a/src/two/mod.rs", &lines),
        ("crates/a/src/three.rs", &tests),
    ]);
    assert_eq!(
        found,
        [
            "crates/a/src/one.rs:3: `long` has 82 lines; at most 70",
            "crates/a/src/two/mod.rs:1: 460 lines without tests; at most 450"
        ]
    );
}

#[test]
fn what_is_allowed_and_gone_is_found() {
    let unused = allowed::sift(Vec::new());
    assert!(!unused.is_empty(), "every exception is unused where nothing is found");
    assert!(unused.iter().all(|finding| finding.what.contains("has it no more")), "{unused:#?}");
}
