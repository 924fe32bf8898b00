//! Hostile input: arbitrary bytes, files cut short anywhere, single wrong bytes.

use std::io::Write;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use thalweg_units::Dbm;

use super::*;

/// A small campaign in the K7 format: five nodes in a row, two channels, two rounds.
fn sample() -> String {
    let mut text = String::from(
        "{\"node_count\": 5, \"channels\": [20, 26], \"tx_length\": 100, \"interframe_duration\": 10, \
         \"start_date\": \"2024-05-01T08:00:00.0\", \"location\": \"a shed\"}\n\
         datetime,src,dst,channel,mean_rssi,pdr,tx_count\n",
    );
    for round in 0..2 {
        for src in 0u16..5 {
            for channel in [20, 26] {
                for dst in 0u16..5 {
                    let apart = src.abs_diff(dst);
                    if apart == 0 || apart > 2 {
                        continue;
                    }
                    let (rssi, pdr) = if apart == 1 {
                        (-71.5, 1.0)
                    } else {
                        (-90.25, 0.43)
                    };
                    text += &format!(
                        "2024-05-01T0{}:{:02}:00.0,{src},{dst},{channel},{rssi},{pdr},100\n",
                        8 + round,
                        src * 2 + u16::from(channel == 26)
                    );
                }
            }
        }
    }
    text
}

fn packed(text: &str) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes()).unwrap();
    gz.finish().unwrap()
}

/// An error is a line for each problem; what is accepted is consistent.
fn check(result: Result<Trace, TestbedError>) -> Result<(), TestCaseError> {
    match result {
        Err(error) => {
            let text = error.to_string();
            prop_assert!(text.lines().count() <= MAX_PROBLEMS + 1, "{}", text);
            let is_told = |line: &str| line.starts_with("in") && line.len() < 1000;
            prop_assert!(text.lines().all(is_told), "{}", text);
        }
        Ok(trace) => {
            prop_assert!(trace.nodes.windows(2).all(|w| w[0] < w[1]));
            for link in &trace.links {
                prop_assert!(usize::from(link.from.max(link.to)) < trace.nodes.len());
                prop_assert!(link.from != link.to && trace.channels.contains(link.channel));
                prop_assert!(link.prr > 0.0 && link.prr <= 1.0, "{}", link.prr);
                prop_assert!(link.rssi_dbm.is_none_or(|r| (-120.0..=20.0).contains(&r)));
            }
        }
    }
    Ok(())
}

#[test]
fn a_trace_cut_anywhere_is_an_error_or_a_valid_trace() {
    let text = sample();
    let whole = read_k7(text.as_bytes(), "in").unwrap();
    assert_eq!((whole.nodes.len(), whole.links.len()), (5, 28));
    assert_eq!(read_k7(&packed(&text)[..], "in").unwrap(), whole);
    for cut in 0..text.len() {
        check(read_k7(&text.as_bytes()[..cut], "in")).unwrap();
    }
    let gz = packed(&text);
    for cut in 0..gz.len() {
        assert!(read_k7(&gz[..cut], "in").is_err());
    }
}

#[test]
fn a_site_can_be_made_of_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shed.k7");
    std::fs::write(&file, sample()).unwrap();
    let site = Site::new(Testbed::load(&file).unwrap(), 1);
    // What was measured is what a frame of the measured size gets.
    let Physics::Measured(measured) = &site.testbed.physics else {
        panic!()
    };
    let expected = site.environment.expected(127, Dbm(0.0));
    for l in &measured.links {
        let ear = |index| thalweg_medium::EarId(u32::from(index));
        let got = expected(ear(l.from), ear(l.to), l.channel);
        assert!((got - l.prr).abs() < 0.01, "{l:?}: {got}");
    }
    let s = summary(&site, &SummaryOptions::default(), |_| ());
    assert_eq!(s.len(), 2);
    for channel in &s {
        assert_eq!(
            (channel.good_links, channel.diameter, channel.unreachable),
            (8, 4, 0)
        );
    }
}

#[test]
fn a_bomb_is_defused() {
    // A gigabyte of one endless line in a megabyte of gzip: refused at its first 64 KiB.
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let block = vec![b'{'; 1 << 20];
    for _ in 0..16 {
        gz.write_all(&block).unwrap();
    }
    let error = read_k7(&gz.finish().unwrap()[..], "in")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("more than 65536 bytes in one line"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(read_k7(&bytes[..], "in"))?;
        check(read_matrix(&bytes[..], "in"))?;
        check(Links::read(&bytes, "in").map(|links| links.trace))?;
        let _ = Testbed::from_toml(&String::from_utf8_lossy(&bytes), "in");
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[-0-9a-z.,:T={}\\[\\]\"\n\r ]{0,300}") {
        check(read_k7(text.as_bytes(), "in"))?;
        check(read_matrix(text.as_bytes(), "in"))?;
        check(read_matrix(format!("src,dst,channel,prr\n{text}").as_bytes(), "in"))?;
        for head in ["src,dst,rssi\n", "time,src,dst,sent,received\n", ",1,2,3\n1,,", "gain 1 2 -70\n"] {
            let text = format!("{head}{text}");
            check(Links::read(text.as_bytes(), "in").map(|links| links.trace))?;
        }
        let _ = Testbed::from_toml(&text, "in");
    }

    #[test]
    fn one_wrong_byte_never_panics(at in 0usize..3000, byte in any::<u8>()) {
        let mut text = sample().into_bytes();
        let place = at % text.len();
        text[place] = byte;
        check(read_k7(&text[..], "in"))?;
        let mut gz = packed(&sample());
        let place = at % gz.len();
        gz[place] ^= byte;
        check(read_k7(&gz[..], "in"))?;
    }
}
