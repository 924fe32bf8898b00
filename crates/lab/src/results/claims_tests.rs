//! Tests of `claims.rs`.

use super::*;
use crate::experiment::Experiment;

#[test]
fn every_claim_belongs_to_a_metric_of_an_experiment() {
    let experiments = Experiment::built_in().unwrap();
    for (paper, _) in BUILT_IN {
        for claim in Claims::of_paper(paper).unwrap().claims {
            let experiment = experiments.iter().find(|e| e.id == claim.id).unwrap();
            let metric = experiment.metrics.iter().find(|m| m.name == claim.metric);
            let metric = metric.unwrap_or_else(|| panic!("{} {}", claim.id, claim.metric));
            let by: Vec<&String> = claim.at.keys().collect();
            let mut wanted: Vec<&String> = metric.by.iter().collect();
            wanted.sort();
            assert_eq!(by, wanted, "{} {}", claim.id, claim.metric);
            assert!(!claim.source.is_empty(), "{} {}", claim.id, claim.metric);
            if let Some(Band::IntervalOf(beside)) = claim.judgement.map(|j| j.band) {
                let beside: Vec<&String> = beside.keys().collect();
                assert_eq!(beside, by, "{}", claim.id);
            }
        }
    }
    assert!(Claims::of_paper("none").unwrap().claims.is_empty());
}

/// Metric `m` of protocol `p`, one value or the mean of `n` seeds.
fn measured(p: &str, value: f64, (ci95, n): (Option<[f64; 2]>, usize)) -> Measured {
    Measured {
        metric: "m".into(),
        at: [("p".to_owned(), Value::from(p))].into(),
        value,
        ci95,
        ci99: None,
        n,
        unit: String::new(),
    }
}
const ONE: (Option<[f64; 2]>, usize) = (None, 1);

fn claims(says: &str) -> Claims {
    let text = format!("[[claim]]\nid='e'\nmetric='m'\nat={{p='x'}}\nsource='s'\n{says}");
    toml::from_str(&text).unwrap()
}

#[test]
fn an_exception_has_a_window_for_each_extent() {
    let of_value = |value: f64, says: &str, extent| {
        let claims = claims(&format!("band=[4.0,5.0]\nexception={{why='w',{says}}}"));
        let judged = claims.judge("e", None, measured("x", value, ONE), &[], extent);
        judged.excuse.map(|excuse| excuse.window.value)
    };
    let excused = |says: &str, extent| of_value(3.0, says, extent);
    let both = "value=3.0,within=1.0,quick={value=2.0,within=1.0}";
    assert_eq!(excused(both, Extent::Full), Some(3.0));
    assert_eq!(excused(both, Extent::Quick), Some(2.0));
    assert_eq!(excused("value=3.0,within=1.0", Extent::Quick), Some(3.0));
    assert_eq!(excused("quick={value=2.0,within=1.0}", Extent::Full), None);
    // In the band there is nothing to excuse, unless the window is this extent's own.
    let full = "value=3.0,within=1.0";
    assert_eq!(of_value(4.5, full, Extent::Quick), None);
    assert_eq!(of_value(4.5, full, Extent::Full), Some(3.0));
}

#[test]
fn an_exception_without_a_value_excuses_none() {
    let of = |says: &str| claims(&format!("band=[4.0,5.0]\nexception={{why='w',{says}}}"));
    assert!(of("").claims[0].excuses_none());
    assert!(!of("value=3.0,within=1.0").claims[0].excuses_none());
    // It is no excuse for a value.
    let judged = of("").judge("e", None, measured("x", 3.0, ONE), &[], Extent::Full);
    assert_eq!((judged.within, judged.excuse), (Some(false), None));
}

#[test]
fn a_claim_that_contradicts_itself_is_refused() {
    for (says, why) in [
        ("judged='own'", "without a band"),
        ("fitted={constant='k'}", "without a band"),
        ("exception={value=1.0,within=1.0,why='w'}", "without a band"),
        ("band=[2.0,1.0]", "lower end"),
        ("band=[1.0,2.0]\ninterval_of={p='y'}", "not both"),
        (
            "band=[1.0,2.0]\njudged='own'\nfitted={constant='k'}",
            "not fitted",
        ),
        (
            "band=[1.0,2.0]\nexception={value=1.0,why='w'}",
            "`value` and `within`",
        ),
        ("band=[1.0,2.0]\nexception='w'", "invalid type"),
    ] {
        let text = format!("[[claim]]\nid='e'\nmetric='m'\nsource='s'\n{says}");
        let error = toml::from_str::<Claims>(&text).unwrap_err().to_string();
        assert!(error.contains(why), "{says}: {error}");
    }
}

#[test]
fn a_value_is_judged_by_the_interval_of_another() {
    let claims = claims("interval_of={p='y'}");
    let all = [measured("y", 3.0, (Some([2.0, 4.0]), 15))];
    let within = |value, all: &[Measured]| {
        let judged = claims.judge("e", None, measured("x", value, ONE), all, Extent::Full);
        judged.within
    };
    assert_eq!(within(3.9, &all), Some(true));
    assert_eq!(within(4.1, &all), Some(false));
    assert_eq!(within(3.9, &[]), None);
}

#[test]
fn a_value_is_judged_by_its_own_claim() {
    let claims = claims("reference=5.0\nband=[4.0,inf]");
    let judge = |p, value| claims.judge("e", Some("q"), measured(p, value, ONE), &[], Extent::Full);
    assert_eq!(judge("x", 4.0).within, Some(true));
    assert_eq!(judge("x", 3.9).within, Some(false));
    assert_eq!(judge("y", 3.9).within, None);
    let other = measured("y", 1.0, ONE);
    assert_eq!(claims.unanswered("e", &[other]).len(), 1);
    let line = serde_json::to_string(&judge("x", 4.5)).unwrap();
    let expected = concat!(
        r#"{"id":"e","paper":"q","metric":"m","at":{"p":"x"},"value":4.5,"ci95":null,"n":1,"unit":"","#,
        r#""reference":5.0,"band":[4.0,null],"judged":"paper","within":true}"#
    );
    assert_eq!(line, expected);
}
