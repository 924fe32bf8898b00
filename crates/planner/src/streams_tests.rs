//! Streams over rows of nodes.

use super::*;

/// Nodes in a row that hear `reach` neighbours and disturb as many more.
struct Row(usize, usize);
impl Radio for Row {
    fn nodes(&self) -> usize {
        self.0
    }
    fn reception(&self, from: usize, to: usize, _on: Tuning) -> f64 {
        f64::from(u8::from(from.abs_diff(to) <= self.1))
    }
    fn unheard(&self, _on: Tuning) -> f64 {
        -110.0
    }
    fn level(&self, from: usize, to: usize, _on: Tuning) -> Option<f64> {
        let away = from.abs_diff(to);
        (away <= 3 * self.1).then_some(-60.0 - 8.0 * away as f64)
    }
}
fn request(source: usize, sink: usize, each: usize) -> StreamRequest {
    StreamRequest {
        source,
        sink,
        via: None,
        ghz2_4: Channel::all().take(each).collect(),
        mhz900: (1..=each as u8).filter_map(Channel900::new).collect(),
        radios: Radios::Alternating,
        calling: None,
    }
}

#[test]
fn radios_take_turns_and_channels_keep_their_distance() {
    for each in [2, 3, 4] {
        let plan = request(11, 0, each).plan(&Row(12, 1), &[]).unwrap();
        assert_eq!(plan.nodes, (0..12).rev().collect::<Vec<_>>());
        assert_eq!(plan.links.len(), 11);
        assert!(plan.links.windows(2).all(|w| !w[0].same_band(w[1])));
        // Links two apart are in one band and in reach of each other.
        assert!(plan.links.windows(3).all(|w| w[0] != w[2]));
    }
    let few = request(11, 0, 1).plan(&Row(12, 1), &[]);
    assert_eq!(few, Err(StreamError::FewChannels));
    let crowded = request(11, 0, 2).plan(&Row(12, 3), &[]);
    assert!(crowded.is_ok() || matches!(crowded, Err(StreamError::NoChannel { .. })));
}

/// Nodes that no other hears, and that may be as loud as what is just not heard.
struct Hidden(f64);

impl Radio for Hidden {
    fn nodes(&self) -> usize {
        6
    }
    fn reception(&self, from: usize, to: usize, on: Tuning) -> f64 {
        Row(6, 1).reception(from, to, on)
    }
    fn level(&self, from: usize, to: usize, _on: Tuning) -> Option<f64> {
        (from.abs_diff(to) <= 1).then_some(-85.0)
    }
    fn unheard(&self, _on: Tuning) -> f64 {
        self.0
    }
}

#[test]
fn unheard_nodes_may_disturb() {
    // Far below the noise, or just out of earshot: the first and the last link share a channel or may not.
    let channels = |unheard: f64| {
        let plan = request(5, 0, 2).plan(&Hidden(unheard), &[]);
        plan.map(|plan| plan.links[0] == plan.links[4])
    };
    assert_eq!(channels(-120.0), Ok(true));
    assert!(matches!(
        channels(-95.0),
        Err(StreamError::NoChannel { .. })
    ));
}

#[test]
fn two_streams_into_one_sink_share_neither_nodes_nor_its_radios() {
    let row = Row(11, 1);
    let one = request(0, 5, 6).plan(&row, &[]).unwrap();
    let beside = std::slice::from_ref(&one);
    let two = request(10, 5, 6).plan(&row, beside).unwrap();
    assert!(!one.links[4].same_band(two.links[4]));
    let all: BTreeSet<_> = one.nodes.iter().chain(&two.nodes).collect();
    assert_eq!(all.len(), 11);
    let third = request(9, 5, 6).plan(&row, &[one, two]);
    assert!(third.is_err());
}

#[test]
fn one_radio_takes_all_links_where_asked() {
    let one = StreamRequest {
        radios: Radios::First,
        mhz900: Vec::new(),
        ..request(11, 0, 6)
    };
    let plan = one.plan(&Row(12, 1), &[]).unwrap();
    let mut pairs = plan.links.windows(2);
    assert!(pairs.all(|w| w[0].same_band(w[1]) && w[0] != w[1]));
}

#[test]
fn what_cannot_be_is_refused() {
    let row = Row(6, 1);
    let via = |via: &[usize]| StreamRequest {
        via: Some(via.to_vec()),
        ..request(5, 0, 3)
    };
    assert_eq!(via(&[5, 3, 0]).plan(&row, &[]).unwrap().nodes, [5, 3, 0]);
    for wrong in [&[5][..], &[5, 3, 5, 0], &[4, 0], &[5, 9, 0]] {
        assert_eq!(via(wrong).plan(&row, &[]), Err(StreamError::Path));
    }
    let apart = request(5, 0, 3).plan(&Row(6, 0), &[]);
    assert_eq!(apart, Err(StreamError::NoPath { from: 5, to: 0 }));
}

#[test]
fn bounds_are_the_papers() {
    let rf231 = Transceiver {
        to_transmit: Duration::from_micros(17),
        to_receive: Duration::from_micros(33),
    };
    let (one, two) = bounds(133, 7, rf231);
    assert!((one.kbps() - 117.4).abs() < 0.05 && (two.kbps() - 234.9).abs() < 0.05);
}
