//! Link matrices, good and bad.

use super::*;
use crate::error::MAX_PROBLEMS;
use crate::trace::TraceLink;

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
    let lacks =
        "m.csv, line 1: the heading lacks the column `prr` (or pdr, mean_prr, mean_pdr; or `sent` and `received`; or \
                 `rssi_dbm` alone); it has `src`, `dst`, `channel`";
    refused("", "m.csv, line 1: the file is empty");
    refused("\n\n", "m.csv, line 1: the file is empty");
    refused("src,dst,channel\n", lacks);
    refused(
        "src,dst,channel,prr\n1,2,26,\"1\n",
        "line 2: the quote that opens",
    );
    refused("a;b\n", "lacks the column `src`");
    refused("src,dst,channel,prr\n", "m.csv: no links");
    let twice = "line 3: the link 1 -> 2 on channel 26 is given twice";
    for (rows, expected) in [
        ("1,2,26", "line 2: the row has 3 columns, the header 4"),
        ("1,2,27,1", "line 2: channel is `27`; expected"),
        ("1,2,26,1.5", "line 2: prr is `1.5`; expected a ratio"),
        ("1,2,26,inf", "line 2: prr is `inf`"),
        ("1,2,26,NaN", "no row with a reading; expected at least 1"),
        ("1,2,26,-0.1", "prr is `-0.1`"),
        ("1,70000,26,1", "dst is `70000`; expected a node's number"),
        ("1,65535,26,1", "dst is `65535`"),
        ("1,1,26,1", "m.csv: no links"),
        ("1,2,26,1\n1,2,26,0.5", twice),
    ] {
        refused(&format!("src,dst,channel,prr\n{rows}\n"), expected);
    }
    for (rssi, expected) in [("-300", "is `-300`; expected"), ("inf", "is `inf`")] {
        let text = format!("src,dst,channel,prr,rssi_dbm\n1,2,26,1,{rssi}\n");
        refused(&text, &format!("rssi_dbm {expected}"));
    }
    let error = read_matrix(&b"src,dst,channel,prr\n1,\x81\xff,26,1\n"[..], "m.csv").unwrap_err();
    assert!(error.to_string().contains("line 2: not UTF-8"), "{error}");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let text = "src,dst,channel,prr\n1,x,26,1\n# a remark\n\n1,2,99,1.5\n2,1,26,0.9\n2,1,26,0.9\n";
    let error = read(text).unwrap_err();
    let expected = "m.csv, line 2: dst is `x`; expected a node's number, 0..65533 (column 2)\n\
            m.csv, line 5: channel is `99`; expected a channel of the 2.4 GHz band, 11..26 (column 3)\n\
            m.csv, line 5: prr is `1.5`; expected a ratio from 0 to 1 (column 4)\n\
            m.csv, line 7: the link 2 -> 1 on channel 26 is given twice; expected one row per link, or a CSV with a column `datetime` where there are several days";
    assert_eq!(error, expected);
    let rows: String = (1..=40).map(|dst| format!("0,{dst},26,.9\n")).collect();
    let error = read(&format!("src,dst,channel,prr\n{rows}{rows}")).unwrap_err();
    let folded = "m.csv, line 42: the link 0 -> 1 on channel 26 is given twice, and so are those of 39 more rows; expected";
    assert!(
        error.starts_with(folded) && error.lines().count() == 1,
        "{error}"
    );
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
    let expected = "1 row without a channel: taken for the channels that other rows name: 25, 26";
    assert_eq!(trace.assumed[0].to_string(), expected);
    // Without the column, or with it empty throughout, on all sixteen.
    let bare = read("src,dst,prr\n1,2,0.9\n2,1,0.8\n").unwrap();
    let empty = read("src,dst,channel,prr\n1,2,,0.9\n2,1,,0.8\n").unwrap();
    assert_eq!(bare, empty);
    assert_eq!((bare.links.len(), bare.assumed.len()), (32, 1));
    let expected = "no row names a channel: each was taken for all sixteen channels";
    assert_eq!(bare.assumed[0].to_string(), expected);
}

/// Sender, receiver and ratio of each link on the first channel, and what was assumed.
fn ratios(text: &str) -> (Vec<(u16, u16, f64)>, Vec<String>) {
    let trace = read(text).unwrap();
    let first = trace.channels.iter().next();
    let links = trace.links.iter().filter(|l| Some(l.channel) == first);
    let id = |index: u16| trace.nodes[usize::from(index)].get();
    let links = links.map(|l| (id(l.from), id(l.to), (l.prr * 1000.0).round() / 1000.0));
    let assumed = trace.assumed.iter().map(ToString::to_string);
    (links.collect(), assumed.collect())
}

#[test]
fn frames_sent_and_received_are_a_ratio() {
    let both = vec![(1, 2, 0.9), (2, 1, 0.8)];
    let of = |text: &str| ratios(text).0;
    assert_eq!(
        of("src,dst,channel,sent,received\n1,2,26,100,90\n2,1,26,100,80.0\n"),
        both
    );
    assert_eq!(
        of("tx,rx,ch,sent,lost\n1,2,26,100,10\n2,1,26,50,10\n"),
        both
    );
    let error = read("src,dst,sent,received\n1,2,10,11\n2,1,0,1\n").unwrap_err();
    let expected =
        "m.csv, line 2: the row is `11 of 10`; expected frames sent, at least 1, and no more \
                    received than sent\nm.csv, line 3: the row is `1 of 0`";
    assert!(error.starts_with(expected), "{error}");
    let error = read("src,dst,sent,lost\n1,2,10,20\n").unwrap_err();
    assert!(
        error.contains(
            "the row is `20 of 10`; expected frames sent, at least 1, and no more lost than sent"
        ),
        "{error}"
    );
}

#[test]
fn what_was_measured_on_several_days_is_averaged() {
    let days = "time,src,dst,channel,prr,rssi\n2026-11-01T08:00,1,2,26,0.9,-80\n2026-11-01T08:00,2,1,26,0.9,-80\n\
                2026-11-02T08:00,1,2,26,0.7,-84\n";
    let (links, assumed) = ratios(days);
    assert_eq!(links, [(1, 2, 0.8), (2, 1, 0.9)]);
    assert_eq!(
        assumed,
        [
            "2 rows tell of the same link at several times: the mean was taken",
            "1 of 2 links have no row at some times: those count as not measured, not as silence"
        ]
    );
    // Weighted by the frames, levels by those received.
    let counted =
        read("time,src,dst,prr,sent,rssi\na,1,2,1,300,-70\nb,1,2,0.5,100,-90\nb,2,1,1,1,-70\n");
    let link = counted.unwrap().links[0];
    assert_eq!(link.prr, 0.875);
    assert!((link.rssi_dbm.unwrap() - (-70.0 * 300.0 - 90.0 * 50.0) / 350.0).abs() < 1e-9);
}

#[test]
fn names_become_numbers_and_stay_as_labels() {
    let text = "source,target,channel,prr\nKüche Lampe,Coordinator,15,0.98\nCoordinator,Küche Lampe,15,0.95\n\
                Flur,Küche Lampe,15,0.9\n0x00124b0018ed25fa,Flur,15,1\n";
    let trace = read(text).unwrap();
    let expected = ["Küche Lampe", "Coordinator", "Flur", "0x00124b0018ed25fa"];
    assert!(trace.labels.values().eq(expected));
    assert!(trace.nodes.iter().map(|n| n.get()).eq(1..=4));
    assert_eq!(
        ratios(text).0,
        [(1, 2, 0.98), (2, 1, 0.95), (3, 1, 0.9), (4, 3, 1.0)]
    );
    let short =
        read("src,dst,channel,prr\n0x0000,0x1a2b,15,0.98\n0x1a2b,0x0000,15,0.95\n").unwrap();
    assert!(short.nodes.iter().map(|n| n.get()).eq([0, 0x1a2b]));
    assert!(short.labels.values().eq(["0x0000", "0x1a2b"]));
    // Numbers as a program writes them once a column has a gap; and a label in a remark.
    let floats =
        read("# node 2: pier\nsrc,dst,channel,prr\n1.0,2.0,26.0,0.9\n2,1,26,0.9\n").unwrap();
    assert_eq!((floats.nodes.len(), floats.links.len()), (2, 2));
    assert!(floats.labels.values().eq(["pier"]));
}

#[test]
fn quotes_utf16_and_old_line_ends_are_read() {
    let plain = read("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,0.9\n").unwrap();
    let same = |text: &str| assert_eq!(read(text).unwrap(), plain, "{text}");
    same("\"src\",\"dst\",\"channel\",\"prr\"\n\"1\",\"2\",\"26\",\"0.9\"\n\"2\",\"1\",\"26\",\"0,9\"\n");
    same("note,src,dst,channel,prr\n\"a \"\"b\"\",\nc\",1,2,26,0.9\n,2,1,26,0.9\n");
    same("src,dst,channel,prr\r1,2,26,0.9\r2,1,26,0.9\r");
    let wide = "\u{feff}src\tdst\tchannel\tprr\r\n1\t2\t26\t0,9\r\n2\t1\t26\t0,9\r\n";
    let wide: Vec<u8> = wide.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(read_matrix(&wide[..], "m.csv").unwrap(), plain);
    // What stands on two lines is one row, and the next is two lines on.
    let error = read("src,dst,channel,prr,note\n1,2,26,0.9,\"a\nb\"\n1,2,26,x,\n").unwrap_err();
    assert!(error.contains("line 4: prr is `x`"), "{error}");
}

#[test]
fn rows_without_a_reading_are_left_out_and_counted() {
    let left_out =
        |n: &str| format!("{n} without a reading (empty, NaN, NA or of no frames): left out");
    for nothing in ["", "NaN", "NA", "<NA>", "#N/A", "#DIV/0!"] {
        let text = format!(
            "src,dst,channel,prr\n1,2,26,0.9\n1,3,26,{nothing}\n2,1,26,0.5\n3,1,26,{nothing}\n"
        );
        let (links, assumed) = ratios(&text);
        assert_eq!(links, [(1, 2, 0.9), (2, 1, 0.5)], "{nothing}");
        assert_eq!(assumed, [left_out("2 rows")], "{nothing}");
    }
    // Nodes that only such rows name are there, and a day without a reading does not lower a mean.
    let text = "time,src,dst,pdr\na,1,2,0.9\nb,1,2,\na,2,1,0.8\nb,2,1,0.6\nb,3,1,\n";
    assert_eq!(read(text).unwrap().nodes.len(), 3);
    assert_eq!(ratios(text).0, [(1, 2, 0.9), (2, 1, 0.7)]);
    for text in [
        "src,dst,sent,received\n1,2,10,9\n2,1,0,0\n",
        "src,dst,sent,lost\n1,2,10,1\n2,1,,\n",
        "src,dst,rssi\n1,2,-70\n2,1,nan\n",
    ] {
        assert_eq!(ratios(text).1[0], left_out("1 row"), "{text}");
    }
}

#[test]
fn an_lqi_of_0_is_no_reading() {
    let trace =
        read("source,target,lqi\nA,B,0\nB,A,0\nB,C,255\nC,B,255\nC,D,0\nD,C,200\n").unwrap();
    let ends = |l: &crate::TraceLink| (l.from, l.to);
    let links: std::collections::BTreeSet<_> = trace.links.iter().map(ends).collect();
    // Where one end has a reading, the other is taken to be like it.
    assert!(links.into_iter().eq([(1, 2), (2, 1), (2, 3), (3, 2)]));
    let said: Vec<String> = trace.assumed.iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "3 LQIs of 0, which stand for no reading: left out");
}

#[test]
fn a_table_begins_at_its_heading_whatever_is_above() {
    let plain = ratios("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,0.5\n").0;
    for text in [
        "Bridge survey\nsrc,dst,channel,prr\n1,2,26,0.9\n2,1,26,0.5\n",
        "Ort;Talbrücke, Nord\nDatum;3.11.2026\n\nVon;Nach;Kanal;Empfangsrate\n1;2;26;0,9\n2;1;26;0,5\n",
    ] {
        assert_eq!(ratios(text).0, plain, "{text}");
    }
    let square = ratios("Levels of May\n,1,2\n1,,0.9\n2,0.5,\n").0;
    assert_eq!(square, [(1, 2, 0.9), (2, 1, 0.5)]);
    let error = read("Bridge survey\nsrc,dst,prr\n1,2,x\n").unwrap_err();
    assert!(error.starts_with("m.csv, line 3: prr is `x`"), "{error}");
}

#[test]
fn an_eui_64_is_one_node_however_it_is_spelled() {
    let text = "src,dst,channel,prr\n0x00124b0018ed25fa,gate,26,0.9\ngate,00:12:4B:00:18:ED:25:FA,26,0.8\n\
                00-12-4b-00-18-ed-25-fa,shed,26,0.7\nshed,00124b0018ed25fa,26,0.6\n0012.4b00.18ed.25fa,pier,26,0.5\n";
    let trace = read(text).unwrap();
    let names = ["0x00124b0018ed25fa", "gate", "shed", "pier"];
    assert!(trace.labels.values().eq(names));
    let testbed = crate::Testbed::from_trace(trace, "m");
    let called = |name: &str| testbed.called(name).map(|id| id.get());
    assert_eq!(called("00-12-4B-00-18-ED-25-FA"), Ok(1));
    assert_eq!(called("gate"), Ok(2));
    assert!(called("00-12-4B-00-18-ED-25-FB").is_err());
}

#[test]
fn self_links_are_left_out_and_counted() {
    let (links, assumed) = ratios("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,0.9\n1,1,26,1\n");
    assert_eq!(links.len(), 2);
    assert_eq!(assumed, ["1 row about a node and itself: left out"]);
}

#[test]
fn a_level_alone_has_the_ratio_of_the_board_at_that_level() {
    let text = "from,to,rssi\n1,2,-72\n2,1,-94\n2,3,-110\n3,2,\n";
    let trace = read(text).unwrap();
    let on_first = |from| trace.links.iter().find(|l| l.from == from).map(|l| l.prr);
    // Far above the sensitivity of a CC2420, and at its edge.
    assert!(on_first(0).unwrap() > 0.999);
    let weak = on_first(1).unwrap();
    assert!((0.3..1.0).contains(&weak), "{weak}");
    // The other way round: that ratio needs that level.
    let levels = Reception::default().frame.levels(Reception::default().chip);
    assert!((levels.needed(weak).0 + 94.0).abs() < 0.1);
    let said = trace.assumed.iter().map(ToString::to_string);
    let rule = "have no reception ratio: they got the share of 127-byte frames that telosb receives at the link's level";
    assert_eq!(
        said.filter(|a| a.contains(rule)).count(),
        1,
        "{:?}",
        trace.assumed
    );
    // Link quality indications are levels on another scale.
    let lqi = read("source,target,lqi\nlamp,hub,255\nhub,lamp,51\n").unwrap();
    let levels: Vec<f64> = lqi.links.iter().map(|l| l.rssi_dbm.unwrap()).collect();
    assert_eq!((levels[0], levels[16].round()), (-10.0, -72.0));
    assert_eq!(lqi.assumed[0], Assumed::LevelsByLqi);
}

#[test]
fn german_headings_titles_and_marks_of_parting_are_read() {
    let plain = ratios("src,dst,channel,prr\n1,2,26,0.9\n2,1,26,0.5\n").0;
    for text in [
        "\"Sender\";\"Empfänger\";\"Kanal\";\"Empfangsrate\"\r\n\"1\";\"2\";26;0,9\r\n\"2\";\"1\";26;0,5\r\n",
        "Von;Nach;Kanal;Empfangsrate [%];Pegel [dBm]\n1;2;26;90;-71,5\n2;1;26;50;-72\n",
        "Von;Nach;Kanal;Empfangsrate in %;Pegel in dBm\n1;2;26;90;-71,5 dBm\n2;1;26;50;-72dbm\n",
        "Absender;Ziel;Kanal;Gesendet;Empfangen\n1;2;26;10;9\n2;1;26;10;5\n",
        // A title above the heading, an empty row, rows of nothing at the end.
        "Messung;;;\n;;;\nsrc;dst;channel;prr\n1;2;26;0,9\n;;;\n2;1;26;0,5\n;;;\n;;;\n",
        "sep=;\r\nsrc;dst;channel;prr\r\n1;2;26;0,9\r\n2;1;26;0,5\r\n",
    ] {
        assert_eq!(ratios(text).0, plain, "{text}");
    }
}

#[test]
fn rows_of_neighbour_tables_say_who_sends() {
    let links = vec![(1, 2, 0.9), (2, 1, 0.5)];
    let heard = ratios("Knoten;Nachbar;Kanal;Empfangsrate\n2;1;26;0,9\n1;2;26;0,5\n");
    assert_eq!(
        (heard.0, &heard.1[0][..]),
        (
            links.clone(),
            "a row tells what the node received of its neighbour"
        )
    );
    let sent = ratios("node,neighbor,channel,sent,acked\n1,2,26,10,9\n2,1,26,10,5\n");
    assert_eq!(
        (sent.0, &sent.1[0][..]),
        (
            links.clone(),
            "a row tells what the node sent to its neighbour"
        )
    );
    let smip = "macAddress,moteId,neighborId,rssi,numTxPackets,numTxFailures\n00-17-0D-00-00-30-00-01,1,2,-62,10,1\n\
                00-17-0D-00-00-30-00-02,2,1,-62,10,5\n";
    assert_eq!(ratios(smip).0, links);
    // Whose delivery it is stays open.
    let error = read("node,neighbor,pdr\n1,2,0.9\n").unwrap_err();
    assert!(error.contains("lacks the column `src`"), "{error}");
}

#[test]
fn a_square_table_has_senders_in_rows() {
    let (links, assumed) = ratios(",1,2,3\n1,,0.9,\n2,0.8,,0.4\n3,,0.5,1\n");
    assert_eq!(links, [(1, 2, 0.9), (2, 1, 0.8), (2, 3, 0.4), (3, 2, 0.5)]);
    let expected = "a square table: rows are senders, columns receivers; on all channels";
    assert_eq!(assumed, [expected]);
    let cornered = ratios("src,1.0,2.0,3.0\n1.0,,0.9,\n2.0,0.8,,0.4\n3.0,,0.5,1\n");
    assert_eq!(cornered.0, links);
    // As R writes it: a corner and names in quotes, and NA for what there is not.
    let r = ratios("\"\",\"1\",\"2\",\"3\"\n\"1\",,0.9,NA\n\"2\",0.8,NA,0.4\n\"3\",n/a,0.5,\n");
    assert_eq!(r.0, links);
    // A row is split once: what was in quotes parts no columns.
    let german = ratios("\"\",\"1\",\"2\"\n\"1\",,\"0,9\"\n\"2\",\"0,8\",\n");
    assert_eq!(german.0, [(1, 2, 0.9), (2, 1, 0.8)]);
    let open = read("\"\",\"1\",\"2\"\n\"1,,0.9\n2,0.8,\n").unwrap_err();
    assert!(open.contains("line 2: the quote that opens"), "{open}");
    let percent = ratios("node;1;2;3\n1;;90;\n2;80,0;;40\n3;;50;\n");
    assert_eq!(percent.0, links);
    // A pivot table whose rows are receivers, with names and per cents as a spreadsheet shows them.
    let pivot = read("dst,Pier Süd,Turm\nPier Süd,-,90 %\nTurm,\"80,5 %\",\n").unwrap();
    assert!(pivot.labels.values().eq(["Pier Süd", "Turm"]));
    let first = pivot.links.iter().find(|link| link.from == 0).unwrap();
    assert_eq!((first.to, first.prr, pivot.links.len()), (1, 0.805, 32));
    let levels =
        read("tx\\rx,pier,shed,barn\npier,0,-70,-90\nshed,-71,,0\nbarn,-72,-95,\n").unwrap();
    assert_eq!(levels.links.len(), 5 * 16);
    assert!(levels.labels.values().eq(["pier", "shed", "barn"]));
    assert_eq!(levels.links[0].rssi_dbm, Some(-70.0));
    let error = read(",1,2,3\n1,,0.9,\n2,0.8,,1.4\n").unwrap_err();
    assert!(
        error.contains("line 3: 3 is `1.4`; expected a ratio"),
        "{error}"
    );
}

#[test]
fn an_endless_line_is_refused() {
    let error = read(&"1".repeat(1 << 17)).unwrap_err();
    let expected = "more than 65536 bytes in one line";
    assert!(error.contains(expected), "{error}");
}
