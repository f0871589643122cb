use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use tempfile::TempDir;

use super::{ANSWER, Server, kept, on_a_free_port, program};

const PASSWORD: &str = "tested-password";

/// A server of its own on the loopback, which keeps what it is given.
pub struct Redis {
    server: Option<Server>,
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
}

impl Redis {
    pub fn start() -> Result<Redis, String> {
        // Else it may have said that it has what it writes two seconds later, when the disk is busy.
        Redis::with(&["--appendonly", "yes", "--appendfsync", "always"])
    }

    /// With these settings as well: `--maxmemory-policy`, `allkeys-lru`.
    pub fn with(settings: &[&str]) -> Result<Redis, String> {
        on_a_free_port(|port| {
            let folder = TempDir::with_prefix("redis").map_err(|error| error.to_string())?;
            let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
            let mut redis = Redis { server: None, folder, port, settings };
            redis.begin()?;
            Ok(redis)
        })
    }

    /// Starts it, after it was ended.
    pub fn begin(&mut self) -> Result<(), String> {
        let program = program("redis-server", &[])
            .ok_or("Redis is not installed (on Debian: apt-get install redis-server)")?;
        let (port, log) = (self.port, self.folder.path().join("log"));
        let mut command = kept(&program, None);
        command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--requirepass", PASSWORD, "--dir"]).arg(self.folder.path()).args(&self.settings);
        let mut server = Server::start(&mut command, "-KILL", &log)?;
        server.until(&log, || answers(port).unwrap_or(false))?;
        self.server = Some(server);
        Ok(())
    }

    /// Ends it as a power cut of the process would: it has no time for anything.
    pub fn kill(&mut self) {
        self.server = None;
    }

    pub fn address(&self) -> String {
        format!("redis://:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it answers to a line, as it comes over the wire.
    pub fn ask(&self, line: &str) -> String {
        ask(self.port, line).unwrap_or_default()
    }
}

fn answers(port: u16) -> std::io::Result<bool> {
    Ok(ask(port, "PING")?.contains("PONG"))
}

fn ask(port: u16, line: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(format!("AUTH {PASSWORD}\r\n{line}\r\nQUIT\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
