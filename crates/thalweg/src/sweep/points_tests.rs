//! Points are those that a person means, or the fault is named.
#![allow(clippy::unwrap_used)]

use super::*;

fn axes(texts: &[&str]) -> Vec<Axis> {
    texts
        .iter()
        .map(|text| Axis::parse(text).unwrap())
        .collect()
}

fn of(texts: &[&str], design: Design) -> Vec<Values> {
    points(&axes(texts), design, 1).unwrap()
}

fn fault(text: &str) -> String {
    Axis::parse(text).unwrap_err().to_string()
}

#[test]
fn each_value_runs_with_each_and_values_are_those_of_files() {
    let all = of(
        &["run.payload=40,80", "run.protocols=p3,[\"p3\",\"pip\"]"],
        Design::Grid,
    );
    let lists: Vec<String> = all
        .iter()
        .map(|at| at["run.protocols"].to_string())
        .collect();
    assert_eq!(
        lists,
        ["\"p3\"", "[\"p3\", \"pip\"]", "\"p3\"", "[\"p3\", \"pip\"]"]
    );
    assert_eq!(all[1]["run.payload"], Value::Integer(40));
    assert_eq!(all[2]["run.payload"], Value::Integer(80));
    let files = of(&["run.testbed=a.csv,../b.csv"], Design::Grid);
    assert_eq!(files[1]["run.testbed"].as_str(), Some("../b.csv"));
    assert_eq!(of(&[], Design::Grid), [Values::new()]);
}

#[test]
fn faults_name_the_key() {
    let faults = [
        (
            "payload=4",
            "\"payload\": expected a key of [run], such as run.payload",
        ),
        (
            "run.=4",
            "\"run.\": expected a key of [run], such as run.payload",
        ),
        (
            "run.kind=streams",
            "run.kind: another kind is another experiment",
        ),
        ("run.payload=", "run.payload: a value is missing"),
        ("run.payload=40,,80", "run.payload: a value is missing"),
        (
            "run.payload=80..40",
            "run.payload: the range 80..40 is empty",
        ),
        ("run.x=1.5..1.5", "run.x: the range 1.5..1.5 is empty"),
        ("run.x=0..inf", "run.x: the range 0..inf is empty"),
    ];
    for (text, why) in faults {
        assert_eq!(fault(text), why);
    }
    assert!(fault("run.payload").contains("expected KEY=VALUE"));
    let all = |texts: &[&str], design| points(&axes(texts), design, 1).unwrap_err().to_string();
    assert!(all(&["run.a=1..9"], Design::Grid).starts_with("run.a: a range is drawn from"));
    assert_eq!(
        all(&["run.a=1", "run.a=2"], Design::Grid),
        "run.a: it is given twice"
    );
    let thousand = format!("run.a={}", ["1"; 1000].join(","));
    let again = thousand.replace('a', "b");
    let third = thousand.replace('a', "c");
    let many = "more than 100000 points";
    assert_eq!(all(&[&thousand, &again, &third], Design::Grid), many);
    assert_eq!(all(&["run.a=1..9"], Design::Random(1_000_000_000)), many);
}

#[test]
fn what_is_drawn_lies_in_its_range_and_more_of_it_leaves_the_first() {
    let texts = ["run.a=3..5", "run.b=0.5..1.5", "run.c=x,y"];
    let (few, many) = (
        of(&texts, Design::Random(20)),
        of(&texts, Design::Random(200)),
    );
    assert_eq!(few[..], many[..20]);
    let wholes: Vec<i64> = many
        .iter()
        .map(|at| at["run.a"].as_integer().unwrap())
        .collect();
    assert!([3, 4, 5].iter().all(|n| wholes.contains(n)), "{wholes:?}");
    assert!(wholes.iter().all(|n| (3..=5).contains(n)));
    let numbers = many.iter().map(|at| at["run.b"].as_float().unwrap());
    assert!(numbers.clone().all(|x| (0.5..1.5).contains(&x)));
    assert!(numbers.clone().any(|x| x < 0.6) && numbers.clone().any(|x| x > 1.4));
    assert_ne!(points(&axes(&texts), Design::Random(20), 2).unwrap(), few);
}

#[test]
fn a_latin_hypercube_has_one_point_in_each_slice() {
    let all = of(
        &["run.a=0.0..10.0", "run.b=1..10"],
        Design::LatinHypercube(10),
    );
    let mut slices: Vec<i64> = (all.iter())
        .map(|at| at["run.a"].as_float().unwrap() as i64)
        .collect();
    let mut wholes: Vec<i64> = all
        .iter()
        .map(|at| at["run.b"].as_integer().unwrap())
        .collect();
    assert_ne!(slices, (0..10).collect::<Vec<_>>(), "drawn, not sorted");
    slices.sort_unstable();
    wholes.sort_unstable();
    assert_eq!(slices, (0..10).collect::<Vec<_>>());
    assert_eq!(wholes, (1..=10).collect::<Vec<_>>());
}

#[test]
fn a_table_has_a_point_in_each_row_and_names_the_line_of_a_fault() {
    let points = table("t.csv", "run.payload, run.testbed\n40, line5\n80,\n").unwrap();
    assert_eq!(points[0]["run.testbed"].as_str(), Some("line5"));
    assert_eq!(points[1].len(), 1);
    let fault = |text| table("t.csv", text).unwrap_err().to_string();
    assert_eq!(
        fault("payload\n40\n"),
        "t.csv: line 1: \"payload\": expected a key of [run], such as run.payload"
    );
    assert!(fault("run.a,run.b\n1,2\n1\n").starts_with("t.csv: line 3: "));
    assert!(fault("run.a\n").contains("a row for each point"));
    assert!(fault("run.a,run.a\n1,2\n").contains("run.a: it is given twice"));
}
