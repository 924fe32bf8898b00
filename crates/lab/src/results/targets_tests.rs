//! The bands that were set before anything was measured, copied here: no claim may lose or widen one.
//! A line is a result's id, its metric, the columns that it is taken at (several values are several results), and the
//! band. Results of `fusion` are not in it.

use super::{Band, Claim, Claims};
use crate::results::{Basis, Value};
use std::collections::{BTreeMap, BTreeSet};

const TARGETS: &str = "
p3.table1 prr_mean tree=own 0.95..1
p3.table1 prr_mean tree=other 0.15..0.45
p3.table1 below_tenth_most 0.5..1
p3.table1 below_tenth_others 0.3..0.7
p3.table1 below_tenth_by_channel channel=11,12,13,14,15,16,17,18,19,20,21,22,23,24,25 0.3..0.7
p3.table2 share_below_0.2 channel=15,20,25,26 0.8..1
p3.table2 correlation_mean channel=22 0.2..1
p3.fig5 goodput_mean protocol=p3 160.65..196.35
p3.fig5 goodput_min protocol=p3 130..inf
p3.fig5 goodput_max protocol=p3 189.715..209.685
p3.fig5 goodput_mean protocol=pip 15..50
p3.fig5 zero_share protocol=pip 0.45..0.85
p3.fig5 goodput_max protocol=pip 0..104
p3.pip goodput_mean 94.05..103.95
p3.fig6 effective_rate 213.788..227.012
p3.fig6 utilisation_mean protocol=p3 0.729..0.889
p3.table3 rounds_mean protocol=p3 1.5..3.5
p3.table3 r1_mean protocol=p3 0.86..0.98
p3.fig7 best_payload 118..118
p3.table4 paths_min 6..inf
p3.table4 active_nodes_ratio 3..7
p3.energy energy_ratio 0.6..1
p3.overhead time phase=equation-1 101..101
p3.overhead time phase=measuring 80.8..121.2
p3.overhead time phase=collecting 8..12
p3.degrade ratio_to_pip max_paths=1 1..inf
p3.asym goodput_mean protocol=p3 150..inf
p3.asym goodput_max protocol=pip 0..0
cit.bounds bound channels=one hops=1 224.81..224.83
cit.bounds bound channels=one hops=2 112.4..112.42
cit.bounds bound channels=one hops=3 74.93..74.95
cit.bounds bound channels=one hops=4 56.195..56.215
cit.bounds bound channels=one hops=5 44.954..44.974
cit.bounds bound channels=one hops=6 37.46..37.48
cit.bounds bound channels=per-hop hops=6 112.4..112.5
cit.fig3 throughput forwarding=resending 213.4..226.6
cit.fig3 throughput forwarding=copying 140.6..155.4
cit.fig3 cca_ratio forwarding=resending,copying 0.9..1.001
cit.fig3 os_ratio forwarding=resending,copying 0.9..1.001
cit.fig4 copying_ratio channels=one,per-hop hops=1,2,3,4,5,6 1.6..2.2
cit.fig4 cca_ratio channels=one,per-hop forwarding=resending,copying hops=6 0.9..1.02
cit.fig5 throughput channels=per-hop hops=6 105.7..112.3
cit.fig5 payload channels=per-hop hops=6 100.9..107.1
cit.fig5 of_bound channels=one,per-hop hops=1,2,3,4,5,6 0.95..inf
cit.fig6 latency_ratio payload_bytes=117 0.42..0.58
cit.fig6 latency_ratio payload_bytes=0 0.52..0.68
ff.bounds bound transceivers=1 116.23..118.57
ff.bounds bound transceivers=2 232.55..237.25
ff.fig4a utilisation protocol=fastforward,fastforward-nobp 71.8..79.8
ff.fig4a utilisation protocol=fastforward-noack 84.9..92.9
ff.fig4a utilisation protocol=lpht 15..23
ff.fig4a utilisation protocol=pip 21..29
ff.fig4a flatness protocol=fastforward,fastforward-nobp,fastforward-noack,lpht,pip 95..105
ff.fig4b yield protocol=fastforward 99.9..100
ff.fig4b yield protocol=fastforward-noack 91..98
ff.fig5 throughput_kept protocol=fastforward,fastforward-nobp,fastforward-noack 0.76..0.84
ff.fig5 yield protocol=fastforward 99.5..100
ff.fig5 yield protocol=fastforward-nobp 75..86
ff.twostreams share_of_single stream=1,2 95..105
rcrt.fig1 decreased_over_knee 0..1
rcrt.fig3 rate_swing 0..0.25
rcrt.fig4 goodput_spread 0..0.05
rcrt.fig3 delivered_share 1..1
rcrt.fig4 delivered_share 1..1
rcrt.fig5 delivered_share 1..1
rcrt.fig6 delivered_share 1..1
rcrt.fig10 delivered_share 1..1
rcrt.fig11 delivered_share 1..1
rcrt.fig13 delivered_share 1..1
rcrt.fig14 delivered_share 1..1
rcrt.single delivered_share 1..1
rcrt.fig6 repaired_most 0..0.12
rcrt.fig6 repaired_few_share 0.7..1
rcrt.fig6 feedbacks_per_packet 0.05..0.2
rcrt.fig7 knee 0.7..1.6
rcrt.fig8 sustainable_over_knee 0.65..0.95
rcrt.fig8 collapsed_over_best_effort 0..1
rcrt.fig8 collapsed_spread_over_best_effort 1..inf
rcrt.fig9 rcrt_over_sustainable 0.8..1
rcrt.fig9 rcrt_over_sustainable_least 0.6..inf
rcrt.single goodput 48..72
rcrt.fig10 share_before 0.95..inf
rcrt.fig10 share_while 0.4..0.6
rcrt.fig10 share_after 0.95..inf
rcrt.fig10 lasted_s 1900..2700
rcrt.fig11 goodput demand=0.5 0.33..0.55
rcrt.fig11 goodput demand=1.0 0.578..0.963
rcrt.fig11 goodput demand=4.0 1.53..2.55
rcrt.fig12 parent_changes 1.7..6.8
rcrt.fig13 over_one_sink 1.3..2
rcrt.fig13 second_sink_unequal 0..0.05
rcrt.fig15 over_ifrc 2..3.6
rcrt.fig15 over_ifrc_same_acks 1.3..2.2
";

type At = BTreeMap<String, Value>;

/// `word` as a file has it.
fn value(word: &str) -> Value {
    let quoted = format!("v = \"{word}\"");
    let table: At = toml::from_str(&format!("v = {word}"))
        .or_else(|_| toml::from_str(&quoted))
        .unwrap();
    table["v"].clone()
}

/// The places that the words `column=a,b` name, in all combinations.
fn places(words: &[&str]) -> Vec<At> {
    let mut all = vec![At::new()];
    for word in words {
        let (column, values) = word.split_once('=').unwrap();
        let with = |at: &At| {
            let at = at.clone();
            let one = move |word: &str| {
                let mut at = at.clone();
                at.insert(column.to_owned(), value(word));
                at
            };
            values.split(',').map(one).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

#[test]
fn every_cell_of_the_targets_is_judged_by_its_band() {
    let papers = ["p3", "cit", "fastforward", "rcrt"];
    let mut targets = BTreeSet::new();
    let claims = papers.map(|paper| Claims::of_paper(paper).unwrap().claims);
    let claims = claims.concat();
    for line in TARGETS.lines().filter(|line| !line.is_empty()) {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, metric, at @ .., band] = words.as_slice() else {
            panic!("{line}");
        };
        let ends = band.split("..").map(|end| end.parse().unwrap());
        let ends: Vec<f64> = ends.collect();
        for at in places(at) {
            let is_it = |c: &&Claim| c.id == *id && c.metric == *metric && c.at == at;
            let claim = claims.iter().find(is_it);
            let claim = claim.unwrap_or_else(|| panic!("nothing claims {id} {metric} {at:?}"));
            let judgement = claim.judgement.as_ref();
            let judgement = judgement.unwrap_or_else(|| panic!("{id} {metric} is not judged"));
            assert_ne!(judgement.basis(), Basis::Own, "{id} {metric}");
            assert!(
                matches!(judgement.band, Band::Span(span) if span[..] == ends[..]),
                "{id} {metric} {at:?}: {:?} instead of {band}",
                judgement.band
            );
            targets.insert((claim.id.clone(), claim.metric.clone(), format!("{at:?}")));
        }
    }
    // What is judged by the paper beyond the targets is said here, so that nobody counts what suits.
    let beyond = claims.iter().filter(|c| {
        let by_paper = c
            .judgement
            .as_ref()
            .is_some_and(|j| j.basis() != Basis::Own);
        by_paper && !targets.contains(&(c.id.clone(), c.metric.clone(), format!("{:?}", c.at)))
    });
    let beyond: BTreeSet<String> = beyond.map(|c| format!("{} {}", c.id, c.metric)).collect();
    let wrong = [3, 4, 5, 6, 10, 11, 13, 14, 15].map(|n| format!("rcrt.fig{n} wrong"));
    let mut expected = BTreeSet::from(wrong);
    expected.insert("rcrt.single wrong".to_owned());
    expected.insert("p3.energy energy_ratio_of_means".to_owned());
    assert_eq!(beyond, expected);
}
