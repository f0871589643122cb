//! An agent for Conductor, used by `agent: NAME` in a task.
//!
//! It writes what it was asked to do into a file; replace `work` by something better. The protocol is in docs/plugins.md.

@COMMON@
fn work(task: &str) -> Result<String, String> {
    let id = text_of(task, "id").ok_or("the task has no id")?;
    let file = format!("{id}.txt");
    say(&format!("{{\"type\":\"tool\",\"name\":\"edit\",\"text\":{}}}", quoted(&file)));
    let words = text_of(task, "words").unwrap_or_default();
    std::fs::write(&file, words + "\n").map_err(|error| error.to_string())?;
    Ok(format!("{file} is written"))
}

fn main() {
    say("{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"capabilities\":[\"agent\"]}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.contains("\"type\":\"task\"") {
            let (ok, text) = match work(&line) {
                Ok(text) => (true, text),
                Err(text) => (false, text),
            };
            say(&format!("{{\"type\":\"result\",\"ok\":{ok},\"text\":{}}}", quoted(&text)));
            return;
        }
    }
}
