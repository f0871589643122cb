//! Secrets that the real agents read, say and run commands with: none of them can be read afterwards.

use conductor_testkit::Script;
use conductor_testkit::agents::Agent;

use super::table::{Row, measured};
use super::{Bench, SLOW, for_each_agent, prompt};
use crate::canaries::{canary, disguised, found};

for_each_agent!(no_canary_is_left);

fn no_canary_is_left(agent: Agent) {
    let [words, printed, argument, name, last] = [50, 51, 52, 53, 54].map(canary);
    let Some(bench) = Bench::new(agent, "", &prompt("leaks", "")) else { return };
    // At the beginning of a line, which is `\n` and a letter in what the agent writes to us.
    let said = format!("The keys:\n{words}\nand in colour\n\u{1b}[1m{words}\u{1b}[0m");
    bench.world.write("printed", &(disguised(&printed).join("\n") + "\n"));
    let long = format!(
        "cat ../../printed 2>/dev/null; cat {} ; : {} {argument}",
        bench.world.path("printed").display(),
        "x".repeat(60)
    );
    let script = Script::new().text(&said).run(&long).write_file(format!("{name}.txt"), "x\n");
    bench.script("leaks", script.finish(format!("Done with\n{last}")));
    let ended = bench.run(&[]).ended_within(SLOW).expect(0);
    let secrets = [
        ("words", words),
        ("output of a command", printed),
        ("an argument", argument.clone()),
        ("half of an argument", argument[..14].to_owned()),
        ("a file's name", name.clone()),
        ("the last words", last),
    ];
    let found = found(&bench.world, &["leaks"], &ended, &secrets);
    assert_eq!(found, [""; 0]);
    measured(agent, Row::Secrets, &found.len().to_string());
    assert_eq!(bench.landed(&format!("{name}.txt")), "x");
    assert!(bench.said("leaks").contains("The keys:\n****"), "{}", bench.said("leaks"));
}
