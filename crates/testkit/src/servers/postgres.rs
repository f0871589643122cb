use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{Server, kept, own, program};

/// PostgreSQL refuses to be root's.
const USER: &str = "postgres";

/// A cluster of its own, reached over a socket in its folder.
pub struct Postgres {
    server: Option<Server>,
    folder: TempDir,
    bin: PathBuf,
}

impl Postgres {
    pub fn start() -> Result<Postgres, String> {
        let bin = bin().ok_or("PostgreSQL is not installed (on Debian: apt-get install postgresql)")?;
        let folder = TempDir::with_prefix("pg").map_err(|error| error.to_string())?;
        own(folder.path(), USER)?;
        let mut making = kept(&bin.join("initdb"), Some(USER));
        making.args(["-U", "conductor", "-A", "trust", "-E", "UTF8", "--locale", "C", "--no-sync", "-D"]);
        let made = making.arg(folder.path().join("data")).current_dir(folder.path()).output();
        let made = made.map_err(|error| format!("setpriv (util-linux): {error}"))?;
        if !made.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&made.stderr)));
        }
        let mut postgres = Postgres { server: None, folder, bin };
        postgres.begin()?;
        Ok(postgres)
    }

    /// Starts it, after it was ended.
    pub fn begin(&mut self) -> Result<(), String> {
        let (folder, log) = (self.folder.path(), self.folder.path().join("log"));
        let mut command = kept(&self.bin.join("postgres"), Some(USER));
        command.arg("-D").arg(folder.join("data")).arg("-k").arg(folder);
        command.args(["-c", "listen_addresses=", "-c", "max_connections=200"]).current_dir(folder);
        let mut server = Server::start(&mut command, "-INT", &log)?;
        server.until(&log, || {
            let mut ready = Command::new(self.bin.join("pg_isready"));
            let ready = ready.arg("-q").arg("-h").arg(folder).args(["-d", "postgres"]);
            ready.status().is_ok_and(|status| status.success())
        })?;
        self.server = Some(server);
        Ok(())
    }

    /// Ends it, so that all connections break.
    pub fn end(&mut self) {
        self.server = None;
    }

    /// The address of a database, which is made where it is not there.
    pub fn database(&self, name: &str) -> String {
        self.query("postgres", &format!("CREATE DATABASE \"{name}\""));
        self.address(name)
    }

    pub fn address(&self, name: &str) -> String {
        format!("postgres://conductor@localhost/{name}?host={}", self.folder.path().display())
    }

    /// What psql prints of a statement.
    pub fn query(&self, database: &str, statement: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.arg("-h").arg(self.folder()).args([
            "-U",
            "conductor",
            "-d",
            database,
            "-X",
            "-At",
            "-c",
            statement,
        ]);
        let out = psql.stdin(Stdio::null()).output();
        out.map(|out| String::from_utf8_lossy(&out.stdout).trim().to_owned()).unwrap_or_default()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn bin() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let folders: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    // The links on the search path lead to programs whose neighbours are needed, too.
    let found = program("initdb", &folders)?.canonicalize().ok()?;
    found.parent().map(Path::to_owned)
}
