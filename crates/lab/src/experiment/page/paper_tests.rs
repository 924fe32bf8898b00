use super::*;
use crate::results::Value;

/// A value of `cit.fig5`, whose band begins at 0.95 and whose miss on one hop is excused at 0.656.
fn of_bound(hops: i64, value: f64) -> Measured {
    let at = [
        ("channels", Value::from("one")),
        ("hops", Value::Whole(hops)),
    ];
    Measured {
        metric: "of_bound".to_owned(),
        at: at.map(|(column, value)| (column.to_owned(), value)).into(),
        value,
        ci95: Some([value - 0.001, value + 0.001]),
        ci99: None,
        n: 10,
        unit: String::new(),
    }
}

fn measurement(measured: Vec<Measured>) -> Measurement {
    Measurement {
        id: "cit.fig5".to_owned(),
        version: "1.2.3".to_owned(),
        extent: Extent::Full,
        seeds: (1..=10).collect(),
        rows: 240,
        notes: vec!["of_bound: of 12 of 240 rows (cca off)".to_owned()],
        measured,
    }
}

fn page(measured: Vec<Measured>) -> String {
    let experiments = Experiment::built_in().unwrap();
    let results = PaperResults::default().with(measurement(measured));
    results.page("cit", &experiments).unwrap()
}

#[test]
fn a_file_gives_back_what_was_measured() {
    let results = PaperResults::default()
        .with(measurement(vec![of_bound(1, 0.656), of_bound(2, 0.995)]))
        .with(Measurement {
            id: "cit.bounds".to_owned(),
            ..measurement(Vec::new())
        });
    let text = results.json().unwrap();
    assert_eq!(
        serde_json::from_str::<PaperResults>(&text).unwrap(),
        results
    );
    // A line for each value.
    assert_eq!(
        text.lines().filter(|l| l.contains("of_bound\"")).count(),
        2,
        "{text}"
    );
    // What is measured again takes the place of what was known.
    let again = results.clone().with(measurement(vec![of_bound(1, 0.66)]));
    assert_eq!(again.results.len(), 2);
    assert_eq!(again.of("cit.fig5").unwrap().measured[0].value, 0.66);
}

#[test]
fn a_page_has_each_value_beside_the_papers_and_each_miss_with_its_reason() {
    let page = page(vec![of_bound(1, 0.656), of_bound(2, 0.995)]);
    let line = |start: &str| {
        let mut lines = page.lines().filter(|line| line.starts_with(start));
        lines
            .next()
            .unwrap_or_else(|| panic!("{start}: {page}"))
            .to_owned()
    };
    let two = line("| of_bound (channels one, hops 2) |");
    assert!(
        two.contains("| 0.995 \u{b1} 0.001 | 0.97 | at least 0.95 | [F] within |"),
        "{two}"
    );
    let miss = line("  * `cit.fig5` of_bound (channels one, hops 1): 0.656");
    assert!(
        miss.ends_with("band at least 0.95, excused at 0.656 \u{b1} 0.033"),
        "{miss}"
    );
    assert!(line("* Nobody forwards on a single hop").len() > 40);
    assert!(line("# Conditional").ends_with("beside the paper's"));
    assert!(page.contains("`thalweg run cit.fig5`: seeds 1 to 10, 240 rows, version 1.2.3."));
    assert!(page.contains("of 12 of 240 rows"));
    // Claims that nothing answers, and results that nobody measured, are said.
    assert!(page.contains("`cit.fig5` throughput was not measured."));
    assert!(line("Not measured yet: ").contains("`cit.fig4`"));
    assert!(line("`thalweg reproduce cit").contains("version 1.2.3"));
}

#[test]
fn a_value_that_no_exception_excuses_is_said_to_be_outside() {
    let page = page(vec![of_bound(2, 0.5)]);
    assert!(page.contains("[F] outside |"), "{page}");
    assert!(
        page.contains("* Not explained.\n  * `cit.fig5` of_bound"),
        "{page}"
    );
}

#[test]
fn the_command_says_which_seeds_and_whether_few() {
    let experiments = Experiment::built_in().unwrap();
    let command = |measurement: Measurement| {
        let results = PaperResults::default().with(measurement);
        results.page("cit", &experiments).unwrap()
    };
    let few = measurement(Vec::new());
    let seeds = Measurement {
        seeds: vec![3, 4, 5],
        ..few.clone()
    };
    assert!(command(seeds).contains("`thalweg run cit.fig5 --seeds 3..5`: seeds 3 to 5"));
    let quick = Measurement {
        extent: Extent::Quick,
        ..few
    };
    assert!(command(quick).contains("`thalweg reproduce cit.fig5 --quick`"));
}
