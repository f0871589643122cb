//! What a client of the proxy asks for, in any of the ways it may ask, and how it is answered.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::Verdict;

/// The longest head of a request.
const LONGEST: usize = 64 * 1024;

const SOCKS: u8 = 5;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) host: String,
    pub(super) port: u16,
    /// What goes to the server before all else.
    pub(super) first: Vec<u8>,
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Connect,
    /// A plain request, passed on.
    Request,
    Socks,
}

/// Nothing where it is no request that could be answered.
pub(super) async fn read<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S) -> io::Result<Option<Asked>> {
    match client.read_u8().await? {
        SOCKS => socks(client).await,
        first => http(client, first).await,
    }
}

async fn socks<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S) -> io::Result<Option<Asked>> {
    const NO_SIGN_IN: u8 = 0;
    const NONE_OF_THESE: u8 = 0xff;
    let mut methods = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&NO_SIGN_IN) {
        client.write_all(&[SOCKS, NONE_OF_THESE]).await?;
        return Ok(None);
    }
    client.write_all(&[SOCKS, NO_SIGN_IN]).await?;
    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [SOCKS, command, _, kind] = head else { return Ok(None) };
    let host = match kind {
        1 => {
            let mut address = [0; 4];
            client.read_exact(&mut address).await?;
            std::net::Ipv4Addr::from(address).to_string()
        }
        3 => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            // What is not text is no host, and is refused as such.
            String::from_utf8_lossy(&name).into_owned()
        }
        4 => {
            let mut address = [0; 16];
            client.read_exact(&mut address).await?;
            std::net::Ipv6Addr::from(address).to_string()
        }
        _ => return Ok(None),
    };
    let port = client.read_u16().await?;
    if command != 1 {
        // Neither to listen nor to send datagrams.
        client.write_all(&answer(7)).await?;
        return Ok(None);
    }
    Ok(Some(Asked { host, port, first: Vec::new(), way: Way::Socks }))
}

fn answer(code: u8) -> [u8; 10] {
    [SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

async fn http<S: AsyncRead + AsyncWrite + Unpin>(client: &mut S, first: u8) -> io::Result<Option<Asked>> {
    let mut head = vec![first];
    let end = loop {
        if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
            break end;
        }
        if head.len() > LONGEST || client.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    };
    let rest = head.split_off(end + 4);
    let asked = String::from_utf8(head).ok().and_then(|head| asked(&head, rest));
    if asked.is_none() {
        client.write_all(&page(400, "Bad Request", "it is no request to a proxy")).await?;
    }
    Ok(asked)
}

fn asked(head: &str, rest: Vec<u8>) -> Option<Asked> {
    let (line, headers) = head.split_once("\r\n")?;
    let mut words = line.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || !version.starts_with("HTTP/1.") {
        return None;
    }
    if method == "CONNECT" {
        let (host, port) = target.rsplit_once(':')?;
        return Some(Asked {
            host: host.to_owned(),
            port: port.parse().ok()?,
            first: rest,
            way: Way::Connect,
        });
    }
    let scheme = target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))?;
    let after = &target[scheme.len()..];
    let (authority, path) = after.split_at(after.find(['/', '?', '#']).unwrap_or(after.len()));
    let (host, port) = match authority.rsplit_once(':').filter(|_| !authority.ends_with(']')) {
        Some((host, port)) => (host, port.parse().ok()?),
        None => (authority, 80),
    };
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    // One request for each connection: the next one may be for another host. And what it says of the host is what was decided.
    let mut text = format!("{method} {path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
    for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
        let (name, _) = header.split_once(':')?;
        let is_ours = ["host", "connection", "proxy-connection", "proxy-authorization", "keep-alive"];
        if !is_ours.contains(&name.trim().to_ascii_lowercase().as_str()) {
            text += &format!("{header}\r\n");
        }
    }
    let first = [(text + "\r\n").into_bytes(), rest].concat();
    Some(Asked { host: host.to_owned(), port, first, way: Way::Request })
}

impl Asked {
    /// What the client is told before anything comes from the server.
    pub(super) fn consent(&self) -> &'static [u8] {
        const REACHED: [u8; 10] = [SOCKS, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        match self.way {
            Way::Connect => b"HTTP/1.1 200 Connection established\r\n\r\n",
            Way::Request => b"",
            Way::Socks => &REACHED,
        }
    }

    pub(super) fn refusal(&self, target: &str, verdict: Verdict) -> Vec<u8> {
        let is_absent = verdict == Verdict::Absent;
        match self.way {
            Way::Socks => answer(if is_absent { 4 } else { 2 }).to_vec(),
            _ if is_absent => page(502, "Bad Gateway", &format!("{target} is not reached: {verdict}")),
            _ => page(403, "Forbidden", &format!("{target} is not reached: {verdict}")),
        }
    }
}

fn page(code: u16, name: &str, why: &str) -> Vec<u8> {
    let body = format!("conductor: {why}\n");
    let length = body.len();
    format!(
        "HTTP/1.1 {code} {name}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
