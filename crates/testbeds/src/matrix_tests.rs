//! Link matrices, good and bad.

use super::*;
use crate::error::MAX_PROBLEMS;

fn read(text: &str) -> Result<Trace, String> {
    read_matrix(text.as_bytes(), "m.csv").map_err(|e| e.to_string())
}

#[test]
fn ids_are_sorted_and_columns_come_in_any_order() {
    let trace = read("prr,channel,dst,src\r\n0.5,26,3,40\r\n1,11,40,3\r\n\r\n").unwrap();
    assert!(trace.nodes.iter().map(|n| n.get()).eq([3, 40]));
    assert_eq!(trace.channels.len(), 2);
    let TraceLink { from, to, prr, .. } = trace.links[1];
    assert_eq!((from, to, prr, trace.links[1].rssi_dbm), (1, 0, 0.5, None));
}

#[test]
fn every_error_names_the_line_and_what_was_expected() {
    let refused = |text: &str, expected: &str| {
        let error = read(text).unwrap_err();
        assert!(error.contains(expected), "{text:?}: {error}");
        assert_eq!(error.lines().count(), 1);
    };
    let lacks = "m.csv, line 1: the CSV header lacks the column `channel`";
    refused("", "m.csv, line 1: the file is empty");
    refused("\n\n", "m.csv, line 1: the file is empty");
    refused("src,dst,prr\n", lacks);
    refused("a;b\n", "lacks the column `src`");
    refused("src,dst,channel,prr\n", "m.csv: no links");
    let twice = "line 3: the link 1 -> 2 on channel 26 is given twice";
    for (rows, expected) in [
        ("1,2,26", "line 2: the row has 3 columns, the header 4"),
        ("1,2,27,1", "line 2: channel is `27`; expected"),
        ("1,2,26,1.5", "line 2: prr is `1.5`; expected a ratio"),
        ("1,2,26,NaN", "line 2: prr is `NaN`"),
        ("1,2,26,-0.1", "prr is `-0.1`"),
        ("1,70000,26,1", "dst is `70000`; expected a node's number"),
        ("1,65535,26,1", "dst is `65535`"),
        ("1,1,26,1", "line 2: node 1 has a link to itself"),
        ("1,2,26,1\n1,2,26,0.5", twice),
    ] {
        refused(&format!("src,dst,channel,prr\n{rows}\n"), expected);
    }
    for (rssi, expected) in [("-300", "is `-300`; expected"), ("inf", "is `inf`")] {
        let text = format!("src,dst,channel,prr,rssi_dbm\n1,2,26,1,{rssi}\n");
        refused(&text, &format!("rssi_dbm {expected}"));
    }
    let error = read_matrix(&b"src,dst,channel,prr\n1,\xff,26,1\n"[..], "m.csv").unwrap_err();
    assert!(error.to_string().contains("line 2: not UTF-8"), "{error}");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = "src,dst,channel,prr\n1,x,26,1\n# a remark\n\n1,2,99,1.5\n2,1,26,0.9\n2,1,26,0.9\n";
    let error = read(text).unwrap_err();
    let expected = "m.csv, line 2: dst is `x`; expected a node's number, 0..65533 (column 2)\n\
            m.csv, line 5: channel is `99`; expected a channel of the 2.4 GHz band, 11..26 (column 3)\n\
            m.csv, line 5: prr is `1.5`; expected a ratio from 0 to 1 (column 4)\n\
            m.csv, line 7: the link 2 -> 1 on channel 26 is given twice; expected one row per link";
    assert_eq!(error, expected);
    let many = "src,dst,channel,prr\n".to_owned() + &"1,2,3,4\n".repeat(1000);
    let error = read(&many).unwrap_err();
    assert!(error.lines().count() <= MAX_PROBLEMS + 2, "{error}");
    assert!(
        error.ends_with("m.csv: the rest was not looked at"),
        "{error}"
    );
}

#[test]
fn tables_of_other_programs_are_the_same() {
    let plain = read("src,dst,channel,prr,rssi_dbm\n1,2,26,0.98,-71.5\n2,1,26,0.9,\n").unwrap();
    for text in [
        "src;dst;channel;prr;rssi_dbm\n1;2;26;0.98;-71.5\n2;1;26;0.9;\n",
        "From;To;Ch;PDR;Mean_RSSI\n1;2;26;0,98;-71,5\n2;1;26;0,9;\n",
        "# site A\nsrc\tdst\tchannel\tprr\trssi\n1\t2\t26\t0.98\t-71.5\n# later\n2\t1\t26\t0.9\t\n",
    ] {
        assert_eq!(read(text).as_ref(), Ok(&plain), "{text}");
    }
    for text in [
        "src,dst,channel,prr,rssi_dbm\n1,2,26,98,-71.5\n2,1,26,90,\n",
        "src,dst,channel,prr (%),rssi_dbm\n1,2,26,98,-71.5\n2,1,26,90,\n",
        "src,dst,channel,prr,rssi_dbm\n1,2,26,98%,-71.5\n2,1,26,90 %,\n",
    ] {
        let trace = read(text).unwrap();
        assert_eq!(trace.links, plain.links, "{text}");
        assert_eq!(trace.assumed, [Assumed::Percent]);
    }
    // One slip in a table of ratios does not make it one of percent.
    let slip = read("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,90\n3,1,26,1\n").unwrap_err();
    assert!(slip.contains("line 3: prr is `90`"), "{slip}");
    // Nor does a decimal comma shift what stands behind it.
    let shifted = read("src,dst,channel,prr\n1,2,26,0,98\n").unwrap_err();
    assert!(
        shifted.contains("the row has 5 columns, the header 4"),
        "{shifted}"
    );
}

#[test]
fn a_row_without_a_channel_holds_on_all() {
    let trace = read("src,dst,channel,prr\n1,2,25,0.5\n1,2,,0.9\n2,1,26,1\n").unwrap();
    let there: Vec<f64> = trace.links.iter().map(|l| l.prr).collect();
    assert_eq!(there, [0.5, 0.9, 1.0]);
    assert_eq!(trace.assumed, [Assumed::AllChannels(1)]);
}

#[test]
fn an_endless_line_is_refused() {
    let error = read(&"1".repeat(1 << 17)).unwrap_err();
    let expected = "more than 65536 bytes in one line";
    assert!(error.contains(expected), "{error}");
}
