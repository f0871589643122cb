use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{ANSWER, Server, free_port, kept, on_a_free_port, program};

const USER: &str = "tested";
const PASSWORD: &str = "tested-password";

/// A node of its own on the loopback, in a cluster of one, with nothing of the machine's: its ports, data, cookie and the
/// daemon that names nodes are its own.
pub struct RabbitMq {
    // Ended in this order.
    node: Option<Server>,
    _names: Server,
    folder: TempDir,
    port: u16,
    names: u16,
    nodes: u16,
}

impl RabbitMq {
    pub fn start() -> Result<RabbitMq, String> {
        let epmd = program("epmd", &[]).ok_or(MISSING)?;
        on_a_free_port(|port| {
            let folder = TempDir::with_prefix("rabbitmq").map_err(|error| error.to_string())?;
            std::fs::write(folder.path().join("settings.conf"), settings())
                .map_err(|error| error.to_string())?;
            let (names, nodes) = (free_port()?, free_port()?);
            let log = folder.path().join("names.log");
            let mut command = kept(&epmd, None);
            command.args(["-address", "127.0.0.1", "-port", &names.to_string()]);
            let mut daemon = Server::start(&mut command, "-KILL", &log)?;
            daemon.until(&log, || TcpStream::connect(("127.0.0.1", names)).is_ok())?;
            let mut rabbit = RabbitMq { node: None, _names: daemon, folder, port, names, nodes };
            rabbit.begin()?;
            Ok(rabbit)
        })
    }

    /// Starts it, after it was ended.
    pub fn begin(&mut self) -> Result<(), String> {
        let (folder, log) = (self.folder.path(), self.folder.path().join("log"));
        let mut command = kept(&script()?, None);
        let port = self.port.to_string();
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .env("HOME", folder)
            .env("LANG", "C.UTF-8")
            .env("RABBITMQ_NODENAME", format!("tested-{port}@localhost"));
        command.env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1").env("RABBITMQ_NODE_PORT", &port);
        command.env("RABBITMQ_DIST_PORT", self.nodes.to_string());
        command.env("ERL_EPMD_PORT", self.names.to_string()).env("ERL_EPMD_ADDRESS", "127.0.0.1");
        command.env("RABBITMQ_CONFIG_FILE", folder.join("settings")).env("RABBITMQ_LOGS", "-");
        command.env("RABBITMQ_CONF_ENV_FILE", folder.join("none"));
        command
            .env("RABBITMQ_MNESIA_BASE", folder.join("data"))
            .env("RABBITMQ_LOG_BASE", folder.join("logs"));
        command.env("RABBITMQ_PID_FILE", folder.join("pid"));
        command.env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("plugins"));
        // The script becomes the node, so that it can be ended by its number.
        command.env("RABBITMQ_ALLOW_INPUT", "true");
        command.env(
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
            "-noinput +S 2:2 +sbwt none -kernel inet_dist_use_interface {127,0,0,1}",
        );
        let mut server = Server::start(&mut command, "-KILL", &log)?;
        let port = self.port;
        server.until(&log, || answers(port).unwrap_or(false))?;
        self.node = Some(server);
        Ok(())
    }

    /// Ends it as a power cut of the process would: it has no time for anything.
    pub fn kill(&mut self) {
        self.node = None;
    }

    pub fn address(&self) -> String {
        format!("amqp://{USER}:{PASSWORD}@127.0.0.1:{}", self.port)
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

const MISSING: &str = "RabbitMQ is not installed (on Debian: apt-get install rabbitmq-server)";

/// Not the one on the search path, which needs the machine's own user and home.
fn script() -> Result<PathBuf, String> {
    let script = Path::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
    if script.is_file() { Ok(script.to_owned()) } else { Err(MISSING.to_owned()) }
}

/// Small, and content with any disk.
fn settings() -> String {
    format!(
        "default_user = {USER}\ndefault_pass = {PASSWORD}\nlog.console.level = error\n\
         disk_free_limit.absolute = 1MB\nraft.wal_max_size_bytes = 16777216\n"
    )
}

/// A server that is up says which version of the protocol it speaks.
fn answers(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(b"AMQP\x00\x00\x09\x01")?;
    let mut first = [0; 1];
    stream.read_exact(&mut first)?;
    Ok(first == [1])
}
