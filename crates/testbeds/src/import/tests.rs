//! What other programs write, each in a few lines of its own, whole and damaged.

use std::io::Write;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

mod meshes;

fn load(bytes: &[u8]) -> Result<(Format, Trace), String> {
    let format = Format::of(bytes, &crate::text::beginning(bytes)).ok_or("no format")?;
    let read = read(format, bytes, "in", &Reception::default());
    read.map(|trace| (format, trace)).map_err(|e| e.to_string())
}

/// Sender, receiver, ratio and level of the links on the first channel.
fn links(trace: &Trace) -> Vec<(u16, u16, f64, Option<f64>)> {
    let first = trace.channels.iter().next();
    let id = |index: u16| trace.nodes[usize::from(index)].get();
    let of_first = trace.links.iter().filter(|l| Some(l.channel) == first);
    let hundredth = |x: f64| (x * 100.0).round() / 100.0;
    let link = |l: &crate::TraceLink| {
        (
            id(l.from),
            id(l.to),
            hundredth(l.prr),
            l.rssi_dbm.map(hundredth),
        )
    };
    of_first.map(link).collect()
}

fn said(trace: &Trace) -> String {
    let lines: Vec<String> = trace.assumed.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

const COOJA: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<simconf version="2023090101"><simulation><radiomedium>
org.contikios.cooja.radiomediums.DirectedGraphMedium
<edge><source>1</source><dest>org.contikios.cooja.radiomediums.DGRMDestinationRadio<radio>2</radio><ratio>0.9</ratio><signal>-80.0</signal><channel>-1</channel></dest></edge>
<edge><source>2</source><dest><radio>1</radio><ratio>0.5</ratio><signal>-10.0</signal></dest></edge>
</radiomedium></simulation></simconf>"#;

#[test]
fn cooja_edges_are_links() {
    let (format, trace) = load(COOJA.as_bytes()).unwrap();
    assert_eq!(format, Format::Cooja);
    assert_eq!(links(&trace), [(1, 2, 0.9, Some(-80.0)), (2, 1, 0.5, None)]);
    let error = load(COOJA.replace("0.9<", "1.9<").as_bytes()).unwrap_err();
    assert_eq!(error, "in, line 4: ratio is `1.9`; expected 0 to 1");
    let disc = "<simconf><radiomedium>org.contikios.cooja.radiomediums.UDGM<range>50</range></radiomedium></simconf>";
    let error = load(disc.as_bytes()).unwrap_err();
    assert!(
        error.contains("radio medium (UDGM) has no edges; expected DirectedGraphMedium"),
        "{error}"
    );
    // Deep enough to fill a stack that calls itself for each.
    let deep = "<simconf>".to_owned() + &"<a>".repeat(100_000);
    let error = load(deep.as_bytes()).unwrap_err();
    assert_eq!(error, "in: more than 256 levels of XML elements");
}

const ZIGBEE: &str = r#"{"data":{"type":"raw","value":{"nodes":[{"ieeeAddr":"0x00124b0000000001","friendlyName":"Coordinator","type":"Coordinator"},
{"ieeeAddr":"0x00124b0000000002","friendlyName":"Küche"}],"links":[{"source":{"ieeeAddr":"0x00124b0000000002"},
"target":{"ieeeAddr":"0x00124b0000000001"},"linkquality":51,"lqi":51,"relationship":1}]}},"status":"ok"}"#;

#[test]
fn a_zigbee_map_has_levels_by_lqi_and_friendly_names() {
    let (format, trace) = load(ZIGBEE.as_bytes()).unwrap();
    assert_eq!(format, Format::ZigbeeMap);
    assert!(trace.labels.values().eq(["Coordinator", "Küche"]));
    // A fifth of the way from -87 to -10 dBm; the other direction is taken to be like it.
    let expected = [(1, 2, 1.0, Some(-71.6)), (2, 1, 1.0, Some(-71.6))];
    assert_eq!(links(&trace), expected);
    let said = said(&trace);
    for rule in [
        "levels are those of the LQI",
        "1 link measured in one direction only",
        "got the share",
    ] {
        assert!(said.contains(rule), "{rule}: {said}");
    }
    let error = load(ZIGBEE.replace(":51", ":256").as_bytes()).unwrap_err();
    assert_eq!(
        error,
        "in: links[0].lqi is `256`; expected a link quality indication, 0 to 255"
    );
    let error = load(br#"{"data":{"type":"graphviz","value":7}}"#).unwrap_err();
    assert!(
        error.contains("a zigbee2mqtt network map of another type"),
        "{error}"
    );
}

#[test]
fn thread_link_qualities_are_levels() {
    let text = r#"[{"ExtAddress":"00124b0018ed25fa","Rloc16":1024,"Route":{"IdSequence":3,"RouteData":[
        {"RouteId":1,"LinkQualityOut":0,"LinkQualityIn":0,"RouteCost":1},
        {"RouteId":2,"LinkQualityOut":1,"LinkQualityIn":3,"RouteCost":1},
        {"RouteId":3,"LinkQualityOut":0,"LinkQualityIn":0,"RouteCost":2}]},
        "ChildTable":[{"ChildId":1,"LinkQuality":2}]}]"#;
    let (format, trace) = load(text.as_bytes()).unwrap();
    assert_eq!(format, Format::Thread);
    let links = links(&trace);
    let levels: Vec<_> = links
        .iter()
        .map(|(a, b, _, dbm)| (*a, *b, dbm.unwrap()))
        .collect();
    // From router 1 (0x0400) to 2 (0x0800) and back; of its child, both ways.
    let expected = [
        (1024, 1025, -85.0),
        (1024, 2048, -95.0),
        (1025, 1024, -85.0),
        (2048, 1024, -50.0),
    ];
    assert_eq!(levels, expected);
    // A router is called by its address, where it gives it.
    let names = ["00124b0018ed25fa", "0x0401", "0x0800"];
    assert!(trace.labels.values().eq(names));
    assert!(said(&trace).contains("OpenThread's typical margins"));
    // The names of the newer interface.
    let new = r#"{"data":[{"attributes":{"rloc16":"0x0400","route":{"routeData":[{"routeId":2,"linkQualityIn":3,"linkQualityOut":3}]}}}]}"#;
    assert_eq!(load(new.as_bytes()).unwrap().1.links.len(), 32);
    let error = load(br#"{"rloc16": 1}"#).unwrap_err();
    assert!(error.contains("without link qualities"), "{error}");
}

#[test]
fn tossim_gains_are_levels() {
    let text = "gain\t1\t2\t-61.4\ngain\t2\t1\t-62.0\ngain 2 3 -170.2\nnoise\t1\t-105.3\t5.4\n";
    let (format, trace) = load(text.as_bytes()).unwrap();
    assert_eq!(format, Format::Gains);
    assert_eq!(
        links(&trace),
        [(1, 2, 1.0, Some(-61.4)), (2, 1, 1.0, Some(-62.0))]
    );
    let error = load(format!("{text}gain 1 x\n").as_bytes()).unwrap_err();
    let expected = "in, line 5: the line is `gain 1 x`; expected `gain SENDER RECEIVER DBM`";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn contiki_logs_tell_of_frames_acknowledged() {
    let cooja = "00:01.5\tID:1\t[INFO: Main      ] Starting Contiki-NG\n\
        01:00.0\tID:1\t[INFO: Link Stats] num packets: tx=120 ack=90 rx=90 queue_drops=0 to=0002.0002.0002.0002\n\
        02:00.0\tID:1\t[INFO: Link Stats] num packets: tx=80 ack=70 rx=1 queue_drops=0 to=0002.0002.0002.0002\n\
        02:00.0\tID:2\t[INFO: Link Stats] num packets: tx=0 ack=0 rx=9 queue_drops=0 to=0001.0001.0001.0001\n";
    let (format, trace) = load(cooja.as_bytes()).unwrap();
    assert_eq!(format, Format::Contiki);
    assert_eq!(links(&trace), [(1, 2, 0.8, None), (2, 1, 0.8, None)]);
    assert!(said(&trace).contains("a ratio is that of transmissions acknowledged"));
    // ETX where there are no counters; addresses by the line of the start; a testbed's names.
    let lab = "1.5;m3-1;[INFO: Main      ] Link-layer address: 0012.4b00.0000.0001\n\
        1.6;m3-2;[INFO: Main      ] Link-layer address: 0012.4b00.0000.0002\n\
        9.0;m3-1;[INFO: RPL       ] nbr: fe80::212:4b00:0:2   0,  256 =>   256 -- 45 rb fp (last tx 0 min ago)\n";
    let trace = load(lab.as_bytes()).unwrap().1;
    assert!(trace.labels.values().eq(["m3-1", "m3-2"]));
    assert_eq!(links(&trace)[0], (1, 2, 0.5, None));
    let serial =
        "600142000 28 [INFO: Link Stats] num packets: tx=10 ack=9 rx=0 to=0014.0014.0014.0014\n";
    assert_eq!(
        links(&load(serial.as_bytes()).unwrap().1)[0],
        (20, 28, 0.9, None)
    );
    // The log of one node.
    let own = "[INFO: Main      ] Link-layer address: 0012.4b00.0000.0001\n\
               [INFO: Link Stats] num packets: tx=10 ack=9 rx=9 to=0012.4b00.0000.0002\n";
    let trace = load(own.as_bytes()).unwrap().1;
    assert_eq!(links(&trace), [(1, 2, 0.9, None), (2, 1, 0.9, None)]);
    assert!(trace
        .labels
        .values()
        .eq(["0012.4b00.0000.0001", "0012.4b00.0000.0002"]));
    let two = own.to_owned() + &own.replace("0001", "0003");
    assert!(
        load(two.as_bytes()).is_err(),
        "either may have written each line"
    );
    let nameless = "[INFO: Link Stats] num packets: tx=120 ack=118 rx=90 to=0012.4b00.0000.0002\n";
    let error = load(nameless.as_bytes()).unwrap_err();
    assert!(
        error.contains("do not say which node wrote them; expected `ID:2` (Cooja)"),
        "{error}"
    );
}

#[test]
fn mercator_rows_are_counted_against_what_was_sent() {
    let head = "timestamp,mac,frequency,length,rssi,crc,expected,srcmac,transctr,pkctr,nbpackets";
    let row = |to: u8, from: u8, packet: u8, crc: u8| {
        format!("2017.06.20_16.22.15,14-15-92-00-00-00-00-0{to},2405,100,-7{to},{crc},{crc},14-15-92-00-00-00-00-0{from},0x01,{packet},4\n")
    };
    let rows = [
        row(2, 1, 0, 1),
        row(2, 1, 1, 1),
        row(2, 1, 2, 0),
        row(3, 1, 3, 1),
        row(1, 2, 0, 1),
    ];
    let (format, trace) = load(format!("{head}\n{}", rows.concat()).as_bytes()).unwrap();
    assert_eq!((format, trace.channels.len()), (Format::Mercator, 1));
    let expected = [
        (1, 2, 0.5, Some(-72.0)),
        (1, 3, 0.25, Some(-73.0)),
        (2, 1, 0.25, Some(-71.0)),
    ];
    let by_label = |id: u16| {
        trace
            .labels
            .iter()
            .find(|(n, _)| n.get() == id)
            .unwrap()
            .1
            .as_bytes()[22]
            - b'0'
    };
    let mut found: Vec<_> = links(&trace)
        .into_iter()
        .map(|(a, b, p, r)| (by_label(a).into(), by_label(b).into(), p, r))
        .collect();
    found.sort_by_key(|(a, b, ..)| (*a, *b));
    assert_eq!(found, expected);
    // One row for each receiver.
    let counted = "timestamp,mac,frequency,sourcemac,transctr,numtxmine,numrxmine,rssimine\nx,b,2480,a,0x01,100,90,-70\nx,b,2480,a,0x02,100,70,-70\n";
    assert_eq!(
        links(&load(counted.as_bytes()).unwrap().1),
        [(1, 2, 0.8, Some(-70.0))]
    );
    let error = load(format!("{head}\nx,1,2405.5,1,-70,1,1,2,0,0,4\n").as_bytes()).unwrap_err();
    assert!(
        error.contains("line 2: frequency is `2405.5`; expected 2405 to 2480 MHz"),
        "{error}"
    );
    // Channels are frequencies here.
    let error = load(b"mac,frequency\nb,2480\n").unwrap_err();
    assert!(
        error.contains("lacks the column `srcmac`") && !error.contains("channel"),
        "{error}"
    );
}

/// A workbook with these parts, deflated or stored.
fn archive(parts: &[(&str, &str)], deflated: bool) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in parts {
        let data = match deflated {
            true => {
                let mut packed =
                    flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
                packed.write_all(text.as_bytes()).unwrap();
                packed.finish().unwrap()
            }
            false => text.as_bytes().to_vec(),
        };
        let at = file.len() as u32;
        let method: u16 = if deflated { 8 } else { 0 };
        let mut common = Vec::new();
        common.extend([20, 0, 0, 0]);
        common.extend(method.to_le_bytes());
        common.extend([0; 8]);
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((text.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        file.extend(*b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(&data);
        directory.extend(*b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = file.len() as u32;
    file.extend(&directory);
    file.extend(*b"PK\x05\x06\0\0\0\0");
    file.extend((parts.len() as u16).to_le_bytes());
    file.extend((parts.len() as u16).to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(at.to_le_bytes());
    file.extend([0, 0]);
    file
}

const SHEET: &str = r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>
<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>PRR, [%]</t></is></c></row>
<row r="3"><c r="A3"><v>1</v></c><c r="B3"><v>2</v></c><c r="C3"><f>9/10</f><v>0.9</v></c></row>
<row r="4"><c r="A4"><v>2</v></c><c r="B4"><v>1</v></c><c r="C4" t="str"><v>0.8</v></c><c r="E4" t="e"><v>#DIV/0!</v></c></row>
</sheetData></worksheet>"#;
const STRINGS: &str = r#"<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><r><t>s</t></r><r><t>rc</t></r></si><si><t>dst</t></si></sst>"#;

fn workbook(sheet: &str, deflated: bool) -> Vec<u8> {
    let book = r#"<workbook xmlns:r="x"><sheets><sheet name="links" sheetId="7" r:id="rId3"/></sheets></workbook>"#;
    let links =
        r#"<Relationships><Relationship Id="rId3" Target="worksheets/links.xml"/></Relationships>"#;
    let parts = [
        ("[Content_Types].xml", "<Types/>"),
        ("xl/workbook.xml", book),
        ("xl/_rels/workbook.xml.rels", links),
        ("xl/sharedStrings.xml", STRINGS),
        ("xl/worksheets/links.xml", sheet),
    ];
    archive(&parts, deflated)
}

#[test]
fn the_first_sheet_of_a_workbook_is_a_table() {
    for deflated in [true, false] {
        let (format, trace) = load(&workbook(SHEET, deflated)).unwrap();
        assert_eq!(format, Format::Xlsx);
        // A cell that shows 90 % holds 0.9.
        assert_eq!(links(&trace), [(1, 2, 0.9, None), (2, 1, 0.8, None)]);
    }
    let error = load(&workbook(&SHEET.replace(">0.8<", ">no<"), true)).unwrap_err();
    assert!(error.contains("line 4: prr, [%] is `no`"), "{error}");
    let square = r#"<worksheet><row><c/><c><v>1</v></c><c><v>2</v></c></row><row><c><v>1</v></c><c/><c><v>-70</v></c></row>
        <row><c><v>2</v></c><c><v>-71</v></c><c/></row></worksheet>"#;
    let trace = load(&workbook(square, true)).unwrap().1;
    assert_eq!(
        links(&trace),
        [(1, 2, 1.0, Some(-70.0)), (2, 1, 1.0, Some(-71.0))]
    );
    for sheet in [
        r#"<row r="1048577"/>"#,
        r#"<row r="2"/><row r="1"/>"#,
        r#"<row><c r="ZZZZ1"/></row>"#,
        r#"<row><c r="XFE1"/></row>"#,
    ] {
        assert!(load(&workbook(&format!("<worksheet>{sheet}</worksheet>"), true)).is_err());
    }
    // Short, but of gigabytes once it is unpacked: each row has sixteen thousand cells.
    let wide = r#"<row><c r="XFD1"><v>1</v></c></row>"#.repeat(5_000);
    let error = load(&workbook(&format!("<worksheet>{wide}</worksheet>"), true)).unwrap_err();
    assert!(error.contains("more than 67108864 bytes"), "{error}");
    // Within one row, before its last cell is looked at.
    let long = format!("<si><t>{}</t></si>", "x".repeat(1 << 20));
    let cells = "<c t=\"s\"><v>0</v></c>".repeat(80) + r#"<c r="ZZZZ1"/>"#;
    let sheet = format!("<worksheet><row>{cells}</row></worksheet>");
    let strings = format!("<sst>{long}</sst>");
    let parts = [
        ("xl/sharedStrings.xml", &*strings),
        ("xl/worksheets/sheet1.xml", &*sheet),
    ];
    let error = load(&archive(&parts, true)).unwrap_err();
    assert!(error.contains("more than 67108864 bytes"), "{error}");
}

#[test]
fn what_cannot_be_read_is_named() {
    for (start, expected) in [
        (
            &b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"[..],
            "a spreadsheet of old (XLS): save it as XLSX or CSV",
        ),
        (
            b"PK\x03\x04mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "(ODS): save it as XLSX or CSV",
        ),
        (
            b"macAddress,neighborId,rssi,numTxPackets,numTxFailures\n00-17-0D,2,-62,96,10\n",
            "health reports of SmartMesh: rows name a mote by its address and its neighbour by number",
        ),
        (b"PK\x03\x04 links.csv", "a ZIP archive: unpack it"),
        (b"{\"ieeeAddr\": ", "malformed JSON"),
        (b"<?xml version=\"1.0\"?><simconf>", "malformed XML"),
    ] {
        let error = load(start).unwrap_err();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let text = "src,dst,channel,prr\n1,2,26,1\n";
    assert_eq!(Format::of(text.as_bytes(), text.as_bytes()), None);
}

#[test]
fn a_file_of_one_long_line_is_read() {
    let link = r#"{"source":{"ieeeAddr":"0x2"},"target":{"ieeeAddr":"0x1"},"lqi":51},"#;
    let map = ZIGBEE.replace('\n', "");
    let map = map.replace(
        r#""links":["#,
        &format!(r#""links":[{}"#, link.repeat(2_000)),
    );
    let cooja = COOJA.replace('\n', " ");
    let cooja = cooja.replace("<edge>", &("<!-- -->".repeat(10_000) + "<edge>"));
    for (text, expected) in [(map, Format::ZigbeeMap), (cooja, Format::Cooja)] {
        assert!(text.len() > 128 << 10 && !text.contains('\n'));
        let (format, trace) = load(text.as_bytes()).unwrap();
        assert_eq!((format, trace.channels.len()), (expected, 16));
    }
}

#[test]
fn what_is_written_is_a_matrix_whatever_its_remarks_say() {
    for sample in samples() {
        let (format, trace) = load(&sample).unwrap();
        let remarks = [
            format!("Links of n.log, {}, read by thalweg.", format.name()),
            "gain 1 2 -60".to_owned(),
            "1 ID:1 [INFO: RPL] of macAddress, neighborId, frequency".to_owned(),
        ];
        for some in [&remarks[..1], &remarks[1..2], &remarks[2..]] {
            let text = crate::matrix_text(&trace, some);
            let again = crate::Links::read(text.as_bytes(), "n").unwrap();
            assert_eq!(again.written, "a CSV of links", "{text}");
            assert_eq!(links(&again.trace).len(), links(&trace).len(), "{text}");
        }
    }
}

#[test]
fn cells_of_a_table_may_name_any_program() {
    let table = "src,dst,prr,remark\nContiki-NG-1,b,0.9,[INFO: x]\nb,Contiki-NG-1,0.8,\n";
    let links = crate::Links::read(table.as_bytes(), "n").unwrap();
    assert_eq!(
        (links.written, links.trace.links.len()),
        ("a CSV of links", 32)
    );
}

#[test]
fn a_coordinator_without_a_name_is_node_one_all_the_same() {
    let text = ZIGBEE.replace(r#""friendlyName":"Coordinator","#, "");
    let trace = load(text.as_bytes()).unwrap().1;
    assert!(trace.labels.values().eq(["0x00124b0000000001", "Küche"]));
}

/// A file of each format.
fn samples() -> Vec<Vec<u8>> {
    let lines = "gain 1 2 -61\ngain 2 1 -62\n";
    let log = "1 ID:1 [INFO: Link Stats] num packets: tx=9 ack=8 rx=9 to=0002.0002.0002.0002\n";
    let rows =
        "timestamp,mac,frequency,sourcemac,transctr,numtxmine,numrxmine\nx,b,2480,a,0x01,100,90\n";
    let thread = r#"[{"Rloc16":1024,"Route":{"RouteData":[{"RouteId":2,"LinkQualityOut":1,"LinkQualityIn":3}]}}]"#;
    let texts = [
        COOJA,
        ZIGBEE,
        lines,
        log,
        rows,
        thread,
        meshes::GRAPHVIZ,
        meshes::PLANTUML,
        meshes::TOPOLOGY,
        meshes::TABLES,
    ];
    let texts = texts.iter().map(|text| text.as_bytes().to_vec());
    texts
        .chain([workbook(SHEET, false), workbook(SHEET, true)])
        .collect()
}

#[test]
fn a_file_cut_anywhere_never_panics() {
    for sample in samples() {
        assert!(load(&sample).is_ok());
        for cut in 0..sample.len() {
            let _ = load(&sample[..cut]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: RngSeed::Fixed(802_154), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrong_bytes_never_panic(edits in prop::collection::vec((any::<usize>(), any::<u8>()), 1..5)) {
        for mut sample in samples() {
            for (at, byte) in &edits {
                let place = at % sample.len();
                sample[place] = *byte;
            }
            if let Err(error) = load(&sample) {
                prop_assert!(error.lines().all(|line| line.len() < 1000), "{}", error);
            }
        }
    }
}
