//! Files that users give: an error is one line that names the file.

use std::path::Path;

use thalweg_daemon::config::{Config, Transfers};
use thalweg_lab::experiment::Experiment;
use thalweg_testbeds::{matrix_text, read_k7, read_matrix, Links, Testbed};

/// A K7 trace, plain or gzip.
pub fn k7(bytes: &[u8]) {
    if let Err(error) = read_k7(bytes, "x.k7") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.k7")), "{text}");
    }
}

/// A link matrix.
pub fn matrix(bytes: &[u8]) {
    if let Err(error) = read_matrix(bytes, "x.csv") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.csv")), "{text}");
    }
}

/// Links as any program writes them: what is made of them as a CSV is read again.
pub fn links(bytes: &[u8]) {
    match Links::read(bytes, "x") {
        Ok(links) => {
            let text = matrix_text(&links.trace, &[links.written.to_owned()]);
            // Ratios that four digits make zero are links no more.
            if let Ok(again) = Links::read(text.as_bytes(), "x.csv") {
                assert_eq!(again.written, "a CSV of links");
                assert!(again.trace.links.len() <= links.trace.links.len());
            }
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.lines().all(|line| line.starts_with('x')), "{text}");
        }
    }
}

/// A testbed's TOML: an error of one line, or a testbed whose sink is one of its nodes.
pub fn testbed(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Testbed::from_toml(text, "x.toml") {
        Ok(testbed) => assert!(testbed.index_of(testbed.sink).is_some()),
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("x.toml") && !line.contains('\n'), "{line}");
        }
    }
}

/// A gateway's configuration: an error of one line, or values within their bounds.
pub fn config(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Config::parse(text) {
        Ok(config) => {
            let (transfers, network) = (&config.transfers, &config.network);
            assert!((1..=10_000).contains(&transfers.queue));
            assert!(transfers.resurvey_after_h >= 0.0 && transfers.resurvey_after_h.is_finite());
            assert!((0.01..=1_000.0).contains(&network.speed));
            assert!(network.bytes > 0 && network.baud >= 1_200);
            assert!(network.line().is_ok());
            // What is reported about a window is read as the same.
            let windows = transfers
                .windows
                .iter()
                .map(|w| format!("{:?}", w.hours.to_string()));
            let windows: Vec<String> = windows.collect();
            let again = format!("[transfers]\nwindows = [{}]", windows.join(", "));
            let again = Config::parse(&again).expect("it was read");
            let hours = |of: &Transfers| of.windows.iter().map(|w| w.hours).collect::<Vec<_>>();
            assert_eq!(hours(&again.transfers), hours(transfers));
        }
        Err(line) => {
            // Parts that do not suit each other have more than one line of the file.
            let has_place = line.starts_with("line ") || toml::from_str::<Config>(text).is_ok();
            assert!(has_place && !line.contains('\n'), "{line}");
        }
    }
}

/// An experiment's TOML: an error of one line, or one that can be written again.
pub fn experiment(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Experiment::parse(Path::new("x.toml"), text) {
        Ok(experiment) => {
            assert!(!experiment.default_seeds().is_empty());
            assert!(!experiment.json().is_null());
        }
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("x.toml") && !line.contains('\n'), "{line}");
        }
    }
}
