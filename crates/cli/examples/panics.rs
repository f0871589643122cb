//! A program that draws on the terminal as `run` does and panics in the middle of it, for a test to see what it leaves.

#[path = "../src/progress/terminal.rs"]
#[expect(dead_code, reason = "only what draws is needed here")]
mod terminal;

fn main() {
    terminal::hold();
    let block = ["a block of two lines", "is drawn"].map(|line| (line.to_owned(), line.len()));
    terminal::draw("a line that stays\n", &block, terminal::size().columns);
    panic!("in the middle of it");
}
