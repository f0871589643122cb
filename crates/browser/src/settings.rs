//! How the browser is reached and which site is worked with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::client::Patience;

/// The site whose pages the built-in selectors describe.
pub const SITE: &str = "https://claude.ai";

/// The file of the user's with corrections to what the program knows of the site.
pub const SELECTORS_FILE: &str = "element_selectors.json";

/// As the user's config says it, with the defaults of this program. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Scheme and host; no slash at the end.
    pub site: String,
    /// `stdio://…`, `http(s)://…/mcp` or `…/sse`; a server of our own where absent.
    pub server_url: Option<String>,
    pub timeout: f64,
    pub max_retries: u32,
    pub auth_timeout: f64,
    pub auth_check_interval: f64,
    pub headless: bool,
    /// A context of its own for each session instead of tabs that share a sign-in.
    pub isolated: bool,
    /// A sign-in that the user has stored, for sites that permit it; only with `isolated`.
    pub storage_state: Option<PathBuf>,
    /// A browser of the user's that runs already.
    pub cdp_endpoint: Option<String>,
    pub extension: bool,
    pub executable: Option<PathBuf>,
    pub keep_tabs: bool,
    /// How often a session is looked at.
    pub look: f64,
    /// How long a session may stand at one step before its work begins.
    pub provisioning_timeout: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            site: SITE.to_owned(),
            server_url: None,
            timeout: 60.0,
            max_retries: 3,
            auth_timeout: 300.0,
            auth_check_interval: 5.0,
            headless: false,
            isolated: false,
            storage_state: None,
            cdp_endpoint: None,
            extension: false,
            executable: None,
            keep_tabs: false,
            look: 5.0,
            provisioning_timeout: 300.0,
        }
    }
}

impl Settings {
    pub fn patience(&self) -> Patience {
        Patience { timeout: seconds(self.timeout), max_retries: self.max_retries }
    }

    pub fn look(&self) -> Duration {
        seconds(self.look)
    }

    pub fn auth_timeout(&self) -> Duration {
        seconds(self.auth_timeout)
    }

    pub fn auth_check_interval(&self) -> Duration {
        seconds(self.auth_check_interval)
    }

    pub fn provisioning_timeout(&self) -> Duration {
        seconds(self.provisioning_timeout)
    }
}

fn seconds(number: f64) -> Duration {
    Duration::try_from_secs_f64(number).unwrap_or_default().max(Duration::from_millis(10))
}

/// Where everything about browsers is kept, in the state directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    home: PathBuf,
}

impl Places {
    pub fn in_home(home: &Path) -> Places {
        Places { home: home.to_owned() }
    }

    pub fn folder(&self) -> PathBuf {
        self.home.join("browser")
    }

    pub fn selectors(&self) -> PathBuf {
        self.home.join(SELECTORS_FILE)
    }

    /// Programs from npm.
    pub fn tools(&self) -> PathBuf {
        self.home.join("tools")
    }

    /// Pages that were not understood.
    pub fn snapshots(&self) -> PathBuf {
        self.folder().join("snapshots")
    }

    pub fn sessions(&self) -> PathBuf {
        self.folder().join("sessions")
    }

    /// Makes a folder that only the user can read: pages may show anything.
    pub fn make(path: &Path) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
    }
}
