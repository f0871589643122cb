//! TLS: with a certificate other machines are let in, by no other way; one that cannot be used is refused before a port is
//! taken.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::client::{Answer, Served, free_port};
use crate::harness::{Ended, World};

/// A certificate for these names, signed by itself, and its key.
fn certificate(world: &World, name: &str) -> (String, String) {
    let (certificate, key) = (world.path(&format!("{name}.pem")), world.path(&format!("{name}.key")));
    let mut openssl = world.command_of("openssl");
    openssl.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    openssl.args(["-days", "2", "-subj", "/CN=build.example.org"]);
    openssl.args(["-addext", "subjectAltName=DNS:build.example.org,DNS:localhost,IP:127.0.0.1"]);
    let made = openssl.arg("-out").arg(&certificate).arg("-keyout").arg(&key).output();
    let made = made.expect("openssl is missing; `cargo xtask test` gets it");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    set_mode(&key, 0o600);
    (certificate.display().to_string(), key.display().to_string())
}

fn set_mode(path: &PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// `curl` with these words, which trusts that certificate alone.
fn curl(world: &World, trusted: &str, words: &[&str]) -> Ended {
    let mut curl = world.command_of("curl");
    curl.args(["-sS", "--max-time", "30", "--cacert", trusted]).args(words);
    world.spawn(&mut curl).ended()
}

#[test]
fn with_a_certificate_the_server_speaks_https_and_nothing_else() {
    let world = World::new();
    let (cert, key) = certificate(&world, "own");
    let served = Served::with(&world, &["--tls-cert", &cert, "--tls-key", &key]);
    let port = served.address.port();
    let bearer = format!("Authorization: Bearer {}", served.owner());
    let url = format!("https://localhost:{port}");
    let me = curl(&world, &cert, &["-H", &bearer, &format!("{url}/api/me")]).expect(0);
    assert_eq!(me.json()["user"], "owner");
    // The old versions of TLS are not spoken.
    assert_ne!(curl(&world, &cert, &["--tls-max", "1.1", &format!("{url}/healthz")]).code, Some(0));
    // Nothing is answered to plain HTTP, least of all with a credential in it.
    let Answer { status, body, .. } = served.ask("GET", "/healthz", &[], "");
    assert_eq!((status, body.as_str()), (0, ""));
    assert_ne!(curl(&world, &cert, &[&format!("http://localhost:{port}/healthz")]).code, Some(0));
    // A client that does not know the certificate is not talked into it.
    let other = certificate(&world, "other").0;
    curl(&world, &other, &[&format!("{url}/healthz")]).expect(60);
    // A page of the same server over plain HTTP is another page.
    let plain = format!("Origin: http://localhost:{port}");
    let answer = curl(&world, &cert, &["-H", &bearer, "-H", &plain, &format!("{url}/api/me")]).expect(0);
    assert_eq!(answer.json()["status"], 403);
    assert_eq!(served.stop().code, Some(0));
}

#[test]
fn a_cookie_of_a_server_with_tls_never_goes_over_plain_http() {
    let world = World::new();
    let (cert, key) = certificate(&world, "own");
    world.conductor_with_input(&["user", "add", "ann", "--role", "viewer"], b"a long password\n").expect(0);
    let served =
        Served::with(&world, &["--host", "build.example.org", "--tls-cert", &cert, "--tls-key", &key]);
    let port = served.address.port();
    let at = format!("build.example.org:{port}:127.0.0.1");
    let login = [
        "-i",
        "--resolve",
        &at,
        "-H",
        "Content-Type: application/json",
        "-d",
        r#"{"name": "ann", "password": "a long password"}"#,
        &format!("https://build.example.org:{port}/api/login"),
    ];
    let answer = curl(&world, &cert, &login).expect(0).stdout.to_ascii_lowercase();
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie:")).expect("a cookie").to_owned();
    assert!(cookie.contains("; secure") && cookie.contains("httponly"), "{cookie}");
}

#[test]
fn other_machines_are_let_in_only_with_tls() {
    let world = World::new();
    let everywhere = format!("0.0.0.0:{}", free_port().port());
    world
        .conductor(&["serve", "--bind", &everywhere])
        .expect(2)
        .says("can be reached from other machines")
        .says("--tls-cert");
    let (cert, key) = certificate(&world, "own");
    let mut served = Served::at(
        &world,
        everywhere.parse().unwrap(),
        &["--host", "build.example.org", "--tls-cert", &cert, "--tls-key", &key],
    );
    let port = served.address.port();
    let at = format!("build.example.org:{port}:127.0.0.1");
    let bearer = format!("Authorization: Bearer {}", served.owner());
    let me = ["-H", &bearer, "--resolve", &at, &format!("https://build.example.org:{port}/api/me")];
    assert_eq!(curl(&world, &cert, &me).expect(0).json()["user"], "owner");
    // The machine itself asks by its usual name.
    let local = ["-H", &bearer, &format!("https://localhost:{port}/api/me")];
    assert_eq!(curl(&world, &cert, &local).expect(0).json()["user"], "owner");
    // Any other name is refused, wherever it leads to.
    let wrong = ["-H", &bearer, "-H", "Host: evil.example", &format!("https://localhost:{port}/api/me")];
    assert_eq!(curl(&world, &cert, &wrong).expect(0).json()["status"], 403);
    served.kill();
}

#[test]
fn a_certificate_that_cannot_be_used_is_refused_with_the_reason() {
    let world = World::new();
    let ((cert, key), (other, _)) = (certificate(&world, "own"), certificate(&world, "other"));
    let bind = free_port().to_string();
    let serve = |cert: &str, key: &str| {
        world.conductor(&["serve", "--bind", &bind, "--tls-cert", cert, "--tls-key", key])
    };
    serve("nowhere.pem", &key).expect(2).says("nowhere.pem: ").says("No such file");
    serve(&cert, "nowhere.key").expect(2).says("nowhere.key: ").says("No such file");
    // What is in them is wrong: no PEM at all, the other one of the two, a key of another certificate.
    world.write("text.pem", "no certificate");
    serve("text.pem", &key).expect(2).says("text.pem: it has no certificate");
    serve(&key, &key).expect(2).says("own.key: it has no certificate");
    serve(&cert, &cert).expect(2).says("own.pem: ");
    serve(&other, &key).expect(2).says("own.key: ").says("does not belong to the certificate");
    set_mode(&PathBuf::from(&key), 0o644);
    serve(&cert, &key).expect(2).says("own.key: every user of this machine can read").says("chmod o=");
    set_mode(&PathBuf::from(&key), 0o640);
    let served = Served::with(&world, &["--tls-cert", &cert, "--tls-key", &key]);
    assert_eq!(served.stop().code, Some(0), "a group may read it");
    world.conductor(&["serve", "--bind", &bind, "--tls-cert", &cert]).expect(2).says("--tls-key");
}
