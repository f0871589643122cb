//! What is asked of the user, and what the user asks for while that is waited for.

use std::sync::mpsc::channel;

use super::*;

/// Told while the call that waits for it is under way, and the page can be looked at meanwhile.
#[test]
fn a_sign_in_is_asked_for_at_once_and_the_page_is_shown_meanwhile() {
    let Some(stage) = Stage::new(Skin::Plain) else { return };
    stage.site.set(|faults| faults.login = true);
    let (sender, told) = channel();
    let tell = move |words: &str| drop(sender.send(words.to_owned()));
    let mut driver = Driver::new(stage.settings.clone(), stage.places(), ("r/t/1", "t"), tell).unwrap();
    thread::scope(|scope| {
        let creating = scope.spawn(|| driver.create(prompt("Do it")).unwrap());
        let asked = told.recv_timeout(PATIENCE).unwrap();
        assert!(asked.starts_with("sign in to ") && asked.contains("in the browser's window"), "{asked}");
        let record = records::all(&stage.places()).remove(0);
        for request in [Request::Picture, Request::Front] {
            let answer = records::ask(&stage.places(), &record, request, PATIENCE).unwrap();
            assert!(answer.is_some(), "{request:?} while the sign-in is waited for");
        }
        assert!(!creating.is_finished());
        stage.user_signs_in();
        creating.join().unwrap();
    });
    assert_eq!(stage.site.sessions().len(), 1);
}

#[test]
fn a_session_that_hangs_for_good_has_failed_once_everything_was_tried() {
    let Some(stage) = Stage::with(Skin::Plain, |settings| settings.provisioning_timeout = 0.5) else {
        return;
    };
    stage.site.set(|faults| {
        faults.hang_at = Some("start".to_owned());
        faults.hangs_for_good = true;
    });
    let mut driver = stage.driver("r/t/1");
    driver.create(prompt("Do it")).unwrap();
    let status = wait(|| match driver.observe(Duration::from_secs(1)) {
        Ok(Seen { status: Status::Provisioning(_) | Status::Unknown, .. }) => None,
        // While the browser is started again.
        Err(DriveError::NotRecovered { .. }) => None,
        seen => Some(seen.unwrap().status),
    });
    let Status::Failed(why) = status else { panic!("{status:?}") };
    assert!(why.contains("hangs at the step 'start'") && why.contains("remedies did not help"), "{why}");
    stage.site.set(|faults| faults.hangs_for_good = false);
}
