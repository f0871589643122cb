//! What an agent with a limited network reaches, and that no trick gets it further.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::confinement::{can_confine, landed, run, users, world};
use crate::harness::{World, skipped};
use crate::repository::command;

/// A server on loopback that gives this answer and counts who comes.
fn server(address: &str, answer: impl Fn(u16) -> String) -> Option<(u16, Arc<AtomicUsize>)> {
    let listener = TcpListener::bind(address).ok()?;
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let (reached, answer) = (count.clone(), answer(port));
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            reached.fetch_add(1, Ordering::SeqCst);
            let answer = answer.clone();
            std::thread::spawn(move || {
                let _ = client.set_read_timeout(Some(Duration::from_secs(5)));
                let mut asked = [0; 2048];
                let _ = client.read(&mut asked);
                let _ = client.write_all(answer.as_bytes());
            });
        }
    });
    Some((port, count))
}

fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

const SCRIPT: &str = include_str!("egress.sh");

/// What must not be reached, and what may be.
struct Outside {
    sink: u16,
    leaked: Arc<AtomicUsize>,
    sink6: Option<(u16, Arc<AtomicUsize>)>,
    allowed: u16,
    reached: Arc<AtomicUsize>,
    datagrams: UdpSocket,
    name: String,
    hidden: UnixListener,
    /// The way out of this machine, if it has one: what listens everywhere is reached at that address, too.
    address: String,
}

impl Outside {
    fn new() -> Outside {
        let own =
            UdpSocket::bind("0.0.0.0:0").and_then(|one| one.connect("192.0.2.1:9").and(one.local_addr()));
        let (sink, leaked) = server("0.0.0.0:0", |_| page("reached-the-sink")).unwrap();
        let redirect = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{sink}/\r\nConnection: close\r\nContent-Length: 7\r\n\r\nallowed"
        );
        let (allowed, reached) = server("127.0.0.1:0", |_| redirect.clone()).unwrap();
        let datagrams = UdpSocket::bind("0.0.0.0:0").unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let name = format!("conductor-{}", fastrand::u64(..));
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        hidden.set_nonblocking(true).unwrap();
        let sink6 = server("[::1]:0", |_| page("reached-the-sink"));
        let address = own.map_or("127.0.0.2".to_owned(), |own| own.ip().to_string());
        Outside { sink, leaked, sink6, allowed, reached, datagrams, name, hidden, address }
    }

    /// The script, told of all these; what it uses of ours lies at `socket`.
    fn script(&self, socket: &std::path::Path) -> String {
        let [high, low] = self.sink.to_be_bytes();
        let named = [
            ("SINKBYTES", format!("\\x{high:02x}\\x{low:02x}")),
            ("SINK6", self.sink6.as_ref().map_or(self.sink, |(port, _)| *port).to_string()),
            ("SINK", self.sink.to_string()),
            ("ALLOWED", self.allowed.to_string()),
            ("DATAGRAMS", self.datagrams.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", self.name.clone()),
            ("ADDRESS", self.address.clone()),
            ("HIDDENPATH", socket.display().to_string()),
            ("python3", super::escapes::python().to_owned()),
        ];
        named.iter().fold(SCRIPT.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// None of it was reached.
    fn expect_untouched(&self, whose: &str) {
        assert_eq!(self.leaked.load(Ordering::SeqCst), 0, "{whose}");
        let newer = self.sink6.as_ref().map_or(0, |(_, leaked)| leaked.load(Ordering::SeqCst));
        assert_eq!(newer, 0, "{whose}");
        assert!(self.datagrams.recv(&mut [0; 512]).is_err(), "{whose}: a datagram came through");
        assert!(self.hidden.accept().is_err(), "{whose}: the abstract socket was reached");
    }
}

/// What the script has tried, with nothing leaked.
fn tried(world: &World, whose: &str) -> u32 {
    let result = landed(world, "result.txt");
    assert!(!result.contains("LEAKED"), "{whose}: {result}");
    result.trim().strip_prefix("tried ").unwrap_or("0").parse().unwrap()
}

#[test]
fn nothing_leaks_from_a_limited_network() {
    for (user, is_off) in users().into_iter().flat_map(|user| [(user, false), (user, true)]) {
        let probe = world("", "");
        if !can_confine(&probe) {
            return;
        }
        let outside = Outside::new();
        let (allowed, whose) = (outside.allowed, format!("{user:?}, off: {is_off}"));
        let list = match is_off {
            true => ", network: off".to_owned(),
            false => format!(", network: {{ allow: ['localhost:{allowed}', '127.0.0.1:{allowed}'] }}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _in_a_folder = UnixListener::bind(&socket).unwrap();
        let world = world(&outside.script(&socket), &list);
        let ended = run(&world, user).expect(0);
        for file in ["allowed.txt", "by-number.txt", "socks.txt"] {
            let expected = if is_off { "" } else { "allowed" };
            assert_eq!(landed(&world, file), expected, "{whose} {file}: {}", ended.stderr);
        }
        assert!(tried(&world, &whose) >= 60, "{whose}");
        outside.expect_untouched(&whose);
        if is_off {
            assert_eq!(outside.reached.load(Ordering::SeqCst), 0, "{whose}");
        } else {
            assert!(outside.reached.load(Ordering::SeqCst) >= 3);
            ended.says("which is not reached: it is not listed under network: allow");
        }
    }
}

/// A machine with a name server of the test's own, which says what it is asked, and a server on loopback that says who
/// comes: in a network namespace of its own.
const NAMES: &str = include_str!("names.py");

const LOOKUPS: &str = r#"
out="$PWD/result.txt"
n=0
try() {
    n=$((n + 1))
    if timeout 20 sh -c "$2" > said 2>&1 && grep -q reached-the-sink said; then echo "LEAKED $1" >> "$out"; fi
}
proxy="$HTTP_PROXY"
bare="env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy"
try "a name of a private address" "curl -s --max-time 5 http://private.example/"
try "a tunnel to such a name" "curl -s -p -x $proxy --max-time 5 http://private.example/"
try "socks to such a name" "curl -s --noproxy '' -x socks5h://${proxy#http://} --max-time 5 http://private.example/"
try "such a name of the newer kind" "curl -s --max-time 5 http://newer.example/"
try "a name of two addresses" "curl -s --max-time 5 http://both.example/; curl -s --max-time 5 http://both.example/"
try "a name that changes" "for i in 1 2 3 4; do curl -s --max-time 5 http://changing.example/; done"
try "a name that stands for another" "curl -s --max-time 5 http://alias.example/"
try "the metadata of a cloud" "curl -s --max-time 5 http://metadata.example/"
try "a look-up" "getent hosts secret-1.example"
try "a look-up by the library" "python3 -c 'import socket; print(socket.getaddrinfo("secret-2.example", 80))'"
try "a look-up by hand" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(b"\x00\x01\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08secret-3\x07example\x00\x00\x01\x00\x01", ("127.0.0.1", 53)); s.recv(512)'"
try "without the proxy" "$bare curl -s --max-time 5 http://secret-4.example/"
try "a name that is not listed" "curl -s --max-time 5 http://secret-5.example/"
try "a tunnel to it" "curl -s -p -x $proxy --max-time 5 http://secret-6.example/"
try "socks to it" "curl -s --noproxy '' -x socks5h://${proxy#http://} --max-time 5 http://secret-7.example/"
try "below a listed name" "curl -s --max-time 5 http://secret-8.private.example/"
try "with a port that is not listed" "curl -s --max-time 5 http://private.example:8080/"
try "git" "git ls-remote http://secret-9.example/x; git ls-remote git://secret-10.example/x; git ls-remote ssh://secret-11.example/x"
rm -f said
echo "tried $n" >> "$out"
"#;

#[test]
fn names_lead_nowhere_private_and_tell_nothing() {
    if !rustix::process::geteuid().is_root() {
        return skipped("it makes a network namespace with a name server, which takes root");
    }
    let hosts =
        ["private", "newer", "both", "changing", "alias", "metadata"].map(|name| format!("{name}.example"));
    let script = LOOKUPS.replace("python3", super::escapes::python());
    let world = world(&script, &format!(", network: {{ allow: [{}] }}", hosts.join(", ")));
    if !can_confine(&world) {
        return;
    }
    let own = command(&world, &["run", "../tasks.yaml", "--ui", "plain"]);
    let mut names = world.command_of("unshare");
    names.current_dir(own.get_current_dir().unwrap());
    names.args(["-n", "-m", super::escapes::python(), "-c", NAMES]).arg(world.root());
    names.arg(own.get_program()).args(own.get_args());
    let ended = world.spawn(&mut names).ended().expect(0);
    assert_eq!(tried(&world, "names"), 18, "{}", ended.stderr);
    let asked = std::fs::read_to_string(world.root().join("asked.txt")).unwrap();
    for host in hosts {
        assert!(asked.contains(&host), "{host} was not looked up: {asked} {}", ended.stderr);
    }
    assert!(!asked.contains("secret"), "{asked}");
    assert_eq!(std::fs::read_to_string(world.root().join("reached.txt")).unwrap(), "", "{asked}");
}

#[test]
fn off_is_no_network_at_all_for_a_command() {
    let mut world = world("", "");
    if !can_confine(&world) {
        return;
    }
    let (sink, leaked) = server("127.0.0.1:0", |_| page("reached-the-sink")).unwrap();
    let script = format!(
        "cat /proc/net/dev | grep -c : > links.txt; env | grep -ci _proxy > proxies.txt; curl -s --max-time 5 http://127.0.0.1:{sink}/ > x.txt; curl -s --max-time 5 http://example.com/ >> x.txt; true"
    );
    world.write("tasks.yaml", &format!("tasks: [{{ id: t, run: '{script}', network: off }}]\n"));
    world.set("HTTP_PROXY", format!("http://127.0.0.1:{sink}"));
    run(&world, crate::confinement::User::Own).expect(0);
    assert_eq!(landed(&world, "links.txt"), "1\n", "loopback alone");
    assert_eq!(landed(&world, "proxies.txt"), "0\n");
    assert_eq!(landed(&world, "x.txt"), "");
    assert_eq!(leaked.load(Ordering::SeqCst), 0);
}
