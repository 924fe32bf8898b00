use super::*;
use thalweg_units::NodeId;

fn samples(nodes: u16) -> Vec<Sample> {
    let sample = |at_s: u32| Sample {
        at_s,
        sources: (1..=nodes)
            .map(|node| SourceStatus {
                source: NodeId::new(node).unwrap(),
                rate: (at_s > 4).then_some(f64::from(node)),
                packets: u64::from(at_s),
                bytes: 0,
                repaired: 1,
            })
            .collect(),
    };
    (0..360).map(|n| sample(2 * n)).collect()
}
fn names(chart: &Chart) -> Vec<&str> {
    chart.series.iter().map(|s| &*s.name).collect()
}

#[test]
fn many_sources_are_three_lines_and_the_chosen_one() {
    let few = rates(&samples(3), None);
    assert_eq!(names(&few), ["node 1", "node 2", "node 3"]);
    assert!(few.series[0].points[0].y.is_nan(), "a gap");
    assert_eq!(few.x_label, "min since it began");
    let many = rates(&samples(139), Some(7));
    assert_eq!(names(&many), ["most", "middle", "least", "node 7"]);
    let last = many.series.iter().map(|s| s.points[359].y);
    assert!(last.eq([139.0, 70.0, 1.0, 7.0]));
    // Lines without marks differ by their dashes.
    let svg = many.to_svg();
    assert!(svg.matches("stroke-dasharray").count() >= 6);
    assert!(svg.len() < 40_000, "{}", svg.len());
    // Nothing yet.
    assert!(rates(&[], None).to_svg().contains("no data"));
    assert_eq!(rates(&samples(9), Some(77)).series.len(), 3);
}

#[test]
fn time_is_counted_in_a_unit_that_suits() {
    let line = |age: f64| vec![("a".to_owned(), vec![(age, 1.0), (0.0, 2.0)])];
    let label = |age| before_now(("t", "y"), line(age)).x_label;
    let labels = [60.0, 3_600.0, 86_400.0, 1e6].map(label);
    let told = ["s", "min", "h", "days"].map(|unit| format!("{unit} before now"));
    assert_eq!(labels, told);
    let chart = before_now(("t", "y"), line(7_200.0));
    assert_eq!(chart.series[0].points[0].x, -120.0);
}
