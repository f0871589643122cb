//! A notifier for Conductor, used by `notifications: { on_failure: { type: plugin, name: NAME } }`.
//!
//! It adds each message to a file, named by CONDUCTOR_PLUGIN_FILE. The protocol is in docs/plugins.md.

use std::io::Write as _;

@COMMON@
fn deliver(message: &str) -> std::io::Result<()> {
    let path = std::env::var_os("CONDUCTOR_PLUGIN_FILE").unwrap_or_else(|| "notifications.txt".into());
    let mut file = std::fs::File::options().create(true).append(true).open(path)?;
    writeln!(file, "{message}")
}

fn main() {
    say("{\"type\":\"hello\",\"protocol\":1,\"version\":\"0.1.0\",\"capabilities\":[\"notifier\"]}");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        if line.contains("\"type\":\"notify\"") {
            match deliver(&text_of(&line, "message").unwrap_or_default()) {
                Ok(()) => say("{\"type\":\"done\"}"),
                Err(error) => say(&format!("{{\"type\":\"error\",\"text\":{}}}", quoted(&error.to_string()))),
            }
        }
    }
}
