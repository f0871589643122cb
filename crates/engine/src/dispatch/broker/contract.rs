//! What every broker promises: one body of tests, run on real servers of each kind.

use std::collections::BTreeSet;
use std::ops::AsyncFn;
use std::sync::Arc;
use std::time::Instant;

use conductor_testkit::servers::{RabbitMq, Redis, or_skip};

use super::*;

/// For a server that was started again to take what it is asked.
const PATIENCE: Duration = Duration::from_secs(60);

/// A time that is waited for only where something is wrong.
const LONG: Duration = Duration::from_secs(60);

const NOW: Duration = Duration::ZERO;

/// Short, so that no test waits for long; what it takes is looked at as a part of it.
const LEASES: Leases = Leases { redelivery: Duration::from_secs(5), deliveries: 3 };

/// A server that a test has for itself.
trait Server: Send {
    fn address(&self) -> String;
    fn kill(&mut self);
    fn begin(&mut self);
}

impl Server for Redis {
    fn address(&self) -> String {
        self.address()
    }

    fn kill(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin().unwrap();
    }
}

impl Server for RabbitMq {
    fn address(&self) -> String {
        self.address()
    }

    fn kill(&mut self) {
        self.kill();
    }

    fn begin(&mut self) {
        self.begin().unwrap();
    }
}

fn at(address: &str, leases: Leases) -> Arc<dyn Broker> {
    connect(Address::parse(address, Environment::default()).unwrap(), leases).unwrap()
}

fn queue(name: &str) -> Queue {
    Queue(name.to_owned())
}

/// Asks again while the broker is away, as its users do.
async fn patiently<T>(asked: impl AsyncFn() -> Result<T, BrokerError>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        match asked().await {
            Ok(answer) => return answer,
            Err(BrokerError::Away { .. }) if Instant::now() < until => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

async fn put(broker: &Arc<dyn Broker>, queue: &Queue, messages: &[&str]) {
    for message in messages {
        broker.put(queue, message.as_bytes()).await.unwrap();
    }
}

async fn take(
    broker: &Arc<dyn Broker>,
    queue: &Queue,
    most: usize,
    wait: Duration,
) -> Vec<(String, Receipt)> {
    let taken = broker.take(queue, most, wait).await.unwrap();
    taken.into_iter().map(|taken| (String::from_utf8(taken.message).unwrap(), taken.receipt)).collect()
}

fn words(taken: &[(String, Receipt)]) -> Vec<&str> {
    taken.iter().map(|(message, _)| message.as_str()).collect()
}

async fn settle(broker: &Arc<dyn Broker>, queue: &Queue, taken: &[(String, Receipt)]) {
    let receipts: Vec<Receipt> = taken.iter().map(|(_, receipt)| receipt.clone()).collect();
    broker.settle(queue, &receipts).await.unwrap();
}

/// All that comes until there has been as much, each settled.
async fn drain(broker: &Arc<dyn Broker>, queue: &Queue, many: usize) -> Vec<String> {
    let mut all = Vec::new();
    while all.len() < many {
        let taken = take(broker, queue, many, LONG).await;
        assert!(!taken.is_empty(), "{} of {many} came", all.len());
        settle(broker, queue, &taken).await;
        all.extend(taken.into_iter().map(|(message, _)| message));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_the_contract() {
    let Some(server) = or_skip(Redis::start()) else { return };
    the_contract(server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rabbitmq_keeps_the_contract() {
    let Some(server) = or_skip(RabbitMq::start()) else { return };
    the_contract(server).await;
}

/// One after the other: a server is started once.
async fn the_contract(mut server: impl Server) {
    let address = server.address();
    let broker = at(&address, LEASES);
    broker.examine().await.unwrap();
    messages_come_in_their_order_and_once(&broker).await;
    a_message_is_any_bytes_and_large(&broker).await;
    to_settle_twice_is_no_error(&broker).await;
    a_take_waits_for_the_first(&broker).await;
    each_message_is_one_takers(&address, &broker).await;
    a_take_that_is_given_up_keeps_nothing(&address, &broker).await;
    a_queue_goes_with_all_in_it_and_may_come_again(&broker).await;
    a_queue_goes_while_it_is_waited_for(&broker).await;
    names_are_any_letters_and_no_others(&broker).await;
    what_is_not_settled_comes_again_in_time(&address, &broker).await;
    what_its_taker_left_behind_comes_again(&address).await;
    what_comes_too_often_is_set_aside(&broker).await;
    a_wrong_password_is_said(&address).await;
    what_was_confirmed_outlives_the_server(&mut server, &broker).await;
    a_broker_that_is_away_comes_back(&mut server, &broker).await;
}

async fn messages_come_in_their_order_and_once(broker: &Arc<dyn Broker>) {
    let orders = queue("orders");
    assert_eq!(broker.depth(&orders).await.unwrap(), 0, "of a queue that is not there");
    assert!(broker.take(&orders, 5, NOW).await.unwrap().is_empty());
    put(broker, &orders, &["one", "two", "three"]).await;
    assert_eq!(broker.depth(&orders).await.unwrap(), 3);
    let first = take(broker, &orders, 2, LONG).await;
    assert!(first.len() <= 2 && first[0].0 == "one", "{first:?}");
    assert_eq!(broker.depth(&orders).await.unwrap(), 3, "what is taken counts until it is settled");
    settle(broker, &orders, &first).await;
    let mut all: Vec<String> = first.into_iter().map(|(message, _)| message).collect();
    let left = 3 - all.len();
    all.extend(drain(broker, &orders, left).await);
    assert_eq!(all, ["one", "two", "three"]);
    assert_eq!(broker.depth(&orders).await.unwrap(), 0);
    assert!(broker.take(&orders, 0, LONG).await.unwrap().is_empty(), "nothing was asked for");
}

async fn a_message_is_any_bytes_and_large(broker: &Arc<dyn Broker>) {
    let blobs = queue("blobs");
    let every: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1 << 20).map(|_| fastrand::u8(..)).collect();
    for message in [&every, &large, &Vec::new()] {
        broker.put(&blobs, message).await.unwrap();
    }
    for message in [&every, &large, &Vec::new()] {
        let taken = broker.take(&blobs, 1, LONG).await.unwrap();
        assert!(taken[0].message == *message, "{} bytes came for {}", taken[0].message.len(), message.len());
        broker.settle(&blobs, &[taken[0].receipt.clone()]).await.unwrap();
    }
}

async fn to_settle_twice_is_no_error(broker: &Arc<dyn Broker>) {
    let twice = queue("twice");
    put(broker, &twice, &["one", "two"]).await;
    let taken = take(broker, &twice, 1, LONG).await;
    settle(broker, &twice, &taken).await;
    settle(broker, &twice, &taken).await;
    settle(broker, &queue("none"), &taken).await;
    broker.settle(&twice, &[]).await.unwrap();
    assert_eq!(drain(broker, &twice, 1).await, ["two"]);
}

async fn a_take_waits_for_the_first(broker: &Arc<dyn Broker>) {
    let late = queue("late");
    let begun = Instant::now();
    assert!(take(broker, &late, 1, Duration::from_millis(300)).await.is_empty());
    assert!(begun.elapsed() >= Duration::from_millis(300), "it came back at once");
    let (waiting, name) = (broker.clone(), late.clone());
    let taking = tokio::spawn(async move { take(&waiting, &name, 10, LONG).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    put(broker, &late, &["now"]).await;
    let taken = taking.await.unwrap();
    assert_eq!(words(&taken), ["now"]);
    assert!(begun.elapsed() < LONG / 2, "it waited to the end");
    settle(broker, &late, &taken).await;
}

/// A hundred messages, and takers in this program and with connections of their own.
async fn each_message_is_one_takers(address: &str, broker: &Arc<dyn Broker>) {
    let shared = queue("shared");
    let other = at(address, LEASES);
    let takers: Vec<_> = [broker, broker, &other, &other]
        .into_iter()
        .map(|broker| {
            let (broker, shared) = (broker.clone(), shared.clone());
            tokio::spawn(async move {
                let mut mine = Vec::new();
                loop {
                    let taken = take(&broker, &shared, 3, Duration::from_secs(2)).await;
                    if taken.is_empty() {
                        return mine;
                    }
                    settle(&broker, &shared, &taken).await;
                    mine.extend(taken.into_iter().map(|(message, _)| message));
                }
            })
        })
        .collect();
    let sent: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    for message in &sent {
        broker.put(&shared, message.as_bytes()).await.unwrap();
    }
    let mut all = Vec::new();
    for taker in takers {
        all.extend(taker.await.unwrap());
    }
    assert_eq!(all.len(), 100, "one came to two");
    assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), sent.into_iter().collect());
    assert_eq!(broker.depth(&shared).await.unwrap(), 0);
}

/// What it would have been given is with others after the time of a lease at the latest.
async fn a_take_that_is_given_up_keeps_nothing(address: &str, broker: &Arc<dyn Broker>) {
    let given_up = queue("given-up");
    let taking = tokio::time::timeout(Duration::from_millis(200), broker.take(&given_up, 5, LONG));
    assert!(taking.await.is_err(), "nothing was there");
    put(broker, &given_up, &["one", "two"]).await;
    let mut all = drain(&at(address, LEASES), &given_up, 2).await;
    all.sort();
    assert_eq!(all, ["one", "two"]);
}

async fn a_queue_goes_with_all_in_it_and_may_come_again(broker: &Arc<dyn Broker>) {
    let gone = queue("gone");
    put(broker, &gone, &["one", "two"]).await;
    let taken = take(broker, &gone, 1, LONG).await;
    broker.remove(&gone).await.unwrap();
    broker.remove(&gone).await.unwrap();
    broker.remove(&queue("never-there")).await.unwrap();
    settle(broker, &gone, &taken).await;
    assert_eq!(broker.depth(&gone).await.unwrap(), 0);
    put(broker, &gone, &["three"]).await;
    assert_eq!(drain(broker, &gone, 1).await, ["three"]);
}

async fn a_queue_goes_while_it_is_waited_for(broker: &Arc<dyn Broker>) {
    let moved = queue("moved");
    let (waiting, name) = (broker.clone(), moved.clone());
    let taking = tokio::spawn(async move { take(&waiting, &name, 1, LONG).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    broker.remove(&moved).await.unwrap();
    put(broker, &moved, &["still"]).await;
    let taken = taking.await.unwrap();
    assert_eq!(words(&taken), ["still"]);
    settle(broker, &moved, &taken).await;
}

async fn names_are_any_letters_and_no_others(broker: &Arc<dyn Broker>) {
    let all: String = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("._-".chars()).collect();
    for name in [all, "-".to_owned(), ".".to_owned(), "x".repeat(200)] {
        let queue = Queue(name);
        put(broker, &queue, &["here"]).await;
        assert_eq!(drain(broker, &queue, 1).await, ["here"], "{queue:?}");
        broker.remove(&queue).await.unwrap();
    }
    for name in ["", "a b", "a/b", "a\nb", "é", "a*", &"x".repeat(201)] {
        let refused = broker.put(&queue(name), b"").await.unwrap_err().to_string();
        assert!(refused.contains("no name of a queue"), "{refused}");
    }
}

/// Its taker is there still, and has only not settled it.
async fn what_is_not_settled_comes_again_in_time(address: &str, broker: &Arc<dyn Broker>) {
    let (slow, other) = (queue("slow"), at(address, LEASES));
    put(broker, &slow, &["one"]).await;
    let begun = Instant::now();
    let first = take(broker, &slow, 1, LONG).await;
    assert!(take(&other, &slow, 1, LEASES.redelivery / 2).await.is_empty(), "it is another's");
    let again = take(&other, &slow, 1, LONG).await;
    assert_eq!(words(&again), ["one"]);
    let late = begun.elapsed();
    assert!(late < LEASES.redelivery * 3, "it came again after {late:?}");
    settle(&other, &slow, &again).await;
    // Too late, and no error.
    settle(broker, &slow, &first).await;
    assert!(take(broker, &slow, 1, Duration::from_millis(100)).await.is_empty());
    assert_eq!(broker.depth(&slow).await.unwrap(), 0);
}

async fn what_its_taker_left_behind_comes_again(address: &str) {
    let left = queue("left");
    let (gone, other) = (at(address, LEASES), at(address, LEASES));
    put(&gone, &left, &["one", "two", "three"]).await;
    let mut taken = Vec::new();
    while taken.len() < 3 {
        taken.extend(take(&gone, &left, 3 - taken.len(), LONG).await);
    }
    drop(gone);
    let mut all = drain(&other, &left, 3).await;
    all.sort();
    assert_eq!(all, ["one", "three", "two"]);
}

/// And is there for who looks for it.
async fn what_comes_too_often_is_set_aside(broker: &Arc<dyn Broker>) {
    let poison = queue("poison");
    put(broker, &poison, &["bad"]).await;
    for time in 0..LEASES.deliveries {
        assert_eq!(words(&take(broker, &poison, 1, LONG).await), ["bad"], "time {time}");
    }
    put(broker, &poison, &["good"]).await;
    let taken = take(broker, &poison, 2, LONG).await;
    assert_eq!(words(&taken), ["good"]);
    settle(broker, &poison, &taken).await;
    let aside = poison.set_aside();
    // It is moved once it is due again, and where that is noticed by a take, in one.
    let until = Instant::now() + LONG;
    while broker.depth(&aside).await.unwrap() == 0 {
        assert!(Instant::now() < until, "it was not set aside");
        assert!(take(broker, &poison, 1, Duration::from_millis(100)).await.is_empty(), "it came once more");
    }
    assert_eq!(broker.depth(&poison).await.unwrap(), 0);
    assert_eq!(drain(broker, &aside, 1).await, ["bad"]);
    put(broker, &aside, &["more"]).await;
    broker.remove(&poison).await.unwrap();
    assert_eq!(broker.depth(&aside).await.unwrap(), 0, "it goes with its queue");
}

async fn a_wrong_password_is_said(address: &str) {
    let wrong = at(&address.replace("tested-password", "guessed"), LEASES);
    let refused = wrong.examine().await.unwrap_err();
    assert!(matches!(refused, BrokerError::Unusable { .. }), "{refused:?}");
    let refused = refused.to_string();
    assert!(refused.contains("check the user and the password"), "{refused}");
    assert!(!refused.contains("guessed"), "{refused}");
    for error in [
        wrong.put(&queue("q"), b"").await.unwrap_err(),
        wrong.take(&queue("q"), 1, LONG).await.unwrap_err(),
        wrong.depth(&queue("q")).await.unwrap_err(),
    ] {
        assert!(matches!(error, BrokerError::Unusable { .. }), "{error:?}");
    }
}

async fn what_was_confirmed_outlives_the_server(server: &mut impl Server, broker: &Arc<dyn Broker>) {
    // One that is there for a while: RabbitMQ 3.10 forgets a queue, and what it confirmed of it, for half a second.
    let durable = queue("orders");
    let mut sent = BTreeSet::new();
    for time in 0..5 {
        for number in 0..10 {
            let message = format!("{time}-{number}");
            patiently(async || broker.put(&durable, message.as_bytes()).await).await;
            sent.insert(message);
        }
        // Some are a taker's right then; not so often that they would be set aside.
        if time < 2 {
            patiently(async || broker.take(&durable, 2, LONG).await).await;
        }
        server.kill();
        server.begin();
    }
    let mut came = BTreeSet::new();
    let until = Instant::now() + LONG;
    while came.len() < sent.len() {
        let taken = patiently(async || broker.take(&durable, 10, LONG).await).await;
        assert!(Instant::now() < until, "{} of {} came", came.len(), sent.len());
        let receipts: Vec<_> = taken.iter().map(|taken| taken.receipt.clone()).collect();
        patiently(async || broker.settle(&durable, &receipts).await).await;
        came.extend(taken.into_iter().map(|taken| String::from_utf8(taken.message).unwrap()));
    }
    assert_eq!(came, sent);
    // One that was put twice, for its first confirmation was lost, may be left.
}

async fn a_broker_that_is_away_comes_back(server: &mut impl Server, broker: &Arc<dyn Broker>) {
    // Likewise.
    let back = queue("late");
    patiently(async || broker.put(&back, b"one").await).await;
    let (waiting, name) = (broker.clone(), back.clone());
    let first = patiently(async || broker.take(&back, 1, LONG).await).await;
    let taking = tokio::spawn(async move { waiting.take(&name, 1, LONG).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    server.kill();
    let errors = [
        taking.await.unwrap().unwrap_err(),
        broker.put(&back, b"").await.unwrap_err(),
        broker.take(&back, 1, LONG).await.unwrap_err(),
        broker.depth(&back).await.unwrap_err(),
        broker.remove(&back).await.unwrap_err(),
        broker.examine().await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, BrokerError::Away { .. }), "{error:?}");
        assert!(
            error.to_string().contains("://") && !error.to_string().contains("tested-password"),
            "{error}"
        );
    }
    server.begin();
    patiently(async || broker.put(&back, b"two").await).await;
    let again = patiently(async || broker.take(&back, 2, LONG).await).await;
    assert!(!again.is_empty());
    let receipts: Vec<_> = first.iter().map(|taken| taken.receipt.clone()).collect();
    patiently(async || broker.settle(&back, &receipts).await).await;
}

/// What would lose messages, or is no server for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_keeps_nothing_is_refused() {
    for (settings, needed) in [
        (&["--appendonly", "no"][..], "set appendonly yes"),
        (&["--appendonly", "yes", "--maxmemory-policy", "allkeys-lru"], "set maxmemory-policy noeviction"),
        (&["--appendonly", "yes", "--cluster-enabled", "yes"], "cluster-enabled"),
        (&["--appendonly", "yes", "--replicaof", "127.0.0.1 1"], "name the primary"),
        // Where it may not be asked how it is configured, it says what it does all the same.
        (&["--appendonly", "no", "--rename-command", "CONFIG", ""], "set appendonly yes"),
    ] {
        let Some(server) = or_skip(Redis::with(settings)) else { return };
        let refused = at(&server.address(), LEASES).examine().await.unwrap_err();
        assert!(matches!(refused, BrokerError::Unusable { .. }), "{refused:?}");
        assert!(refused.to_string().contains(needed), "{refused}");
    }
    let silent = ["--appendonly", "no", "--rename-command", "CONFIG", "", "--rename-command", "INFO", ""];
    let Some(server) = or_skip(Redis::with(&silent)) else { return };
    at(&server.address(), LEASES).examine().await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_is_away() {
    for address in ["redis://127.0.0.1:1", "amqp://127.0.0.1:1"] {
        let away = at(address, LEASES).examine().await.unwrap_err();
        assert!(matches!(away, BrokerError::Away { .. }), "{away:?}");
        assert!(away.to_string().contains(address), "{away}");
    }
    for address in ["redis://127.0.0.1/x", "redis://127.0.0.1/-1"] {
        let refused = open(address).err().unwrap().to_string();
        assert!(refused.contains("number of a database"), "{refused}");
    }
}

/// Figures for docs/distribution.md.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn messages_through_redis() {
    let Some(server) = or_skip(Redis::start()) else { return };
    measure("Redis", &server.address()).await;
}

/// Likewise.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn messages_through_rabbitmq() {
    let Some(server) = or_skip(RabbitMq::start()) else { return };
    measure("RabbitMQ", &server.address()).await;
}

async fn measure(name: &str, address: &str) {
    let leases = Leases { redelivery: REDELIVERY, deliveries: DELIVERIES };
    let broker = at(address, leases);
    let (there, back) = (queue("there"), queue("back"));
    // One after the other: put, taken by one that waits for it, settled, answered.
    let (echo, from, to) = (at(address, leases), there.clone(), back.clone());
    let echoing = tokio::spawn(async move {
        loop {
            for taken in echo.take(&from, 16, LONG).await.unwrap() {
                echo.put(&to, &taken.message).await.unwrap();
                echo.settle(&from, &[taken.receipt]).await.unwrap();
            }
        }
    });
    let mut took = Vec::new();
    for _ in 0..500 {
        let begun = Instant::now();
        broker.put(&there, &[7; 1000]).await.unwrap();
        let taken = broker.take(&back, 1, LONG).await.unwrap();
        took.push(begun.elapsed());
        broker.settle(&back, &[taken[0].receipt.clone()]).await.unwrap();
    }
    echoing.abort();
    took.sort();
    eprintln!("{name}: there and back, half within {:.2?}, 99 of 100 within {:.2?}", took[250], took[495]);
    measure_bulk(name, address).await;
}

async fn measure_bulk(name: &str, address: &str) {
    let leases = Leases { redelivery: REDELIVERY, deliveries: DELIVERIES };
    let broker = at(address, leases);
    // As many as there can be: 100 putters at once, one taker of up to 256 at once.
    let (many, all) = (queue("many"), 10_000);
    let begun = Instant::now();
    let putting: Vec<_> = (0..100)
        .map(|_| {
            let (broker, many) = (broker.clone(), many.clone());
            tokio::spawn(async move {
                for _ in 0..all / 100 {
                    broker.put(&many, &[7; 1000]).await.unwrap();
                }
            })
        })
        .collect();
    let mut taken = 0;
    while taken < all {
        let some = broker.take(&many, 256, LONG).await.unwrap();
        let receipts: Vec<_> = some.into_iter().map(|some| some.receipt).collect();
        broker.settle(&many, &receipts).await.unwrap();
        taken += receipts.len();
    }
    let rate = f64::from(all as u32) / begun.elapsed().as_secs_f64();
    for putting in putting {
        putting.await.unwrap();
    }
    eprintln!(
        "{name}: {rate:.0} messages of 1 kB a second put, taken and settled, 100 putters and one taker"
    );
    // A hundred workers, each with its own connection, one message at a time.
    let (spread, each) = (queue("spread"), 50);
    for _ in 0..100 * each {
        broker.put(&spread, &[7; 1000]).await.unwrap();
    }
    let begun = Instant::now();
    let workers: Vec<_> = (0..100)
        .map(|_| {
            let (worker, spread) = (at(address, leases), spread.clone());
            tokio::spawn(async move {
                for _ in 0..each {
                    let taken = worker.take(&spread, 1, LONG).await.unwrap();
                    worker.settle(&spread, &[taken[0].receipt.clone()]).await.unwrap();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let rate = f64::from(100 * each as u32) / begun.elapsed().as_secs_f64();
    eprintln!("{name}: {rate:.0} messages a second taken one by one and settled by 100 workers");
}
