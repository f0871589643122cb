//! docs/api.md is true: its transcripts are typed into a shell, against a server with a project and agents, and each
//! answer is compared with the one in the document.
//!
//! Ids and times differ each time. An id of the document stands for the one it is found in place of, from there on; a time
//! only has to be one. With `INSTA_UPDATE=always` answers that differ are written into the document.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{ChildStdin, Stdio};

use serde_json::Value;

use super::client::Served;
use crate::harness::{Live, World, wait_for};
use crate::questions;
use crate::repository::git;

/// Plays all agents of the document: asks before it deploys, writes a file otherwise, and says what it used.
const HOUSE: &str = r#"
read -r task
case "$CONDUCTOR_TASK$task" in
  deploy*"It is allowed"*) echo yes > deployed.txt ;;
  deploy*)
    echo '{"type":"question","id":1,"tool":"Bash","input":{"command":"terraform apply"}}'
    read -r refused
    read -r interrupt
    exit 1 ;;
  *"sends it back"*) echo mended > mended.txt ;;
  *) echo "by $CONDUCTOR_TASK" > "$CONDUCTOR_TASK.txt" ;;
esac
echo '{"type":"usage","model":"house-1","input":200000,"output":10000,"turns":1}'
echo '{"type":"result","ok":true,"text":"done"}'
"#;

/// A line that ends what a command says.
const END: char = '\u{1e}';

/// What differs from one time to the next, by the field it is in: ids, which mean the same wherever they come again.
const IDS: [&str; 6] = ["run", "version", "id", "commit", "from", "to"];

/// And figures, which only have to be of the same kind.
const FIGURES: [&str; 3] = ["pid", "duration", "duration_ms"];

enum Part {
    /// A line that is not run.
    Text(String),
    /// What is waited for, in a comment that readers do not see.
    Until(String),
    Command {
        typed: Vec<String>,
        answer: Vec<String>,
    },
}

fn document() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md")
}

fn parse(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let until = line.strip_prefix("<!-- until ").and_then(|rest| rest.strip_suffix(" -->"));
        match (inside, parts.last_mut()) {
            (false, _) if until.is_some() => parts.push(Part::Until(until.unwrap_or_default().to_owned())),
            (false, _) => {
                inside = line == "```console";
                parts.push(Part::Text(line.to_owned()));
            }
            (true, _) if line == "```" => {
                inside = false;
                parts.push(Part::Text(line.to_owned()));
            }
            (true, Some(Part::Command { typed, answer }))
                if answer.is_empty() && typed.last().is_some_and(|last| last.ends_with('\\')) =>
            {
                typed.push(line.to_owned());
            }
            (true, Some(Part::Command { answer, .. })) if !line.starts_with("$ ") => {
                answer.push(line.to_owned())
            }
            (true, _) => {
                let typed = line.strip_prefix("$ ").unwrap_or_else(|| panic!("no command before: {line}"));
                parts.push(Part::Command { typed: vec![typed.to_owned()], answer: Vec::new() });
            }
        }
    }
    parts
}

fn written(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(line) => text += &format!("{line}\n"),
            Part::Until(command) => text += &format!("<!-- until {command} -->\n"),
            Part::Command { typed, answer } => {
                text += &format!("$ {}\n", typed.join("\n"));
                answer.iter().for_each(|line| text += &format!("{line}\n"));
            }
        }
    }
    text
}

/// The first block of this kind.
fn block(text: &str, kind: &str) -> String {
    let (_, rest) = text.split_once(&format!("```{kind}\n")).unwrap_or_else(|| panic!("no block of {kind}"));
    rest.split_once("```").unwrap().0.to_owned()
}

/// A shell that is typed into.
struct Shell {
    live: Live,
    input: ChildStdin,
    seen: usize,
}

impl Shell {
    fn start(world: &World) -> Shell {
        let mut bash = world.command_of("bash");
        bash.args(["--norc", "--noprofile"]).stdin(Stdio::piped());
        let mut live = world.spawn(&mut bash);
        let mut input = live.child.stdin.take().unwrap();
        writeln!(input, "exec 2>&1").unwrap();
        Shell { live, input, seen: 0 }
    }

    /// What a command says, and its exit code.
    fn type_in(&mut self, command: &str) -> (String, String) {
        writeln!(self.input, "{command}\nprintf '\\036%s\\n' $?").unwrap();
        let said = wait_for(&format!("the end of: {command}"), || {
            let said = self.live.stdout();
            let rest = said.get(self.seen..)?;
            let end = rest.find(END)?;
            rest[end..].ends_with('\n').then(|| rest.to_owned())
        });
        self.seen += said.len();
        let (said, code) = said.split_once(END).unwrap();
        (said.to_owned(), code.trim().to_owned())
    }
}

/// What stands in the document for what there is: names of this run of the test.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    /// Whether what is shown can stand for what there is.
    fn bind(&mut self, shown: &str, real: &str) -> bool {
        self.0.entry(shown.to_owned()).or_insert_with(|| real.to_owned()) == real
    }

    fn real(&self, text: &str) -> String {
        self.longest_first().fold(text.to_owned(), |text, (shown, real)| text.replace(shown, real))
    }

    fn shown(&self, text: &str) -> String {
        self.longest_first().fold(text.to_owned(), |text, (shown, real)| text.replace(real, shown))
    }

    /// A folder's name is the beginning of the names of what is in it.
    fn longest_first(&self) -> impl Iterator<Item = (&String, &String)> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(shown, _)| std::cmp::Reverse(shown.len()));
        all.into_iter()
    }

    /// Whether a line says the same. Names are bound wherever fields fit, so that what comes later is understood too.
    fn same_line(&mut self, shown: &str, real: &str) -> bool {
        match (serde_json::from_str(shown), serde_json::from_str(real)) {
            (Ok(shown), Ok(real)) => self.same("", &shown, &real),
            _ => self.real(shown) == real,
        }
    }

    fn same(&mut self, field: &str, shown: &Value, real: &Value) -> bool {
        match (shown, real) {
            (Value::Object(shown), Value::Object(real)) => {
                let fields = shown.keys().eq(real.keys());
                let values = shown.iter().filter_map(|(name, value)| Some((name, value, real.get(name)?)));
                values.fold(fields, |same, (name, shown, real)| self.same(name, shown, real) && same)
            }
            (Value::Array(shown), Value::Array(real)) => {
                let pairs = shown.iter().zip(real);
                pairs.fold(shown.len() == real.len(), |same, (shown, real)| {
                    self.same(field, shown, real) && same
                })
            }
            (Value::String(shown), Value::String(real)) => {
                shown == real
                    || self.real(shown) == *real
                    || (is_time(shown) && is_time(real))
                    || (IDS.contains(&field) && is_made(shown) && may_be_made(real) && self.bind(shown, real))
            }
            (Value::Number(shown), Value::Number(real)) => shown == real || FIGURES.contains(&field),
            _ => shown == real,
        }
    }
}

/// `2026-01-31T12:00:00Z`, with or without a fraction.
fn is_time(text: &str) -> bool {
    let digits: String =
        text.chars().map(|letter| if letter.is_ascii_digit() { '0' } else { letter }).collect();
    digits.starts_with("0000-00-00T00:00:00") && digits.ends_with('Z')
}

/// Made by chance, as ids and versions are; not a word.
fn is_made(text: &str) -> bool {
    text.len() >= 8 && text.bytes().any(|letter| letter.is_ascii_digit())
}

/// By chance, an id has no figure in it.
fn may_be_made(text: &str) -> bool {
    text.len() >= 8 && !text.contains(char::is_whitespace)
}

/// A world as the document has it: a repository in the user's home, with this task file.
fn world(tasks: &str) -> World {
    let mut world = questions::world("tasks: []", &[("house", HOUSE)]);
    let user = world.root().join("user");
    std::fs::create_dir_all(user.join("src")).unwrap();
    std::os::unix::fs::symlink(world.home(), user.join(".conductor")).unwrap();
    world.write("repo/tasks.yaml", tasks);
    git(&world, &["add", "."]);
    git(&world, &["commit", "-q", "-m", "the plan"]);
    std::fs::rename(world.path("repo"), user.join("src/shop")).unwrap();
    let program = PathBuf::from(crate::harness::CONDUCTOR);
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(world.variable("PATH"));
    world.set("PATH", path);
    world
}

#[test]
fn every_transcript_of_the_api_is_what_one_sees() {
    let text = std::fs::read_to_string(document()).unwrap();
    let mut parts = parse(&text);
    let world = world(&block(&text, "yaml"));
    for program in ["curl", "jq"] {
        let found = world.command_of(program).arg("--version").output();
        assert!(
            found.is_ok_and(|found| found.status.success()),
            "{program} is missing; `cargo xtask test` gets it"
        );
    }
    let served = Served::start(&world);
    let mut names = Names::default();
    names.bind("localhost:7420", &format!("localhost:{}", served.address.port()));
    names.bind("/home/ann/.conductor", &world.home().display().to_string());
    names.bind("/home/ann", &world.root().join("user").display().to_string());
    let mut shell = Shell::start(&world);
    let mut differences = Vec::new();
    let mut commands = 0;
    for part in &mut parts {
        match part {
            Part::Text(_) => {}
            Part::Until(command) => {
                shell.type_in(&format!("until {} > waited; do sleep 0.05; done", names.real(command)));
            }
            Part::Command { typed, answer } => {
                commands += 1;
                let (said, _) = shell.type_in(&names.real(&typed.join("\n")));
                let said: Vec<&str> = said.trim_end().lines().collect();
                let pairs = answer.iter().zip(&said);
                let same = pairs.fold(answer.len() == said.len(), |same, (shown, real)| {
                    names.same_line(shown, real) && same
                });
                if !same {
                    let said: Vec<String> = said.iter().map(|line| names.shown(line)).collect();
                    differences.push(format!(
                        "$ {}\n- {}\n+ {}",
                        typed.join("\n"),
                        answer.join("\n- "),
                        said.join("\n+ ")
                    ));
                    *answer = said;
                }
            }
        }
    }
    assert!(commands >= 30, "{commands} commands are too few to be the document");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(document(), written(&parts)).unwrap();
        return;
    }
    assert!(
        differences.is_empty(),
        "docs/api.md shows something else; INSTA_UPDATE=always writes what is so\n{}",
        differences.join("\n\n")
    );
}

#[test]
fn a_difference_that_matters_is_seen() {
    let mut names = Names::default();
    let shown = r#"{"run":"k3v9wq2t","started_at":"2026-01-31T12:00:00Z","total":3,"duration":1.5}"#;
    let real = r#"{"run":"abcd1234","started_at":"2026-02-01T00:00:01Z","total":3,"duration":0.2}"#;
    assert!(names.same_line(shown, real));
    assert!(names.same_line("run k3v9wq2t", "run abcd1234"), "it stands for the same from there on");
    for drifted in [
        real.replace("\"total\":3", "\"total\":4"),
        real.replace("abcd1234", "efgh5678"),
        real.replace("total", "count"),
        real.replace("2026-02-01T00:00:01Z", "yesterday"),
        real.replace("0.2", "null"),
        real.replace('}', ",\"more\":1}"),
    ] {
        assert!(!names.same_line(shown, &drifted), "{drifted}");
    }
    assert!(!names.same_line("run k3v9wq2t", "run efgh5678"));
}
