use std::os::unix::fs::{MetadataExt, symlink};
use std::process::{Command, Output};

use super::*;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: &[&str]) {
    assert_eq!(detect(project(files).path()), expected, "{files:?}");
}

const TESTED: &str = r#"{"scripts": {"test": "vitest run"}}"#;

#[test]
fn cargo_knows_a_workspace() {
    check(&[("Cargo.toml", "[package]\nname = 'a'\n")], &["cargo test"]);
    check(&[("Cargo.toml", "[workspace]\nmembers = []\n")], &["cargo test --workspace"]);
    check(&[("Cargo.toml", "[package]\n\n[workspace.dependencies]\n")], &["cargo test --workspace"]);
    check(&[("Cargo.toml", "[package]\n# [workspace]\nworkspace = \"..\"\n")], &["cargo test"]);
}

#[test]
fn package_json_needs_a_real_test_and_its_lock_says_who_runs_it() {
    check(&[("package.json", TESTED)], &["npm test"]);
    for (lock, expected) in [
        ("package-lock.json", "npm test"),
        ("pnpm-lock.yaml", "pnpm test"),
        ("yarn.lock", "yarn test"),
        ("bun.lockb", "bun run test"),
        ("bun.lock", "bun run test"),
    ] {
        check(&[("package.json", TESTED), (lock, "")], &[expected]);
    }
    let wished = r#"{"packageManager": "pnpm@9.1.0", "scripts": {"test": "x"}}"#;
    check(&[("package.json", wished)], &["pnpm test"]);
    check(&[("package.json", wished), ("yarn.lock", "")], &["yarn test"]);
    for none in [
        r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#,
        r#"{"scripts": {"test": " "}}"#,
        r#"{"scripts": {"test": 3}}"#,
        r#"{"scripts": ["test"]}"#,
        r#"{"scripts": {"build": "tsc"}}"#,
        "[]",
        "{\"scripts\": ",
        "",
    ] {
        check(&[("package.json", none)], &[]);
    }
}

#[test]
fn python_is_tested_by_what_its_tests_are_written_for() {
    let pytest = &["python3 -m pytest"];
    check(&[("pyproject.toml", "[tool.pytest.ini_options]\n")], pytest);
    check(&[("setup.cfg", "[tool:pytest]\n")], pytest);
    check(&[("tox.ini", "[testenv]\ncommands = pytest\n")], pytest);
    check(&[("pytest.ini", "")], pytest);
    check(&[("conftest.py", "")], pytest);
    check(&[("tests/test_a.py", "def test_a(): pass\n")], pytest);
    let unit = "import unittest\n";
    check(&[("tests/test_a.py", unit)], &["python3 -m unittest discover -s tests"]);
    check(&[("test/test_a.py", unit)], &["python3 -m unittest discover -s test"]);
    check(&[("test_a.py", unit)], &["python3 -m unittest discover"]);
    let package = [("tests/test_a.py", unit), ("tests/__init__.py", "")];
    check(&package, &["python3 -m unittest discover -s tests -t ."]);
    check(&[("tests/test_a.py", unit), ("pyproject.toml", "dev = ['pytest']\n")], pytest);
    check(&[("tests/test_a.py", unit), ("tests/test_b.py", "import pytest\n")], pytest);
    check(&[("pyproject.toml", "[project]\n"), ("tests/data.py", ""), ("app.py", "")], &[]);
}

#[test]
fn the_other_frameworks_are_known_by_their_files() {
    check(&[("go.mod", "module a\n")], &["go test ./..."]);
    check(&[("pom.xml", "")], &["mvn -q test"]);
    check(&[("pom.xml", ""), ("mvnw", "")], &["./mvnw -q test"]);
    check(&[("build.gradle", "")], &["gradle test"]);
    check(&[("build.gradle.kts", ""), ("gradlew", "")], &["./gradlew test"]);
    check(&[("Gemfile", "gem 'rspec'\n")], &["bundle exec rspec"]);
    check(&[("Gemfile", "gem 'rails'\n")], &[]);
    check(&[("mix.exs", "")], &["mix test"]);
    check(&[("App.sln", ""), ("App.csproj", "")], &["dotnet test"]);
    check(&[("deno.jsonc", "")], &["deno test"]);
    check(&[("CMakeLists.txt", "enable_testing()\n")], &[]);
}

#[test]
fn make_is_the_last_resort() {
    check(&[("Makefile", "all: x\n\ntest: all\n\t./run\n")], &["make test"]);
    check(&[("GNUmakefile", "check test::\n")], &["make test"]);
    for none in ["tests:\n", "test := 1\n", "test ::= 1\n", "\ttest: x\n", "# test: x\n", "all: test\n", ""] {
        check(&[("Makefile", none)], &[]);
    }
    check(&[("Makefile", "test:\n"), ("go.mod", "")], &["go test ./..."]);
}

#[test]
fn several_at_once_are_several_commands_and_nothing_below_counts() {
    check(
        &[("go.mod", ""), ("Cargo.toml", ""), ("package.json", TESTED)],
        &["cargo test", "npm test", "go test ./..."],
    );
    check(&[("crates/a/Cargo.toml", ""), ("web/package.json", TESTED)], &[]);
    assert_eq!(detect(Path::new("/nonexistent")), Vec::<String>::new());
}

#[test]
fn what_is_no_file_or_no_text_does_not_hold_it_up() {
    let dir = project(&[("Makefile/x", "")]);
    assert!(Command::new("mkfifo").arg(dir.path().join("package.json")).status().unwrap().success());
    symlink("/dev/zero", dir.path().join("Gemfile")).unwrap();
    fs::write(dir.path().join("setup.cfg"), b"\xff\xfe pytest").unwrap();
    assert_eq!(detect(dir.path()), ["python3 -m pytest"]);
    let far = "#".repeat(2 * ENOUGH as usize) + "\ntest:\n";
    check(&[("Makefile", &far)], &[]);
}

/// Those commands that can be tried wherever this is tested.
#[test]
fn what_is_found_for_unittest_runs_the_tests() {
    let test = "import unittest\nfrom app import f\nclass T(unittest.TestCase):\n def test(self): f()\n";
    for files in [
        &[("app.py", ""), ("tests/test_a.py", test)][..],
        &[("app.py", ""), ("tests/test_a.py", test), ("tests/__init__.py", "")],
        &[("app.py", ""), ("test_a.py", test)],
    ] {
        let dir = project(files);
        let run = || {
            let output = sh(dir.path(), &detect(dir.path())[0]);
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        fs::write(dir.path().join("app.py"), "def f(): pass\n").unwrap();
        let (passed, said) = run();
        assert!(passed && said.contains("Ran 1 test"), "{files:?}: {said}");
        damage(&dir.path().join("app.py")).unwrap();
        assert!(!run().0, "{files:?}");
    }
}

fn sh(directory: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(directory).env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap()
}

#[test]
fn auto_is_replaced_where_it_stands() {
    let dir = project(&[("Cargo.toml", ""), ("go.mod", "")]);
    let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let check = |verify: &[&str], expected: &[&str]| {
        assert_eq!(expand(&list(verify), dir.path()).unwrap(), expected);
    };
    check(&[], &[]);
    check(&["make lint"], &["make lint"]);
    check(&["auto"], &["cargo test", "go test ./..."]);
    check(&["make lint", " auto ", "x auto"], &["make lint", "cargo test", "go test ./...", "x auto"]);
    check(&["go test ./...", "auto", "auto"], &["go test ./...", "cargo test"]);
}

#[test]
fn auto_that_finds_nothing_says_what_to_do() {
    let dir = project(&[("readme", "")]);
    let error = expand(&["auto".to_owned()], dir.path()).unwrap_err();
    assert_eq!(error.directory, dir.path());
    let text = error.to_string();
    assert!(
        text.contains("Cargo.toml") && text.ends_with("Name the commands in `verify:` instead"),
        "{text}"
    );
    assert!(expand(&["true".to_owned()], dir.path()).is_ok());
}

#[test]
fn the_weak_spot_is_source_before_it_is_a_test() {
    let check = |touched: &[&str], expected: Option<&str>| {
        let touched: Vec<String> = touched.iter().map(|&path| path.to_owned()).collect();
        assert_eq!(weak_spot(&touched), expected, "{touched:?}");
    };
    check(&[], None);
    check(&["README.md", "Cargo.lock", "Makefile", "data.json", "types.d.ts", ".gitignore"], None);
    check(&["README.md", "src/a.rs", "src/b.rs"], Some("src/a.rs"));
    for test in [
        "tests/a.rs",
        "src/tests.rs",
        "test_a.py",
        "pkg/a_test.go",
        "src/a.test.ts",
        "src/a.spec.tsx",
        "src/test/java/A.java",
        "src/ATest.java",
        "spec/a_spec.rb",
        "web/__tests__/a.js",
        "conftest.py",
        "jest.config.js",
        ".eslintrc.cjs",
    ] {
        check(&[test, "src/last.py"], Some("src/last.py"));
        check(&[test, "doc.txt"], Some(test));
    }
    for source in ["src/latest.rs", "src/contest.py", "attest/a.go", "src/Latest.java", "run.sh"] {
        check(&["tests/a.rs", source], Some(source));
    }
}

#[test]
fn a_damaged_script_fails_however_it_is_used() {
    for (name, text, uses) in [
        ("run.sh", "echo fine\n", &["sh run.sh", "sh -c '. ./run.sh; true'"][..]),
        ("run.sh", "#!/bin/sh\necho fine\n", &["./run.sh", "sh run.sh", "sh -c '. ./run.sh; true'"]),
        ("run.sh", "#!/bin/sh", &["./run.sh"]),
        ("a.py", "x = 1\n", &["python3 a.py", "python3 -c 'import a'", "python3 -m py_compile a.py"]),
        ("a.py", "#!/usr/bin/env python3\n# coding: utf-8\nx = 1\n", &["./a.py", "python3 -c 'import a'"]),
        ("a.py", "", &["python3 -c 'import a'"]),
    ] {
        let dir = project(&[(name, text)]);
        let file = dir.path().join(name);
        assert!(Command::new("chmod").arg("755").arg(&file).status().unwrap().success());
        for line in uses {
            assert!(sh(dir.path(), line).status.success(), "{line}");
        }
        damage(&file).unwrap();
        for line in uses {
            assert!(!sh(dir.path(), line).status.success(), "{line}: {:?}", fs::read_to_string(&file));
        }
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o755);
        assert_eq!(names(dir.path()).into_iter().filter(|name| name.starts_with('.')).count(), 0);
    }
}

#[test]
fn only_the_file_itself_is_damaged() {
    let dir = project(&[("a.rs", "fn main() {}\n"), ("notes.txt", "x")]);
    let (file, twin, link) =
        (dir.path().join("a.rs"), dir.path().join("twin.rs"), dir.path().join("link.rs"));
    fs::hard_link(&file, &twin).unwrap();
    symlink(&file, &link).unwrap();
    assert_eq!(damage(&link).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(damage(&dir.path().join("notes.txt")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(damage(&dir.path().join("gone.rs")).unwrap_err().kind(), io::ErrorKind::NotFound);
    damage(&file).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{NONSENSE}\nfn main() {{}}\n"));
    assert_eq!(fs::read_to_string(&twin).unwrap(), "fn main() {}\n");
}

#[test]
fn a_project_is_measured_by_tools_that_are_there_and_nothing_else() {
    let none = |_: &str| false;
    let rust: &[_] = &[("Cargo.toml", "[workspace]\n")];
    let python: &[_] = &[("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n")];
    let go: &[_] = &[("go.mod", "module x\n")];
    let script = [("package.json", TESTED), ("eslint.config.mjs", "")];
    let local = [&script[..], &[("node_modules/.bin/nyc", ""), ("node_modules/.bin/eslint", "")]].concat();
    for files in [rust, python, go, &script] {
        let dir = project(files);
        assert_eq!(measures::coverage_by(dir.path(), &none), None, "{files:?}");
        assert_eq!(measures::linters_by(dir.path(), &none), Vec::<String>::new(), "{files:?}");
    }
    let all = |_: &str| true;
    for (files, coverage, lint) in [
        (
            rust,
            "cargo llvm-cov --workspace --json --summary-only",
            "cargo clippy --all-targets --message-format short",
        ),
        (python, "coverage run -m pytest; coverage report", "ruff check --output-format concise"),
        (
            &local,
            "node_modules/.bin/nyc --reporter=text-summary npm test",
            "node_modules/.bin/eslint -f json .",
        ),
    ] {
        let dir = project(files);
        assert_eq!(measures::coverage_by(dir.path(), &all).as_deref(), Some(coverage));
        assert_eq!(measures::linters_by(dir.path(), &all), [lint]);
    }
    let dir = project(go);
    let coverage = measures::coverage_by(dir.path(), &all).unwrap();
    assert!(coverage.contains("go test -coverprofile=") && coverage.contains("go tool cover -func="));
    assert_eq!(measures::linters_by(dir.path(), &all), ["go vet ./..."]);
    let configured = project(&[("go.mod", "module x\n"), (".golangci.yml", "")]);
    assert_eq!(measures::linters_by(configured.path(), &all), ["golangci-lint run"]);
    let flake8 = project(&[(".flake8", "")]);
    assert_eq!(measures::linters_by(flake8.path(), &all), ["flake8"]);
}
