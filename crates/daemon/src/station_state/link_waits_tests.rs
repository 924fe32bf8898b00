use super::*;
use thalweg_units::{Channel, Dbm};

const SECOND: std::time::Duration = std::time::Duration::from_secs(1);

/// Of three nodes, those of `heard` hear the base station.
fn links(heard: &[usize]) -> LinkQualities {
    let mut links = LinkQualities::new(3);
    for node in heard {
        let level = Some(Dbm(-60.0));
        links.record(0, *node, Channel::LAST, 2, 2, level).unwrap();
    }
    links
}

fn attempt(links: &LinkQualities, arrived: u64) -> Attempt<'_> {
    Attempt {
        node: 2,
        why: "no route".to_owned(),
        links,
        survey_s: 2.0,
        arrived,
    }
}

#[test]
fn a_job_is_due_after_its_pause_or_when_links_were_measured() {
    let (links, began) = (links(&[1, 2]), Instant::now());
    let mut wait = LinkWait::new(Patience::DEFAULT, &attempt(&links, 0), began);
    assert!(wait.fail(&attempt(&links, 0), 7, began));
    assert!(!wait.is_due(7, began + 3 * SECOND));
    assert!(wait.is_due(7, began + 4 * SECOND), "the first pause");
    assert!(wait.is_due(8, began), "another job had them measured");
    let why = wait.blocked(began + SECOND).to_string();
    let said = "waits: no route; links are measured again in 3 s, 0 s of 720 min are over";
    assert_eq!(why, said);
}

#[test]
fn pauses_and_surveys_use_up_patience_and_other_jobs_do_not() {
    let (links, began) = (links(&[1]), Instant::now());
    let patience = Patience::of(Duration::from_secs(60));
    let mut wait = LinkWait::new(patience, &attempt(&links, 0), began);
    let mut now = began;
    let mut waited = Vec::new();
    while wait.fail(&attempt(&links, 0), 1, now) {
        // Hours pass between a window's end and the next.
        now += 3_600 * SECOND;
        waited.push(wait.search.waited().as_secs_f64());
    }
    assert_eq!(waited, [0.0, 6.0, 16.0], "pauses of 4 and 8 s, and surveys");
    assert!(wait.search.waited() <= Duration::from_secs(60));
    // Bytes begin it again.
    assert!(wait.fail(&attempt(&links, 100), 1, now));
    assert!(wait.search.waited().is_zero());
}
