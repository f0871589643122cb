//! What runs inside before the agent's own program: it puts right what the way there had to change, and becomes that. With a
//! limited network it leaves a process behind that carries connections to the proxy's socket. Where there are no namespaces, it
//! puts the kernel's rules on itself before that.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};

use super::held::{self, Rules};

/// What it is told by: rules to put on itself, the proxy's socket, services of the machine that are there at their own ports,
/// and that it is the process that carries.
pub(super) const LANDLOCK: &str = "--landlock";
pub(super) const PROXY: &str = "--proxy";
pub(super) const SERVICE: &str = "--service";
const CARRY: &str = "--carry";

/// Variables by which programs find a proxy, and by which they leave it out.
const THROUGH_PROXY: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];
const WITHOUT_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];

#[derive(Debug, Default)]
struct Asked {
    rules: Option<PathBuf>,
    proxy: Option<PathBuf>,
    /// Hosts and ports.
    services: Vec<String>,
    carries: bool,
    command: Vec<OsString>,
}

/// Does not return where all is well: the program takes its place.
pub fn run(words: &[OsString]) -> io::Error {
    begin(words).err().unwrap_or_else(|| io::Error::other("it came to an end"))
}

fn begin(words: &[OsString]) -> io::Result<()> {
    let asked = read(words).ok_or_else(|| io::Error::other("it is started by Conductor alone"))?;
    held::close_all_but_the_usual()?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    if let (true, Some(proxy)) = (asked.carries, &asked.proxy) {
        return runtime.block_on(carry(proxy.clone(), asked.services));
    }
    let [program, args @ ..] = &asked.command[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut command = Command::new(program);
    command.args(args);
    if asked.proxy.is_some() {
        let port = start_carrier(words)?;
        let address = format!("http://127.0.0.1:{port}");
        command.envs(THROUGH_PROXY.map(|name| (name, &address)));
        command.envs(WITHOUT_PROXY.map(|name| (name, "localhost,127.0.0.1,::1")));
        // Node's own client heeds the others with this alone.
        command.env("NODE_USE_ENV_PROXY", "1");
    }
    heed_requests_to_end(&runtime)?;
    drop(runtime);
    match &asked.rules {
        Some(rules) => Rules::read(rules)?.apply()?,
        None => held::keep_from_abstract_sockets()?,
    }
    Err(command.exec())
}

fn read(words: &[OsString]) -> Option<Asked> {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.to_str()? {
            LANDLOCK => asked.rules = Some(words.next()?.into()),
            PROXY => asked.proxy = Some(words.next()?.into()),
            SERVICE => asked.services.push(words.next()?.to_str()?.to_owned()),
            CARRY => asked.carries = true,
            "--" => {
                asked.command = words.cloned().collect();
                return (asked.carries || !asked.command.is_empty()).then_some(asked);
            }
            _ => return None,
        }
    }
    None
}

/// A signal that is ignored stays so for what is started; one that is caught is what it usually is for that.
fn heed_requests_to_end(runtime: &Runtime) -> io::Result<()> {
    let _reactor = runtime.enter();
    signal(SignalKind::terminate()).map(drop)
}

/// The port at which programs find the proxy, once it listens.
fn start_carrier(words: &[OsString]) -> io::Result<u16> {
    let own = std::env::args_os().nth(1).unwrap_or_default();
    let told = words.iter().take_while(|word| *word != OsStr::new("--"));
    let mut carrier = Command::new("/proc/self/exe");
    carrier.arg(own).args(told).args([CARRY, "--"]);
    let mut carrier = carrier.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    if let Some(said) = carrier.stdout.take() {
        BufReader::new(said).read_line(&mut line)?;
    }
    line.trim().parse().map_err(|_| io::Error::other("the way to the proxy cannot be opened"))
}

/// Listens where programs look for the proxy and for services, says where the first is, and carries until the end.
async fn carry(proxy: PathBuf, services: Vec<String>) -> io::Result<()> {
    use std::io::Write as _;

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    for service in services {
        let at = service.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        let Some(at) = at else { continue };
        for address in [SocketAddr::from((Ipv4Addr::LOCALHOST, at)), (Ipv6Addr::LOCALHOST, at).into()] {
            // Not every machine has the newer kind of addresses.
            if let Ok(listener) = TcpListener::bind(address).await {
                tokio::spawn(each(listener, proxy.clone(), Some(service.clone())));
            }
        }
    }
    let mut out = io::stdout();
    writeln!(out, "{port}")?;
    out.flush()?;
    each(listener, proxy, None).await
}

/// Takes every connection to the proxy; one to a service by asking for that.
async fn each(listener: TcpListener, proxy: PathBuf, service: Option<String>) -> io::Result<()> {
    loop {
        let (client, _) = listener.accept().await?;
        let (proxy, service) = (proxy.clone(), service.clone());
        tokio::spawn(async move { one(client, &proxy, service.as_deref()).await });
    }
}

async fn one(mut client: TcpStream, proxy: &Path, service: Option<&str>) -> io::Result<()> {
    const CONSENT: &[u8] = b"HTTP/1.1 200 ";
    let _ = client.set_nodelay(true);
    let mut server = UnixStream::connect(proxy).await?;
    if let Some(service) = service {
        server.write_all(format!("CONNECT {service} HTTP/1.1\r\n\r\n").as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(server.read_u8().await?);
        }
        if !head.starts_with(CONSENT) {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
    }
    copy_bidirectional(&mut client, &mut server).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_is_told_comes_before_the_program() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let asked =
            read(&words("--proxy /p --service localhost:1 --service [::1]:2 -- sh -c --carry")).unwrap();
        assert_eq!(asked.proxy, Some("/p".into()));
        assert_eq!(asked.services, ["localhost:1", "[::1]:2"]);
        assert_eq!((asked.carries, asked.command), (false, words("sh -c --carry")));
        let held = read(&words("--landlock /r -- sh")).unwrap();
        assert_eq!((held.rules, held.command), (Some("/r".into()), words("sh")));
        for bad in ["", "--", "--landlock", "sh", "--proxy", "--other -- sh", "--proxy /p"] {
            assert!(read(&words(bad)).is_none(), "{bad}");
        }
    }
}
