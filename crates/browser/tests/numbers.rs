//! What sessions in one browser cost. The figures are printed, and the promised bounds are held.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use conductor_browser::driver::{Driver, Prompt};
use conductor_browser::server::{HostRecord, serve};
use conductor_browser::settings::{Places, Settings};
use conductor_testkit::browsers;
use conductor_testkit::site::{Site, Skin};

const SESSIONS: [usize; 2] = [10, 20];
const WATCHED: Duration = Duration::from_secs(25);
const MIB: u64 = 1024;

/// A process and all below it.
fn tree(root: u32) -> Vec<u32> {
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
    };
    let all: Vec<u32> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let mut found = vec![root];
    while let Some(more) = all
        .iter()
        .find(|pid| !found.contains(pid) && parent(**pid).is_some_and(|parent| found.contains(&parent)))
    {
        found.push(*more);
    }
    found
}

/// Memory of its own and its share of what is shared, in KiB.
fn memory(pids: &[u32]) -> u64 {
    let of = |pid: &u32| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("Pss:"))?.split_whitespace().next()?.parse().ok()
    };
    pids.iter().filter_map(of).sum()
}

/// Time on a processor, in hundredths of a second.
fn ticks(pids: &[u32]) -> u64 {
    let of = |pid: &u32| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
        Some(fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?)
    };
    pids.iter().filter_map(of).sum()
}

#[test]
fn ten_and_twenty_sessions_in_one_browser_slowly() {
    let home = tempfile::tempdir().unwrap();
    if !browsers::or_skip(home.path()) {
        return;
    }
    let script = "git init -q -b main w && cd w && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one \
                  && git clone -q --bare . ../app.git";
    assert!(Command::new("sh").args(["-c", script]).current_dir(home.path()).status().unwrap().success());
    let site = Site::start(Skin::Plain, &[("me/app", home.path().join("app.git"))]).unwrap();
    site.set(|faults| faults.work = Duration::from_secs(600));
    let settings = Settings {
        site: site.url(),
        headless: true,
        executable: Some(PathBuf::from("/usr/bin/chromium")),
        ..Settings::default()
    };
    let places = Places::in_home(home.path());
    Places::make(&places.folder()).unwrap();
    let host = {
        let (settings, places) = (settings.clone(), places.clone());
        thread::spawn(move || serve(&settings, &places).unwrap())
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    while HostRecord::living(&places).is_none() {
        assert!(Instant::now() < deadline);
        thread::sleep(Duration::from_millis(50));
    }
    let server = HostRecord::living(&places).unwrap().server_pid;
    let driver = |n: usize| {
        let mut driver =
            Driver::new(settings.clone(), places.clone(), (&format!("r/t/{n}"), "t"), |_: &str| {}).unwrap();
        let text = format!("Do {n}");
        driver.create(Prompt { text: &text, repository: "me/app", branch: "main" }).unwrap();
        driver
    };
    let mut drivers = vec![driver(1)];
    drivers[0].observe(Duration::from_secs(3)).unwrap();
    let one = memory(&tree(server));
    println!("memory: {} MiB with one session", one / MIB);
    let mut costs = Vec::new();
    for sessions in SESSIONS {
        drivers.extend((drivers.len() + 1..=sessions).map(&driver));
        for driver in &mut drivers {
            driver.observe(Duration::ZERO).unwrap();
        }
        assert_eq!(site.sessions().len(), sessions);
        costs.push(measured(&mut drivers, server, one));
    }
    drop(drivers);
    host.join().unwrap();
    for cost in costs {
        assert!(cost.memory <= 80, "{cost:?}");
        assert!(cost.watched - cost.unwatched < 2.0, "{cost:?}");
    }
}

/// What each session more takes: MiB, and hundredths of a core.
#[derive(Debug)]
struct Cost {
    memory: u64,
    watched: f64,
    unwatched: f64,
}

fn measured(drivers: &mut [Driver], server: u32, one: u64) -> Cost {
    let sessions = drivers.len();
    let all = memory(&tree(server));
    let share = |before: u64, began: Instant| {
        (ticks(&tree(server)) - before) as f64 / began.elapsed().as_secs_f64() / sessions as f64
    };
    // What the pages do by themselves: they ask their server for news.
    let (before, began) = (ticks(&tree(server)), Instant::now());
    thread::sleep(WATCHED);
    let unwatched = share(before, began);
    let over = AtomicBool::new(false);
    let (before, began) = (ticks(&tree(server)), Instant::now());
    thread::scope(|scope| {
        for driver in drivers {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    driver.observe(Duration::from_secs(5)).unwrap();
                }
            });
        }
        thread::sleep(WATCHED);
        over.store(true, Ordering::Relaxed);
    });
    let watched = share(before, began);
    let memory = all.saturating_sub(one) / (sessions as u64 - 1) / MIB;
    println!("memory: {} MiB with {sessions}: {memory} MiB for each more", all / MIB);
    println!(
        "processor: {watched:.2} % of a core for each watched session, {unwatched:.2} % where it is not watched"
    );
    Cost { memory, watched, unwatched }
}
