//! What an agent with a limited network reaches, and that no trick gets it further.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::confinement::{can_confine, landed, run, users, world};

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

const SCRIPT: &str = r#"
out="$PWD/result.txt"
n=0
try() {
    n=$((n + 1))
    if timeout 10 sh -c "$2" > said 2>&1 && grep -q reached-the-sink said; then echo "LEAKED $1" >> "$out"; fi
}
proxy="$HTTP_PROXY"
bare="env -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY -u http_proxy -u https_proxy -u all_proxy -u NO_PROXY -u no_proxy"
curl -s --max-time 5 http://localhost:ALLOWED/ > allowed.txt
curl -s --max-time 5 --noproxy '' -x "$proxy" http://127.0.0.1:ALLOWED/ > by-number.txt
curl -s --max-time 5 --noproxy '' -x "socks5h://${proxy#http://}" http://localhost:ALLOWED/ > socks.txt
try "loopback" "curl -s --max-time 5 http://127.0.0.1:SINK/"
try "loopback without the proxy" "$bare curl -s --max-time 5 http://127.0.0.1:SINK/"
try "loopback by name" "curl -s --max-time 5 --noproxy '*' http://localhost:SINK/"
try "loopback of the newer kind" "$bare curl -s --max-time 5 'http://[::1]:SINK6/'"
for host in 127.0.0.1 localhost LOCALHOST. 127.1 0 0.0.0.0 2130706433 0x7f000001 0177.0.0.1 '[::1]' '[::ffff:127.0.0.1]' 'localhost%00.example' ADDRESS; do
    try "the proxy, to $host" "curl -s --max-time 5 --noproxy '' -x $proxy 'http://$host:SINK/'"
    try "a tunnel, to $host" "curl -s --max-time 5 --noproxy '' -p -x $proxy 'http://$host:SINK/'"
done
try "socks" "curl -s --max-time 5 --noproxy '' -x socks5h://${proxy#http://} http://127.0.0.1:SINK/"
try "socks, looked up here" "curl -s --max-time 5 --noproxy '' -x socks5://${proxy#http://} http://localhost:SINK/"
try "a redirect" "curl -s -L --max-time 5 http://localhost:ALLOWED/redirect"
try "another host's name in the request" "curl -s --max-time 5 --noproxy '' -x $proxy -H 'Host: 127.0.0.1:SINK' http://localhost:ALLOWED/ | grep reached-the-sink"
try "a second request in one tunnel" "printf 'GET http://localhost:ALLOWED/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://127.0.0.1:SINK/ HTTP/1.1\r\nHost: x\r\n\r\n' | python3 -c 'import socket, sys; s = socket.create_connection((\"127.0.0.1\", int(\"$proxy\".rsplit(\":\", 1)[1]))); s.sendall(sys.stdin.buffer.read()); print(s.recv(65536), s.recv(65536))'"
try "this machine's address" "$bare curl -s --max-time 5 http://ADDRESS:SINK/"
try "a shell's own sockets" "bash -c 'exec 3<>/dev/tcp/127.0.0.1/SINK; echo >&3; cat <&3'"
try "a datagram" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b\"x\", (\"127.0.0.1\", DATAGRAMS)); s.sendto(b\"x\", (\"ADDRESS\", DATAGRAMS))'"
try "a question to a name server" "python3 -c 'import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.sendto(b\"\\x00\\x01\\x01\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x06secret\\x07example\\x00\\x00\\x01\\x00\\x01\", (\"127.0.0.1\", DATAGRAMS)); s.recv(512)'"
try "a raw socket" "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print(\"reached-the-sink\")'"
try "a packet socket" "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(\"reached-the-sink\")'"
try "an abstract socket" "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(b\"\\0ABSTRACT\"); print(\"reached-the-sink\")'"
try "the network of process 1" "nsenter -t 1 -n curl -s --max-time 5 http://127.0.0.1:SINK/"
try "a network of its own" "unshare -Urn sh -c 'ip link set lo up; curl -s --max-time 5 http://127.0.0.1:SINK/'"
try "git" "git -c http.proxy= ls-remote http://127.0.0.1:SINK/x 2>&1"
try "a listening proxy command" "python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", int(\"$proxy\".rsplit(\":\", 1)[1]))); s.sendall(b\"\\5\\1\\0\\5\\2\\0\\1\\0\\0\\0\\0\\0\\0\"); print(s.recv(99), s.recv(99))'"
rm -f said
echo "tried $n" >> "$out"
"#;

#[test]
fn nothing_leaks_from_a_limited_network() {
    for user in users() {
        let probe = world("", "");
        if !can_confine(&probe) {
            return;
        }
        // The way out of this machine, if it has one: what listens everywhere is reached at that address, too.
        let own =
            UdpSocket::bind("0.0.0.0:0").and_then(|one| one.connect("192.0.2.1:9").and(one.local_addr()));
        let own = own.map_or("127.0.0.2".to_owned(), |own| own.ip().to_string());
        let (sink, leaked) = server("0.0.0.0:0", |_| page("reached-the-sink")).unwrap();
        let sink6 = server("[::1]:0", |_| page("reached-the-sink"));
        let redirect = format!(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{sink}/\r\nConnection: close\r\nContent-Length: 7\r\n\r\nallowed"
        );
        let (allowed, reached) = server("127.0.0.1:0", |_| redirect.clone()).unwrap();
        let datagrams = UdpSocket::bind("0.0.0.0:0").unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let name = format!("conductor-{}", fastrand::u64(..));
        let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        hidden.set_nonblocking(true).unwrap();
        let named = [
            ("SINK6", sink6.as_ref().map_or(sink, |(port, _)| *port).to_string()),
            ("SINK", sink.to_string()),
            ("ALLOWED", allowed.to_string()),
            ("DATAGRAMS", datagrams.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", name),
            ("ADDRESS", own),
        ];
        let script = named.iter().fold(SCRIPT.to_owned(), |text, (name, value)| text.replace(name, value));
        let list = format!(", network: {{ allow: ['localhost:{allowed}', '127.0.0.1:{allowed}'] }}");
        let world = world(&script, &list);
        let ended = run(&world, user).expect(0);
        for file in ["allowed.txt", "by-number.txt", "socks.txt"] {
            assert_eq!(landed(&world, file), "allowed", "{user:?} {file}: {}", ended.stderr);
        }
        let result = landed(&world, "result.txt");
        assert!(!result.contains("LEAKED"), "{user:?}: {result}");
        let tried: u32 = result.trim().strip_prefix("tried ").unwrap_or("0").parse().unwrap();
        assert!(tried >= 20, "{result}");
        assert!(reached.load(Ordering::SeqCst) >= 3);
        assert_eq!(leaked.load(Ordering::SeqCst), 0, "{user:?}");
        assert_eq!(sink6.map_or(0, |(_, leaked)| leaked.load(Ordering::SeqCst)), 0, "{user:?}");
        assert!(datagrams.recv(&mut [0; 512]).is_err(), "{user:?}: a datagram came through");
        assert!(hidden.accept().is_err(), "{user:?}: the abstract socket was reached");
        ended.says("which is not reached: it is not listed under network: allow");
    }
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
