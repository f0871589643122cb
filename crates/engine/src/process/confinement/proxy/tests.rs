//! Tricks to get out by way of the proxy, against servers that count who comes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;

use super::*;

/// A server on loopback that says one word, and how often it was reached.
async fn server() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let reached = count.clone();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            reached.fetch_add(1, Ordering::SeqCst);
            let _ = client
                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
                .await;
        }
    });
    (port, count)
}

struct World {
    _folder: tempfile::TempDir,
    _proxy: Proxy,
    socket: std::path::PathBuf,
    heard: Arc<Mutex<Vec<Decided>>>,
}

fn world(rules: &[String]) -> World {
    let folder = tempfile::tempdir().unwrap();
    // Longer than the name of a socket can be.
    let deep = folder.path().join("a".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let (socket, heard) = (deep.join("proxy"), Arc::new(Mutex::new(Vec::new())));
    let rules = rules.iter().map(|rule| HostRule::parse(rule).unwrap()).collect();
    let list = heard.clone();
    let proxy =
        Proxy::start(&socket, rules, Arc::new(move |decided| list.lock().unwrap().push(decided))).unwrap();
    World { _folder: folder, _proxy: proxy, socket, heard }
}

impl World {
    /// All that is answered to these bytes.
    async fn ask(&self, bytes: &[u8]) -> String {
        let folder = std::fs::File::open(self.socket.parent().unwrap()).unwrap();
        let short = format!("/proc/self/fd/{}/proxy", folder.as_raw_fd());
        let mut client = UnixStream::connect(short).await.unwrap();
        client.write_all(bytes).await.unwrap();
        let _ = client.shutdown().await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn socks(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 5, 1, 0, kind];
    if kind == 3 {
        bytes.push(u8::try_from(address.len()).unwrap());
    }
    bytes.extend(address);
    bytes.extend(port.to_be_bytes());
    bytes
}

#[tokio::test]
async fn what_is_listed_by_its_port_is_reached_in_every_way() {
    let (port, count) = server().await;
    let world = world(&[format!("localhost:{port}"), format!("127.0.0.1:{port}")]);
    let connect = world.ask(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(connect.starts_with("HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK"), "{connect}");
    let get = format!("GET http://LOCALHOST.:{port}/x HTTP/1.1\r\nHost: other\r\n\r\n");
    assert!(world.ask(get.as_bytes()).await.ends_with("hello"));
    assert!(world.ask(&socks(3, b"localhost", port)).await.ends_with("hello"));
    assert!(world.ask(&socks(1, &[127, 0, 0, 1], port)).await.ends_with("hello"));
    assert_eq!(count.load(Ordering::SeqCst), 4);
    let heard = world.heard.lock().unwrap();
    assert!(heard.iter().all(|decided| decided.verdict == Verdict::Reached), "{heard:?}");
}

#[tokio::test]
async fn no_trick_reaches_what_is_not_listed() {
    let (port, count) = server().await;
    // The name leads to loopback; without its port on the list it is any name, which must lead to the internet.
    let world =
        world(&["localhost".into(), "127.0.0.1".into(), "allowed.example".into(), "*.below.example".into()]);
    let hosts = [
        "127.0.0.1",
        "localhost",
        "LOCALHOST.",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "0.0.0.0",
        "0",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "169.254.169.254",
        "evil.example",
        "allowed.example.evil.example",
        "evilallowed.example",
        "below.example",
        "xbelow.example",
        "allowed.example@127.0.0.1",
        "127.0.0.1#allowed.example",
        "allowed.example\0.evil.example",
        "allowed.example%00",
        "allowed.example\t127.0.0.1",
        "[fe80::1%25lo]",
        "",
        "allowed.example:80@127.0.0.1",
    ];
    for host in hosts {
        let connect = world.ask(format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(connect.starts_with("HTTP/1.1 4"), "{host:?}: {connect}");
        let get = world.ask(format!("GET http://{host}:{port}/ HTTP/1.1\r\n\r\n").as_bytes()).await;
        assert!(get.starts_with("HTTP/1.1 4") || get.is_empty(), "{host:?}: {get}");
        if host.len() < 255 {
            let socks = world.ask(&socks(3, host.as_bytes(), port)).await;
            assert!(!socks.contains("hello"), "{host:?}: {socks}");
        }
    }
    for (kind, address) in [(1, vec![127, 0, 0, 1]), (4, [vec![0; 15], vec![1]].concat())] {
        assert!(!world.ask(&socks(kind, &address, port)).await.contains("hello"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 0, "0 leaks");
}

#[tokio::test]
async fn a_listed_name_leads_to_no_private_address() {
    let (port, count) = server().await;
    let world = world(&["localhost".into()]);
    // Its usual ports are listed, and it is still this machine.
    let refused = world.ask(b"CONNECT localhost:443 HTTP/1.1\r\n\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("this machine"), "{refused}");
    let unlisted = world.ask(format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n").as_bytes()).await;
    assert!(unlisted.contains("not listed"), "{unlisted}");
    let verdicts: Vec<Verdict> = world.heard.lock().unwrap().iter().map(|decided| decided.verdict).collect();
    assert_eq!(verdicts, [Verdict::Private, Verdict::Unlisted]);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_is_no_request_gets_no_further() {
    let (port, count) = server().await;
    let world = world(&[format!("localhost:{port}")]);
    let long = format!("GET http://localhost:{port}/{} HTTP/1.1\r\n\r\n", "x".repeat(200_000));
    for bytes in [
        &b""[..],
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost HTTP/1.1\r\n\r\n",
        b"CONNECT localhost:0x50 HTTP/1.1\r\n\r\n",
        b"GET ftp://localhost/ HTTP/1.1\r\n\r\n",
        b"\x04\x01\x00\x50\x7f\x00\x00\x01\x00",
        b"\x05\x01\x02",
        b"\x05\x01\x00\x05\x03\x00\x01\x7f\x00\x00\x01\x00\x50",
        long.as_bytes(),
    ] {
        let answer = world.ask(bytes).await;
        assert!(!answer.contains("hello"), "{answer}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 0);
}
