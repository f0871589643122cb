//! Which paths mean something to every confined program: of the system, of a home, of a workspace.

/// What programs are started from and set up by.
pub(super) const SYSTEM: [&str; 19] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/gnu",
    "/snap",
    "/home/linuxbrew/.linuxbrew",
    "/var/lib/ca-certificates",
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager/resolv.conf",
    "/run/current-system",
    "/sys/devices/system/cpu",
];

/// What in there is for the system's own use. Who is root could read it otherwise.
pub(super) const OF_THE_SYSTEM: [&str; 25] = [
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/pki/tls/private",
    "/etc/krb5.keytab",
    "/etc/kubernetes",
    "/etc/rancher",
    "/etc/docker",
    "/etc/containers/auth.json",
    "/etc/wireguard",
    "/etc/openvpn",
    "/etc/ipsec.secrets",
    "/etc/letsencrypt",
    "/etc/netplan",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/ppp",
    "/etc/cron.d",
    "/etc/security/opasswd",
    "/etc/machine-id",
];

/// Where programs of the user's own are, below the home.
pub(super) const TOOLS: [&str; 22] = [
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".rustup",
    ".nvm",
    ".fnm",
    ".local/share/fnm",
    ".volta",
    ".npm-global",
    ".bun/bin",
    ".deno/bin",
    ".local/bin",
    ".local/lib",
    ".local/share/mise",
    ".local/share/pnpm",
    ".local/share/uv",
    ".pyenv",
    ".rbenv",
    ".asdf",
    ".sdkman",
    ".ghcup",
    "go/bin",
];

/// What package managers have fetched. With a network they fetch anew, into the attempt's own home: what an agent puts into
/// a shared cache would be run by the user later. Without one they can only read what is there.
pub(super) const CACHES: [&str; 9] = [
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/pip",
    ".cache/uv",
    "go/pkg/mod",
    ".m2/repository",
    ".gradle/caches",
    ".local/share/pnpm/store",
];

/// Variables that move folders of the home elsewhere, and which.
pub(super) const MOVED: [(&str, &str); 7] = [
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("GOPATH", "go"),
];

/// Configuration in a workspace by which agents and git start programs. What is there stays as it is.
pub const PROTECTED: [&str; 17] = [
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks",
    ".codex",
    ".cursor/mcp.json",
    ".gemini/.env",
    ".gemini/extensions",
    ".gemini/settings.json",
    ".mcp.json",
    ".opencode",
    "opencode.json",
    "opencode.jsonc",
    ".git/commondir",
    ".git/config",
    ".git/config.worktree",
    ".git/hooks",
    ".git/info",
];

/// Of a repository's own git directory: what git starts programs by, and what is the user's checkout alone.
pub(super) const OF_THE_CHECKOUT: [&str; 6] = ["config", "config.worktree", "hooks", "info", "HEAD", "index"];

/// Of a submodule's git directory: what git starts programs by.
pub(super) const OF_A_MODULE: [&str; 4] = ["config", "config.worktree", "hooks", "info"];

/// Of a worktree's own part of it: by these git finds the configuration that counts there.
pub(super) const OF_THE_WORKTREE: [&str; 3] = ["commondir", "config.worktree", "gitdir"];
