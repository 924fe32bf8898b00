//! Readers of link files and testbeds on broken input: an error with a line for each problem, or a testbed that can
//! be used, never a panic. The same as the fuzz targets in `fuzz/`, on a few hundred inputs.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use thalweg_testbeds::{read_k7, read_matrix, Site, Testbed};

const K7: &str =
    "{\"node_count\": 3, \"channels\": [11, 26], \"tx_length\": 100, \"location\": \"a\"}\n\
datetime,src,dst,channel,mean_rssi,pdr,tx_count\n\
2024-05-01T08:00:00.0,0,1,26,-71.5,1.0,100\n2024-05-01T08:00:00.0,0,2,26,-88.2,0.43,100\n";
const CSV: &str = "src,dst,channel,prr,rssi_dbm\n1,2,26,0.98,-71.5\n2,1,26,0.95,-73\n2,3,26,0.4,\n";
const TOML: &str = "name = \"barn\"\nsink = 4\nchannels = [15, 26]\n[[nodes]]\nid = 4\nx_m = 0.0\n\
y_m = 0.0\n[[nodes]]\nid = 11\nx_m = 12.5\ny_m = 3.0\n[propagation]\nwifi = false\n";

/// `text` with some bytes changed, taken out, put in or doubled.
fn broken(text: &str, edits: &[(u8, usize, u8)]) -> Vec<u8> {
    const TOKENS: [&str; 10] = [
        "nan",
        "inf",
        "-1",
        "1e999",
        ",",
        "\n",
        "\"",
        "18446744073709551616",
        "[",
        "\u{feff}",
    ];
    let mut bytes = text.as_bytes().to_vec();
    for (kind, at, value) in edits {
        let at = at % (bytes.len() + 1);
        match kind % 5 {
            0 if at < bytes.len() => bytes[at] = *value,
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 => bytes.truncate(at),
            3 => {
                let token = TOKENS[usize::from(*value) % TOKENS.len()];
                bytes.splice(at..at, token.bytes());
            }
            _ => {
                let copy = bytes[at..(at + usize::from(*value)).min(bytes.len())].to_vec();
                bytes.splice(at..at, copy);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn broken_files_are_errors_of_a_line_each(
        edits in prop::collection::vec((any::<u8>(), any::<usize>(), any::<u8>()), 0..6),
    ) {
        let errors = [
            read_k7(&broken(K7, &edits)[..], "x.k7").err().map(|e| e.to_string()),
            read_matrix(&broken(CSV, &edits)[..], "x.csv").err().map(|e| e.to_string()),
            match Testbed::from_toml(&String::from_utf8_lossy(&broken(TOML, &edits)), "x.toml") {
                Ok(testbed) => {
                    prop_assert!(testbed.nodes.len() >= 2);
                    let nodes = testbed.nodes.len();
                    prop_assert_eq!(Site::new(testbed, 1).environment.ears.len(), nodes);
                    None
                }
                Err(error) => Some(error.to_string()),
            },
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(error.lines().all(|line| line.starts_with("x.")), "{}", error);
        }
    }
}
