//! An importer for Conductor, used by `conductor import plugin NAME`.
//!
//! It makes a task of each line of TODO.txt. The protocol is in docs/plugins.md.

@COMMON@
fn tasks() {
    let Ok(text) = std::fs::read_to_string("TODO.txt") else {
        return say("{\"type\":\"note\",\"text\":\"there is no TODO.txt here\"}");
    };
    for (at, line) in text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty()) {
        let (id, line) = (format!("todo-{}", at + 1), quoted(line));
        say(&format!("{{\"type\":\"task\",\"id\":\"{id}\",\"title\":{line},\"body\":{line}}}"));
    }
}

fn main() {
    say("{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"capabilities\":[\"importer\"]}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.contains("\"type\":\"import\"") {
            tasks();
            say("{\"type\":\"done\"}");
        }
    }
}
