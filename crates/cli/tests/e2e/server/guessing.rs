//! Passwords that are guessed: one after the other, all at once, and by one who has an account.

use serde_json::json;

use super::access::world;
use super::client::Served;

#[test]
fn guessing_a_password_is_slowed_down() {
    let world = world();
    let served = Served::start(&world);
    let login = |password: &str| {
        let body = json!({ "name": "viewer", "password": password, "as": "token" });
        served.ask("POST", "/api/login", &[("Content-Type", "application/json")], &body.to_string())
    };
    let token = login("a long password").expect(200).json()["token"].as_str().unwrap().to_owned();
    served.by(&token, "GET", "/api/me", &json!({})).expect(200);
    for _ in 0..10 {
        login("a wrong password").expect(401);
    }
    let slowed = login("a long password").expect(429);
    assert!(slowed.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    // Who is disabled is out at once, sessions and all.
    world.conductor(&["user", "disable", "viewer"]).expect(0);
    served.by(&token, "GET", "/api/me", &json!({})).expect(401);
}

/// What is tried at once counts as much as what is tried one after the other, and who has an account gets no more of it.
#[test]
fn guesses_are_counted_before_they_are_looked_at() {
    let world = world();
    let login = |served: &Served<'_>, name: &str, password: &str| {
        let body = json!({ "name": name, "password": password, "as": "token" }).to_string();
        served.ask("POST", "/api/login", &[("Content-Type", "application/json")], &body).status
    };
    let served = Served::start(&world);
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let guess = || login(&served, "viewer", "a wrong password");
        let guesses: Vec<_> = (0..30).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!((statuses[9], statuses[10]), (401, 429), "{statuses:?}");
    drop(served);
    let served = Served::start(&world);
    for _ in 0..9 {
        assert_eq!(login(&served, "viewer", "a wrong password"), 401);
    }
    assert_eq!(login(&served, "operator", "a long password"), 200);
    assert_eq!(login(&served, "admin", "a wrong password"), 401);
    assert_eq!(login(&served, "operator", "a long password"), 429, "ten wrong ones came from here");
}
