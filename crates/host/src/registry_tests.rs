use super::*;
use crate::link_state::CLEAN_CHANNELS;
use crate::survey::SurveyKind;
use thalweg_units::Channel;

#[test]
fn names_are_their_own() {
    for (n, protocol) in PROTOCOLS.iter().enumerate() {
        assert!(PROTOCOLS[..n].iter().all(|p| p.name != protocol.name));
        assert_eq!(named(protocol.name), Some(protocol));
        assert!(!protocol.about.is_empty() && !protocol.takes().is_empty());
    }
    assert_eq!(default().name, "thalweg");
    for plain in [Pipelined::P3, Pipelined::PIP] {
        assert_eq!(Pipelined::named(plain.name), Some(plain));
    }
    assert_eq!(Pipelined::named("lpht"), None);
}

/// By its short name users get the steady sink; the published one has a name that says so.
#[test]
fn rcrt_is_steady_unless_the_published_one_is_named() {
    let sink = |name: &str| match named(name).map(|p| p.family) {
        Some(Family::Rcrt(rates)) => rates.config(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!([sink("rcrt"), sink("rcrt-steady")], [Config::STEADY; 2]);
    assert_eq!(sink("rcrt-published"), Config::PAPER);
}

#[test]
fn what_is_published_is_left_as_it_is() {
    let (request, terms) = (RouteRequest::new(3, 7), TransferTerms::default());
    for name in ["p3", "pip", "pip-hopping"] {
        let pipelined = Pipelined::named(name).unwrap();
        assert_eq!(name_of(pipelined.scheme), name);
        assert_eq!(pipelined.request(&request), request);
        assert_eq!(pipelined.terms(terms), terms);
    }
}

#[test]
fn each_changes_what_its_name_says() {
    let (request, terms) = (RouteRequest::new(3, 7), TransferTerms::default());
    let of = |holds: &dyn Fn(Pipelined) -> bool| -> Vec<&str> {
        Pipelined::all()
            .filter(|p| holds(*p))
            .map(|p| p.name)
            .collect()
    };
    let planned = of(&|p| p.request(&request).style == Style::Chains);
    assert_eq!(planned, ["p3-planned", "p3-best", "thalweg"]);
    assert_eq!(
        of(&|p| p.terms(terms).format == SLIM),
        ["p3-slim", "p3-best", "thalweg"]
    );
    let few: ChannelSet = CLEAN_CHANNELS.into_iter().flat_map(Channel::new).collect();
    let sweeps = |p: Pipelined| p.survey(few).kind == SurveyKind::Sweep;
    assert_eq!(
        of(&sweeps),
        ["p3-planned", "p3-best", "thalweg", "hop-by-hop"],
        "what is published surveys as published"
    );
    assert!(Pipelined::all().all(|p| p.survey(ChannelSet::ALL).kind == SurveyKind::Published));
    let best = Pipelined::named("p3-best").unwrap();
    let cycle = best.request(&request).transfer.cycle;
    assert_eq!((cycle.payload_bytes, cycle.header_bytes), (121, 4));
}
