//! The first hour of a new user: README and guide word by word, with the mistakes that users make on the way.
//! Once in a new home and once in one where much has happened already. What is typed is taken out of the documents, so that they
//! cannot say one thing and the program do another.

use crate::earlier::{tasks, use_it};
use crate::harness::{Ended, World, expect_no_leftovers};
use crate::odd::{Odd, Place};

const README: &str = include_str!("../../../../README.md");
const GUIDE: &str = include_str!("../../../../docs/guide.md");

/// The commands of the first block below a heading, without the remarks beside them.
fn typed(document: &str, heading: &str) -> Vec<String> {
    let below = document.split_once(&format!("\n## {heading}\n")).expect("the heading").1;
    let block = below.split_once("```sh\n").expect("a block of commands").1.split("```").next().unwrap();
    let lines = block.lines().map(|line| line.split('#').next().unwrap().trim().to_owned());
    let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    assert!(lines.iter().all(|line| line.starts_with("conductor")), "{lines:?}");
    lines
}

/// What a line of a document is to show. One that is not known here is new.
fn shown_by(line: &str) -> &'static [&'static str] {
    match line {
        "conductor init" => &["tasks.yaml", ".conductor/config.yaml"],
        "conductor validate" => &["is valid: "],
        "conductor rehearse" => &["durations: ", "cost: "],
        "conductor run --max-cost 5" | "conductor run -p 3" => &[" completed"],
        "conductor" => &["last run", ", completed: ", "next\n  "],
        other => panic!("the documents have a new line, which no test knows: {other}"),
    }
}

struct Stranger {
    world: World,
    place: Place,
}

impl Stranger {
    fn types(&self, line: &str) -> Ended {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[0], "conductor");
        self.place.start(&self.world, &words[1..]).ended()
    }

    fn writes(&self, name: &str, text: &str) {
        std::fs::write(self.place.checkout.join(name), text).unwrap();
    }

    fn says_git(&self, args: &[&str]) -> String {
        self.place.git(&self.world, args)
    }

    fn runs(&self) -> usize {
        self.world.runs().len()
    }
}

fn begin(used: bool) -> Stranger {
    let world = World::new();
    let place = Place::make(&world, "place", Odd::Plain);
    if used {
        use_it(&world, &place, &tasks(&world, "earlier.yaml"));
    }
    Stranger { world, place }
}

fn first_hour(used: bool) {
    let stranger = begin(used);
    makes_mistakes(&stranger);
    follows_the_readme(&stranger);
    follows_the_guide(&stranger);
    mends_a_failure(&stranger);
}

/// Each is answered with what is wrong, where, and what to do; nothing is started by any of them.
fn makes_mistakes(stranger: &Stranger) {
    let runs = stranger.runs();
    // 1: a verb that does not exist.
    stranger.types("conductor rnu").expect(2).says("run");
    // 2: nothing to run yet.
    stranger.types("conductor run").expect(2).says("conductor init");
    // 3: a file that is not there.
    stranger.types("conductor run taks.yaml").expect(3).says("taks.yaml");
    // 4: no slot to run in.
    stranger.writes("tasks.yaml", "tasks: [{ id: a, run: 'true' }]\n");
    stranger.types("conductor run -p 0").expect(2).says("'0'").says("expected a number from 1 to");
    // 5: a dependency that does not exist.
    stranger.writes(
        "tasks.yaml",
        "tasks:\n  - { id: schema, run: 'true' }\n  - { id: api, run: 'true', dependencies: [shema] }\n",
    );
    stranger.types("conductor run").expect(3).says("tasks.yaml:3:").says("did you mean 'schema'?");
    // 6: one that waits for itself.
    stranger.writes("tasks.yaml", "tasks: [{ id: a, run: 'true', dependencies: [a] }]\n");
    stranger.types("conductor validate").expect(3).says("itself");
    // 7: a misspelt key.
    stranger.writes("tasks.yaml", "tasks: [{ id: a, promt: Write it }]\n");
    stranger.types("conductor validate").expect(3).says("did you mean 'prompt'?");
    // 8: a misspelt agent.
    stranger.writes("tasks.yaml", "tasks: [{ id: a, prompt: Write it, agent: cluade }]\n");
    stranger.types("conductor validate").expect(3).says("did you mean 'claude'?");
    // 9: an agent that is not installed.
    stranger.writes("tasks.yaml", "tasks: [{ id: a, prompt: Write it, agent: opencode }]\n");
    stranger.types("conductor run").expect(7).says("opencode");
    // 10: no YAML at all.
    stranger.writes("tasks.yaml", "tasks:\n  - id: a\n   run: 'true'\n");
    stranger.types("conductor run").expect(3).says("tasks.yaml:3");
    std::fs::remove_file(stranger.place.checkout.join("tasks.yaml")).unwrap();
    assert_eq!(stranger.runs(), runs, "none of them has started anything");
    assert_eq!(stranger.says_git(&["status", "--porcelain", "--untracked-files=no"]), "");
}

fn follows(stranger: &Stranger, lines: &[String]) {
    let before = stranger.world.runs();
    for line in lines {
        let ended = stranger.types(line).expect(0);
        shown_by(line).iter().fold(ended, |ended, words| ended.says(words));
    }
    let after = stranger.world.runs();
    let new: Vec<&String> = after.iter().filter(|run| !before.contains(run)).collect();
    assert_eq!(new.len(), 1, "one run by these lines");
    expect_no_leftovers(new[0]);
    stranger.types("conductor status").expect(0).says("completed");
}

/// Afterwards the folder is as before it.
fn follows_the_readme(stranger: &Stranger) {
    follows(stranger, &typed(README, "The first run"));
    std::fs::remove_file(stranger.place.checkout.join("tasks.yaml")).unwrap();
    std::fs::remove_dir_all(stranger.place.checkout.join(".conductor")).unwrap();
}

/// `init` to landed.
fn follows_the_guide(stranger: &Stranger) {
    stranger.types("conductor doctor").expect(0);
    follows(stranger, &typed(GUIDE, "The first run"));
    stranger.types("conductor init").expect(2).says("tasks.yaml");
}

/// A check that fails is shown with what it said; the file is mended, and what failed is done again and taken home.
fn mends_a_failure(stranger: &Stranger) {
    let file = |check: &str| {
        format!(
            "tasks:\n  - {{ id: greet, run: 'echo hello > greeting.txt', verify: ['{check}'] }}\n  - {{ id: shout, run: 'tr a-z A-Z < greeting.txt > loud.txt', dependencies: [greet] }}\n"
        )
    };
    stranger
        .writes("greetings.yaml", &file("grep goodbye greeting.txt || { echo no goodbye in it; exit 1; }"));
    stranger
        .types("conductor run greetings.yaml -p 2")
        .expect(100)
        .says("no goodbye in it")
        .says("--retry-failed");
    stranger.writes("greetings.yaml", &file("grep hello greeting.txt"));
    let done = stranger.types("conductor run --retry-failed").expect(0).says("2 of 2 completed");
    let merge = format!("{}{}", done.stdout, done.stderr);
    let merge =
        merge.lines().find_map(|line| line.split_once("git merge ")).map(|(_, rest)| rest.trim().to_owned());
    let merge = merge.expect("the command that takes the work");
    let words: Vec<&str> = std::iter::once("merge").chain(merge.split_whitespace()).collect();
    stranger.says_git(&words);
    let loud = std::fs::read_to_string(stranger.place.checkout.join("loud.txt")).unwrap();
    assert_eq!(loud, "HELLO\n");
}

#[test]
fn in_a_new_home() {
    first_hour(false);
}

#[test]
fn in_a_used_home() {
    first_hour(true);
}
