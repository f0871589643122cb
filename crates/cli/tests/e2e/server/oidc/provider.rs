//! An identity provider on loopback: discovery, keys, a login that is always good, and ID tokens of real keys.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub(super) const CLIENT: &str = "conductor-test";
/// Characters that have to be encoded twice over.
pub(super) const SECRET: &str = "s3cr:t/+ü";

/// A key with its name.
pub(super) struct Key {
    kid: String,
    pair: Pair,
}

enum Pair {
    Ec(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl Key {
    pub(super) fn ec(kid: &str) -> Key {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        Key { kid: kid.to_owned(), pair: Pair::Ec(pair) }
    }

    /// Made by OpenSSL, as `ring` makes none; nothing where that is not installed.
    pub(super) fn rsa(kid: &str) -> Option<Key> {
        let made = std::process::Command::new("openssl")
            .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-outform", "DER"])
            .output()
            .ok()?;
        // Which of the two forms it writes depends on its version.
        let pair =
            RsaKeyPair::from_der(&made.stdout).or_else(|_| RsaKeyPair::from_pkcs8(&made.stdout)).unwrap();
        Some(Key { kid: kid.to_owned(), pair: Pair::Rsa(pair) })
    }

    fn algorithm(&self) -> &'static str {
        match self.pair {
            Pair::Ec(_) => "ES256",
            Pair::Rsa(_) => "RS256",
        }
    }

    fn listed(&self) -> Value {
        match &self.pair {
            Pair::Ec(pair) => {
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": self.kid, "x": BASE64.encode(x), "y": BASE64.encode(y) })
            }
            Pair::Rsa(pair) => {
                let parts = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({ "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": BASE64.encode(&parts.n),
                    "e": BASE64.encode(&parts.e) })
            }
        }
    }

    fn signed(&self, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm(), "kid": self.kid, "typ": "JWT" });
        let text = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match &self.pair {
            Pair::Ec(pair) => pair.sign(&random, text.as_bytes()).unwrap().as_ref().to_vec(),
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).unwrap();
                signature
            }
        };
        format!("{text}.{}", BASE64.encode(signature))
    }
}

/// What it does, as a test wants it.
pub(super) struct Manner {
    pub(super) signs_with: Key,
    pub(super) lists: Vec<Value>,
    /// Put over the usual claims; null takes one away.
    pub(super) claims: Value,
    /// In place of a signed token.
    pub(super) token: Option<fn(&str) -> String>,
    /// How often its keys were asked for.
    pub(super) key_requests: u32,
    logins: HashMap<String, HashMap<String, String>>,
}

pub(super) struct Provider {
    pub(super) issuer: String,
    manner: Arc<Mutex<Manner>>,
}

impl Provider {
    pub(super) fn start(key: Key) -> Provider {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let lists = vec![json!({ "kty": "oct", "k": "AAAA" }), key.listed()];
        let manner = Manner {
            signs_with: key,
            lists,
            claims: json!({}),
            token: None,
            key_requests: 0,
            logins: HashMap::new(),
        };
        let manner = Arc::new(Mutex::new(manner));
        let (shared, name) = (manner.clone(), issuer.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, name) = (shared.clone(), name.clone());
                std::thread::spawn(move || serve(&stream, &shared, &name));
            }
        });
        Provider { issuer, manner }
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Manner) -> T) -> T {
        change(&mut self.manner.lock().unwrap())
    }

    /// From now on it says this of a person.
    pub(super) fn says(&self, claims: Value) {
        self.change(|manner| manner.claims = claims);
    }

    /// Signs with another key; whether it lists that one is the test's.
    pub(super) fn rotate(&self, key: Key, is_listed: bool) {
        self.change(|manner| {
            if is_listed {
                manner.lists = vec![key.listed()];
            }
            manner.signs_with = key;
        });
    }
}

fn serve(stream: &TcpStream, manner: &Mutex<Manner>, issuer: &str) {
    let mut reader = BufReader::new(stream);
    let (mut lines, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        lines.push(line.trim().to_owned());
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let target = lines[0].split(' ').nth(1).unwrap().to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut manner = manner.lock().unwrap();
    let answer = match path {
        "/.well-known/openid-configuration" => Some(json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/keys"),
        })),
        "/keys" => {
            manner.key_requests += 1;
            Some(json!({ "keys": manner.lists }))
        }
        "/authorize" => return redirect(stream, &mut manner, form(query), issuer),
        "/token" => token(&manner, &lines, &form(&String::from_utf8(body).unwrap()), issuer),
        _ => None,
    };
    let (status, text) = match answer {
        Some(answer) => ("200 OK", answer.to_string()),
        None => ("400 Bad Request", json!({ "error": "invalid_grant" }).to_string()),
    };
    reply(stream, &format!("{status}\r\nContent-Type: application/json"), &text);
}

fn reply(mut stream: &TcpStream, head: &str, text: &str) {
    let _ = write!(
        stream,
        "HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
}

/// As if the person had logged in.
fn redirect(stream: &TcpStream, manner: &mut Manner, asked: HashMap<String, String>, issuer: &str) {
    assert_eq!((asked["response_type"].as_str(), asked["client_id"].as_str()), ("code", CLIENT));
    assert_eq!(asked["code_challenge_method"], "S256");
    assert!(asked["scope"].split(' ').any(|scope| scope == "openid"), "{asked:?}");
    let code = format!("code-{}", manner.logins.len());
    let back = format!(
        "{}?code={code}&state={}&iss={}",
        asked["redirect_uri"],
        asked["state"],
        issuer.replace('/', "%2F")
    );
    manner.logins.insert(code, asked);
    reply(stream, &format!("302 Found\r\nLocation: {back}"), "");
}

/// The ID token for a code, where everything fits.
fn token(manner: &Manner, head: &[String], asked: &HashMap<String, String>, issuer: &str) -> Option<Value> {
    let login = manner.logins.get(asked.get("code")?)?;
    let challenge = BASE64.encode(Sha256::digest(asked.get("code_verifier")?));
    let encoded =
        |text: &str| text.replace(':', "%3A").replace('/', "%2F").replace('+', "%2B").replace('ü', "%C3%BC");
    let basic = format!("Basic {}", BASE64_STANDARD.encode(format!("{CLIENT}:{}", encoded(SECRET))));
    let is_client = head.iter().any(|line| {
        line.split_once(": ")
            .is_some_and(|(name, value)| name.eq_ignore_ascii_case("authorization") && value == basic)
    });
    let fits = asked["grant_type"] == "authorization_code"
        && challenge == login["code_challenge"]
        && asked.get("redirect_uri") == login.get("redirect_uri")
        && is_client;
    if !fits {
        return None;
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({
        "iss": issuer, "aud": CLIENT, "sub": "7", "exp": now + 300, "iat": now, "nonce": login["nonce"],
        "email": "ann@example.org", "email_verified": true, "groups": ["staff"],
    });
    for (name, value) in manner.claims.as_object().unwrap() {
        match value.is_null() {
            true => drop(claims.as_object_mut().unwrap().remove(name)),
            false => claims[name] = value.clone(),
        }
    }
    let token = manner.signs_with.signed(&claims);
    let token = manner.token.map_or(token.clone(), |change| change(&token));
    Some(json!({ "access_token": "x", "token_type": "Bearer", "id_token": token }))
}

pub(super) fn form(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).unwrap()
}
