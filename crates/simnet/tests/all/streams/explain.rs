//! Link maps: looking on changes nothing, every repetition has its cause, and causes are those that were
//! put there.

use super::*;
use thalweg_sim::{Capture, CaptureError, Captured};
use thalweg_simnet::streams::{timeline, Recorder, StreamMap, Why};
use thalweg_units::Tuning;

fn watched(
    ground: &Ground,
    plan: &StreamPlan,
    packets: usize,
    carrier: Carrier,
) -> (Stream, StreamMap) {
    let mut onlookers = Onlookers {
        recorder: Some(Recorder::default()),
        ..Onlookers::default()
    };
    let run = (&terms(carrier), 1);
    let got = carry(ground, plan.clone(), packets, run, &mut onlookers);
    (got.details.stream, onlookers.recorder.unwrap().finish())
}

fn lossy(
    ground: Ground,
    ids: (thalweg_units::NodeId, thalweg_units::NodeId),
    share: f64,
    bytes: usize,
) -> Ground {
    let (from, to) = ids;
    ground
        .with_losses(&[Loss { from, to, share }], bytes)
        .unwrap()
}

#[test]
fn observation_changes_nothing_and_every_repetition_has_a_cause() {
    let ground = row(2);
    let plan = path(&ground, 4);
    let ids = ground.ids(&plan.nodes);
    let ground = lossy(ground, (ids[3], ids[4]), 0.4, 116);
    let (got, map) = watched(&ground, &plan, 300, FULL);
    assert_eq!(got, go(&ground, &plan, 300, &terms(FULL), 1));
    assert_eq!(map.links.len(), 4);
    for (link, counted) in map.links.iter().zip(&got.links) {
        let again = counted.retransmissions + counted.unacknowledged;
        assert_eq!(link.packets, counted.sent, "{link:?}");
        assert_eq!(link.tries, counted.sent + counted.retransmissions);
        assert_eq!(link.all_failed(), again, "{link:?} {counted:?}");
        assert!(link.queue.iter().copied().max() <= Some(counted.queue_peak as u8));
        assert!(link.queue.len() > 100);
    }
    // What was injected shows on its link, and its back-pressure on the links before.
    let of = |link: usize, why: Why| map.links[link].failed.get(&why).copied().unwrap_or(0);
    assert!(of(3, Why::External) > 120, "{:?}", map.links[3]);
    for link in 0..3 {
        assert_eq!(of(link, Why::External), 0);
        let withheld = got.links[link + 1].withheld;
        assert!(withheld > 50 && of(link, Why::Withheld).abs_diff(withheld) <= withheld / 20);
    }
    assert!(map.to_text().contains("external") && map.to_text().contains("queue full"));
    assert!(map.to_svg().starts_with("<svg") && map.to_svg().contains("polyline"));
}

#[test]
fn lost_acknowledgements_are_told_from_lost_packets() {
    let ground = row(3);
    let plan = path(&ground, 2);
    let ids = ground.ids(&plan.nodes);
    let ground = lossy(ground, (ids[1], ids[0]), 0.4, 5);
    let (got, map) = watched(&ground, &plan, 100, FULL);
    let lost = map.links[0].failed.get(&Why::AckLost).copied().unwrap_or(0);
    assert!(lost > 30 && lost <= got.links[0].retransmissions, "{map:?}");
    assert_eq!(map.links[0].arrived, map.links[0].tries);
}

#[test]
fn nothing_is_repeated_without_acknowledgements() {
    let ground = row(2);
    let plan = path(&ground, 3);
    let ids = ground.ids(&plan.nodes);
    let ground = lossy(ground, (ids[0], ids[1]), 0.2, 116);
    let (got, map) = watched(&ground, &plan, 200, NO_ACK);
    let first = &map.links[0];
    assert_eq!((first.packets, first.tries), (201, 201));
    assert_eq!(first.tries, first.arrived + first.all_failed());
    assert!(first.failed[&Why::External] > 20 && got.received < 200);
    let (_, lpht) = watched(&row(2), &plan, 50, Carrier::Burst);
    assert!(
        lpht.links
            .iter()
            .all(|l| l.packets >= 50 && l.on.starts_with("2.4G")),
        "{lpht:?}"
    );
}

/// Counts frames by band.
#[derive(Clone, Default)]
struct Bands(std::sync::Arc<std::sync::Mutex<[u32; 2]>>);
impl Capture for Bands {
    fn frame(&mut self, frame: &Captured<'_>) -> Result<(), CaptureError> {
        self.0.lock().unwrap()[usize::from(matches!(frame.on, Tuning::Mhz900(_)))] += 1;
        Ok(())
    }
    fn flush(&mut self) -> Result<(), CaptureError> {
        Ok(())
    }
}

#[test]
fn a_capture_has_the_frames_of_both_radios() {
    let ground = row(1);
    let bands = Bands::default();
    let mut onlookers = Onlookers {
        capture: Some(Box::new(bands.clone())),
        ..Onlookers::default()
    };
    let plan = path(&ground, 2);
    carry(&ground, plan, 40, (&terms(FULL), 1), &mut onlookers);
    // Packets and their acknowledgements, sent and received, on a link of each band.
    assert!(bands.0.lock().unwrap().iter().all(|frames| *frames >= 160));
}

#[test]
fn a_timeline_shows_both_radios_at_work_at_once() {
    let ground = row(1);
    let plan = path(&ground, 3);
    let shown = timeline(&ground, &plan, &terms(FULL), 1, None).unwrap();
    assert!(
        (5100.0..5200.0).contains(&shown.interval_us),
        "{}",
        shown.title
    );
    let relay: Vec<_> = shown.bars.iter().filter(|b| b.place == 1).collect();
    let of = |radio: u8, what: &str| {
        let mut bars = relay
            .iter()
            .filter(|b| b.radio_number == radio && b.activity == what);
        bars.find(|b| b.packet.is_some()).copied()
    };
    // It receives a packet on one radio while it sends the one before on the other.
    let (in_on, out_on) = match of(0, "receive") {
        Some(_) => (0, 1),
        None => (1, 0),
    };
    let came: Vec<_> = (relay
        .iter()
        .filter(|b| b.activity == "receive" && b.packet.is_some()))
    .collect();
    assert!(came.iter().all(|b| b.radio_number == in_on));
    let went = of(out_on, "transmit").unwrap();
    assert!(came
        .iter()
        .any(|b| b.from_us < went.until_us && b.until_us > went.from_us));
    let text = shown.to_text(118);
    assert_eq!(text.lines().count(), 1 + 4 * 4 + 2, "{text}");
    assert!(text.contains("2.4G") && text.contains("900M"));
}
