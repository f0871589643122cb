//! A Debian package: the files where Debian has them, and what is to be known of it before it is installed.
//!
//! There are no scripts in it: installing it starts nothing, and removing it takes away what it brought and nothing else.

use std::fs;

use md5::{Digest as _, Md5};

use super::archive::{self, File, Files};
use super::elf::Needs;
use super::product::{PACKAGE, Product};
use super::tree::{self, Contents};
use crate::Result;
use crate::steps::root;

/// Of this packaging: another one of the same version gets the next number.
const REVISION: u32 = 1;

/// The oldest git that merges in memory. `conductor doctor` asks for a newer one, and says so on systems that have only this.
const GIT: &str = "git (>= 1:2.38)";

/// Its name and its bytes.
pub(super) fn package(product: &Product, contents: &Contents) -> Result<(String, Vec<u8>)> {
    let (version, architecture) = (format!("{}-{REVISION}", product.version), architecture(product)?);
    let files = files(product, contents, &version)?;
    let control = control(contents, &files, &version, architecture)?;
    let tar = |files: &Files| archive::gzip(&archive::tar(files, ".", product.epoch)?);
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", tar(&control)?),
        ("data.tar.gz", tar(&files)?),
    ];
    let name = format!("{PACKAGE}_{version}_{architecture}.deb");
    Ok((name, archive::ar(&members, product.epoch)))
}

fn architecture(product: &Product) -> Result<&'static str> {
    match product.architecture() {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        "riscv64gc" => Ok("riscv64"),
        other => Err(format!("it is not known here what Debian calls {other}").into()),
    }
}

fn plain(bytes: Vec<u8>) -> File {
    File { is_program: false, bytes }
}

/// All files of the package, by where they lie in a system.
fn files(product: &Product, contents: &Contents, version: &str) -> Result<Files> {
    let mut files = Files::new();
    files.insert("usr/bin/conductor".to_owned(), File { is_program: true, bytes: contents.program.clone() });
    let mut put = |path: String, bytes: Vec<u8>| files.insert(path, plain(bytes));
    for (name, page) in &contents.manual {
        put(format!("usr/share/man/man1/{name}.gz"), archive::gzip(page)?);
    }
    for (shell, path) in [
        ("bash", "bash-completion/completions/conductor"),
        ("zsh", "zsh/vendor-completions/_conductor"),
        ("fish", "fish/vendor_completions.d/conductor.fish"),
        ("nushell", "nushell/vendor/autoload/conductor.nu"),
    ] {
        put(format!("usr/share/{path}"), contents.completion(shell)?);
    }
    for (name, text) in tree::units("/usr/bin/conductor")? {
        put(format!("usr/lib/systemd/user/{name}"), text);
    }
    let documents = format!("usr/share/doc/{PACKAGE}");
    put(format!("{documents}/copyright"), copyright()?.into_bytes());
    put(format!("{documents}/changelog.Debian.gz"), archive::gzip(changelog(product, version)?.as_bytes())?);
    put(format!("{documents}/changelog.gz"), archive::gzip(&fs::read(root().join("CHANGELOG.md"))?)?);
    put(format!("{documents}/third-party-licences.txt.gz"), archive::gzip(contents.licences.as_bytes())?);
    put(format!("{documents}/bill-of-materials.cdx.json.gz"), archive::gzip(&contents.sbom)?);
    put(format!("{documents}/examples/config.yaml"), fs::read(root().join("examples/config/config.yaml"))?);
    put(format!("usr/share/lintian/overrides/{PACKAGE}"), OVERRIDES.replace("PACKAGE", PACKAGE).into_bytes());
    Ok(files)
}

/// What Debian's own check would say, and why it is meant so.
const OVERRIDES: &str = "\
# Runs are stored in it, so its version is pinned: older ones can lose data (https://sqlite.org/wal.html#walresetbug).
PACKAGE: embedded-library *sqlite3*
# A file of its own for each command, named like the command.
PACKAGE: spare-manual-page *
# Made outside of Debian, so no report of Debian's asked for it.
PACKAGE: initial-upload-closes-no-bugs *
";

fn control(contents: &Contents, files: &Files, version: &str, architecture: &str) -> Result<Files> {
    let size: usize = files.values().map(|file| file.bytes.len().div_ceil(1024)).sum();
    let depends = depends(&contents.needs)?.join(", ");
    let maintainer = maintainer();
    let text = format!(
        "Package: {PACKAGE}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
         Installed-Size: {size}\nDepends: {depends}\nRecommends: ca-certificates, man-db\n\
         Suggests: bash-completion, chromium, gh\nSection: devel\nPriority: optional\n{DESCRIPTION}"
    );
    let sums = files.iter().map(|(path, file)| format!("{}  {path}\n", md5(&file.bytes)));
    let sums: String = sums.collect();
    Ok([("control".to_owned(), plain(text.into_bytes())), ("md5sums".to_owned(), plain(sums.into_bytes()))]
        .into())
}

const DESCRIPTION: &str = "\
Description: run many AI coding agents in parallel on a git repository
 Conductor gives each task a worktree and an agent of its own, runs the checks
 of the project itself, merges what passes onto a branch, and sends the rest
 back to the agent. Every step is in a durable log before it is acted on, so a
 run that was killed goes on where it was. Costs are capped while agents work.
 .
 Agents (Claude Code, Codex, Gemini CLI, OpenCode, any agent that speaks the
 Agent Client Protocol) are installed apart; tasks that are commands need none.
";

/// Who answers for the package, by the variables that Debian's own tools take it from.
fn maintainer() -> String {
    let name = variable("DEBFULLNAME").unwrap_or_else(|| "Conductor maintainers".to_owned());
    let address = address().unwrap_or_else(|| UNKNOWN_ADDRESS.to_owned());
    format!("{name} <{address}>")
}

/// Where the maintainers are reached, if that is said.
pub(crate) fn address() -> Option<String> {
    variable("DEBEMAIL")
}

/// An empty one is not set: workflows set variables that have no value so.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// For packages that are not handed out: nothing arrives there.
pub(crate) const UNKNOWN_ADDRESS: &str = "maintainers@conductor.invalid";

/// Which packages have what the program needs of the system, not older than what it was linked with.
fn depends(needs: &Needs) -> Result<Vec<String>> {
    let mut depends = Vec::new();
    for library in &needs.libraries {
        let name = library.split(".so").next().unwrap_or(library);
        let (package, family) = match name {
            "libc" | "libm" | "libdl" | "libpthread" | "librt" => ("libc6", "GLIBC"),
            _ if name.starts_with("ld-linux") => ("libc6", "GLIBC"),
            "libgcc_s" => ("libgcc-s1", "GCC"),
            _ => return Err(format!("it is not known here which Debian package has {library}").into()),
        };
        let version = needs.version(family).map(|version| format!(" (>= {version})")).unwrap_or_default();
        depends.push(format!("{package}{version}"));
    }
    depends.push(GIT.to_owned());
    depends.sort();
    depends.dedup();
    Ok(depends)
}

fn copyright() -> Result<String> {
    let mit = fs::read_to_string(root().join("LICENSE-MIT"))?;
    let lines = mit.lines().skip_while(|line| !line.starts_with("Permission"));
    let mit: String = lines.map(|line| format!(" {}\n", if line.is_empty() { "." } else { line })).collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: conductor\n\
         Comment: The libraries in the program and in its page, their licences and their\n \
         texts are in third-party-licences.txt.gz beside this file.\n\n\
         Files: *\nCopyright: Conductor contributors\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n{mit}\n\
         License: Apache-2.0\n On Debian systems the full text of the licence is in\n \
         /usr/share/common-licenses/Apache-2.0.\n"
    ))
}

fn changelog(product: &Product, version: &str) -> Result<String> {
    let time = jiff::Timestamp::from_second(i64::try_from(product.epoch)?)?;
    let date = jiff::fmt::rfc2822::to_string(&time.to_zoned(jiff::tz::TimeZone::UTC))?;
    Ok(format!(
        "{PACKAGE} ({version}) unstable; urgency=medium\n\n  * Version {}; what it brings is in changelog.gz.\n\n -- {}  {date}\n",
        product.version,
        maintainer()
    ))
}

fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(libraries: &[&str]) -> Needs {
        let versions = [("GLIBC".to_owned(), vec![2, 34]), ("GCC".to_owned(), vec![4, 2, 0])].into();
        Needs { libraries: libraries.iter().map(|name| (*name).to_owned()).collect(), versions }
    }

    #[test]
    fn it_depends_on_what_the_program_was_linked_with() {
        let all = needs(&["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "libgcc_s.so.1"]);
        assert_eq!(depends(&all).unwrap(), ["git (>= 1:2.38)", "libc6 (>= 2.34)", "libgcc-s1 (>= 4.2.0)"]);
        let error = depends(&needs(&["libssl.so.3"])).unwrap_err().to_string();
        assert!(error.contains("libssl.so.3"), "{error}");
    }

    #[test]
    fn the_copyright_has_both_licences() {
        let text = copyright().unwrap();
        assert!(text.contains("License: Expat\n Permission is hereby granted"), "{text}");
        assert!(text.lines().all(|line| !line.is_empty() || !text.contains("\n\n\n")), "{text}");
    }
}
