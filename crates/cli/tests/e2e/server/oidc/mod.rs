//! Logging in by an identity provider. Built with the feature `oidc`.

mod provider;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use serde_json::{Value, json};

use super::client::{Answer, Served};
use crate::harness::{World, skipped};
use provider::{CLIENT, Key, Provider, SECRET};

const START: &str = "/api/login/oidc";

fn world() -> World {
    let world = World::in_place("tasks: [{ id: a, run: 'true' }]");
    world.write("secret", &format!("{SECRET}\n"));
    world.conductor(&["project", "add", "--id", "web"]).expect(0);
    world
}

fn served<'w>(world: &'w World, provider: &Provider) -> Served<'w> {
    let words = [
        "--oidc-issuer",
        &provider.issuer,
        "--oidc-client-id",
        CLIENT,
        "--oidc-client-secret-file",
        "secret",
    ];
    Served::with(
        world,
        &[&words[..], &["--oidc-role", "staff=viewer@web", "--oidc-role", "ops=admin"]].concat(),
    )
}

/// A browser that has come back from the provider, and not yet to the server.
struct Returning {
    path: String,
    cookie: String,
}

fn host(served: &Served<'_>) -> String {
    format!("conductor.localhost:{}", served.address.port())
}

fn go(served: &Served<'_>, path: &str, cookie: &str) -> Answer {
    served.ask("GET", path, &[("Host", &host(served)), ("Cookie", cookie)], "")
}

/// To the provider and back, as a browser goes.
#[track_caller]
fn depart(served: &Served<'_>) -> Returning {
    let sent = go(served, START, "").expect(303);
    let cookie = sent.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let location = sent.header("location").unwrap();
    let (address, path) = location.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let back = text.lines().find_map(|line| line.strip_prefix("Location: ")).unwrap();
    let path = back.strip_prefix(&format!("http://{}", host(served))).unwrap().to_owned();
    Returning { path, cookie: cookie.split(';').next().unwrap().to_owned() }
}

fn arrive(served: &Served<'_>) -> Answer {
    let Returning { path, cookie } = depart(served);
    go(served, &path, &cookie)
}

/// Of all cookies that were set, the session's.
fn session(answer: &Answer) -> String {
    let cookie = answer.head.lines().find(|line| line.contains("conductor_session=")).unwrap();
    assert!(cookie.contains("SameSite=Strict") && cookie.contains("HttpOnly"), "{cookie}");
    cookie.split_once(": ").unwrap().1.split(';').next().unwrap().to_owned()
}

#[track_caller]
fn logged_in(served: &Served<'_>) -> (String, Value) {
    let answer = arrive(served).expect(200);
    let cookie = session(&answer);
    let me = go(served, "/api/me", &cookie).expect(200).json();
    (cookie, me)
}

#[track_caller]
fn refused(served: &Served<'_>, status: u16, words: &str) {
    let answer = arrive(served).expect(status);
    assert!(!answer.head.contains("conductor_session=cds_"), "{}", answer.head);
    let problem = answer.json();
    assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
}

#[test]
fn a_person_logs_in_and_has_the_roles_of_the_groups() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let mut served = served(&world, &provider);
    let (cookie, me) = logged_in(&served);
    assert_eq!(
        (&me["user"], &me["role"], &me["by"]),
        (&json!("ann@example.org"), &json!("viewer"), &json!("session"))
    );
    go(&served, "/api/projects/web", &cookie).expect(200);
    go(&served, "/api/users", &cookie).expect(403);
    // No run and no session depends on the server's process.
    served.kill();
    served.begin();
    go(&served, "/api/projects/web", &cookie).expect(200);
    provider.says(json!({ "groups": ["ops", "other"] }));
    let (admin, me) = logged_in(&served);
    assert_eq!(me["role"], "admin");
    let record = go(&served, "/api/audit", &admin).expect(200).json();
    let entries = record["entries"].as_array().unwrap();
    let noted = |entry: &Value| entry["who"] == "ann@example.org" && entry["by"] == "identity provider";
    assert!(entries.iter().any(|entry| noted(entry) && entry["status"] == 200), "{record}");
    let body = json!({ "name": "mine" }).to_string();
    let headers = [("Host", host(&served)), ("Cookie", cookie), ("Content-Type", "application/json".into())];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let token = served.ask("POST", "/api/tokens", &headers, &body).expect(403);
    assert!(token.body.contains("conductor user add ann@example.org --no-password"), "{}", token.body);
    assert!(!entries.iter().any(|entry| entry.to_string().contains("code-")), "{record}");
}

#[test]
fn rsa_keys_are_as_good() {
    let Some(key) = Key::rsa("r1") else { return skipped("openssl is not installed") };
    let (world, provider) = (world(), Provider::start(key));
    let served = served(&world, &provider);
    logged_in(&served);
    provider.rotate(Key::rsa("r1").unwrap(), false);
    refused(&served, 401, "signature is wrong");
}

#[test]
fn a_token_that_does_not_fit_is_refused() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let served = served(&world, &provider);
    for (claims, words) in [
        (json!({ "nonce": "another" }), "answers another login"),
        (json!({ "nonce": null }), "answers another login"),
        (json!({ "aud": "another-program" }), "for another program"),
        (json!({ "aud": [CLIENT, "another-program"] }), "for another program"),
        (json!({ "iss": "https://evil.example" }), "of another issuer"),
        (json!({ "exp": 1_000_000 }), "has expired"),
        (json!({ "sub": null, "email": null }), "does not say who it is"),
    ] {
        provider.says(claims);
        refused(&served, 401, words);
    }
    let served_again = self::served(&world, &provider);
    provider.says(json!({}));
    let unsigned = |token: &str| {
        let body = token.split('.').nth(1).unwrap();
        format!("{}.{body}.", BASE64.encode(r#"{"alg":"none"}"#))
    };
    provider.change(|manner| manner.token = Some(unsigned));
    refused(&served_again, 401, "only RS256 and ES256");
    provider.change(|manner| manner.token = Some(|token| token[..token.len() - 8].to_owned() + "AAAAAAAA"));
    refused(&served_again, 401, "signature is wrong");
    provider.change(|manner| manner.token = None);
    logged_in(&served_again);
}

#[test]
fn new_keys_are_found_and_others_are_refused() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let served = served(&world, &provider);
    logged_in(&served);
    logged_in(&served);
    assert_eq!(provider.change(|manner| manner.key_requests), 1, "keys that are known are not fetched again");
    provider.rotate(Key::ec("k2"), true);
    logged_in(&served);
    assert_eq!(provider.change(|manner| manner.key_requests), 2);
    provider.rotate(Key::ec("k3"), false);
    refused(&served, 401, "a key that the provider does not list");
    // A key of another maker under the name of a good one.
    provider.rotate(Key::ec("k2"), false);
    refused(&served, 401, "signature is wrong");
}

#[test]
fn a_login_is_good_once_and_in_its_own_browser() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let served = served(&world, &provider);
    let Returning { path, cookie } = depart(&served);
    // A link that another person sends, to have their login used here.
    go(&served, &path, "").expect(401);
    go(&served, &path, "conductor_login=another").expect(401);
    go(&served, &path, &cookie).expect(200);
    let again = go(&served, &path, &cookie).expect(401);
    assert!(again.body.contains("was used before"), "{}", again.body);
    let other = depart(&served);
    go(&served, &other.path.replace("state=", "state=x"), &other.cookie).expect(401);
    go(&served, &other.path.replace("iss=http", "iss=https"), &other.cookie).expect(401);
    go(&served, "/api/login/oidc/callback?code=1", &other.cookie).expect(422);
    let denied =
        go(&served, "/api/login/oidc/callback?error=access_denied&state=x", &other.cookie).expect(401);
    assert!(denied.body.contains("access_denied"), "{}", denied.body);
}

#[test]
fn guesses_are_slowed_down() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let served = served(&world, &provider);
    for _ in 0..10 {
        go(&served, "/api/login/oidc/callback?code=1&state=1", "").expect(401);
    }
    let slowed = go(&served, START, "").expect(429);
    assert!(slowed.header("retry-after").is_some());
}

#[test]
fn who_has_no_role_is_told_what_to_ask_for() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let served = served(&world, &provider);
    provider.says(json!({ "groups": ["visitors"] }));
    let answer = arrive(&served).expect(403);
    assert!(answer.body.contains("conductor user add ann@example.org --no-password"), "{}", answer.body);
    // An admin does what is asked for.
    world.conductor(&["user", "add", "ann@example.org", "--no-password", "--role", "operator"]).expect(0);
    let (cookie, me) = logged_in(&served);
    assert_eq!((&me["user"], &me["role"]), (&json!("ann@example.org"), &json!("operator")));
    // An address that the provider has not verified is no name.
    provider.says(json!({ "groups": [], "email_verified": false }));
    let stranger = arrive(&served).expect(403);
    assert!(stranger.body.contains("7@127.0.0.1"), "{}", stranger.body);
    // One without a password does not get in by one.
    for password in ["", "a long password"] {
        let body = json!({ "name": "ann@example.org", "password": password, "as": "token" }).to_string();
        served.ask("POST", "/api/login", &[("Content-Type", "application/json")], &body).expect(401);
    }
    // Who is disabled is out at once, whatever the groups say.
    world.conductor(&["user", "disable", "ann@example.org"]).expect(0);
    go(&served, "/api/me", &cookie).expect(401);
    provider.says(json!({ "groups": ["ops"] }));
    arrive(&served).expect(403);
}

#[test]
fn settings_are_checked_before_anything_is_served() {
    let (world, provider) = (world(), Provider::start(Key::ec("k1")));
    let serve = |more: &[&str]| {
        let words = ["serve", "--bind", "127.0.0.1:0", "--oidc-client-id", CLIENT];
        world.conductor(&[&words[..], more].concat())
    };
    serve(&["--oidc-issuer", "http://id.example.org"]).expect(2).says("has to be an https:// address");
    let with = |more: &[&str], code, words: &str| {
        serve(&[&["--oidc-issuer", provider.issuer.as_str()][..], more].concat()).expect(code).says(words);
    };
    with(&["--oidc-role", "staff=owner"], 2, "'staff=owner' is no rule");
    with(&["--oidc-role", "staff=viewer@nowhere"], 1, "nowhere");
    with(&["--oidc-client-secret-file", "missing"], 2, "cannot be read from missing");
    world.write("empty", "\n");
    with(&["--oidc-client-secret-file", "empty"], 2, "empty holds no secret");
}

#[test]
fn a_provider_that_is_away_or_another_is_told() {
    let world = world();
    let gone = format!("http://{}", super::client::free_port());
    let served = Served::with(&world, &["--oidc-issuer", &gone, "--oidc-client-id", CLIENT]);
    let answer = go(&served, START, "").expect(503);
    assert!(answer.body.contains("could not be reached"), "{}", answer.body);
    let provider = Provider::start(Key::ec("k1"));
    let other = provider.issuer.replace("127.0.0.1", "localhost");
    let served = Served::with(&world, &["--oidc-issuer", &other, "--oidc-client-id", CLIENT]);
    let answer = go(&served, START, "").expect(503);
    assert!(answer.body.contains("calls itself"), "{}", answer.body);
    // Other names have no cookie, and password logins stay as they are.
    let plain = served.ask("GET", START, &[], "").expect(422);
    assert!(plain.body.contains("conductor.localhost"), "{}", plain.body);
    let served = Served::start(&world);
    assert!(go(&served, START, "").expect(404).body.contains("no identity provider"));
}
