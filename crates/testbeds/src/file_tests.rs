use super::*;
use crate::{summary, Assumed, Site, SummaryOptions};
use std::fs;
use thalweg_medium::EarId;
use thalweg_units::Dbm;

fn parse_str(text: &str) -> Result<Testbed, String> {
    parse(text, "t.toml", None).map_err(|e| e.to_string())
}

#[test]
fn every_built_in_testbed_loads_and_realises() {
    for name in Testbed::built_in() {
        let testbed = Testbed::load(name).unwrap();
        assert_eq!(testbed.name, name);
        assert!(testbed.index_of(testbed.sink).is_some());
        let nodes = testbed.len();
        assert_eq!(Site::new(testbed, 1).environment.ears.len(), nodes);
    }
    let indriya = Testbed::load("indriya").unwrap();
    assert_eq!(indriya.len(), 139);
    assert_eq!(indriya.id_of(138).map(NodeId::get), Some(139));
    let places = |seed| {
        let site = Site::new(indriya.clone(), seed);
        let ears = site.environment.ears.iter();
        ears.map(|e| e.placement.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(places(3), places(3));
    assert_ne!(places(3), places(4));
    assert!(places(3).iter().any(|p| p.floor == 2));
}

#[test]
fn the_first_steps_are_what_they_say() {
    for seed in 1..=8 {
        let pair = Testbed::load("pair").unwrap();
        let s = summary(&Site::new(pair, seed), &SummaryOptions::default(), |_| ());
        for channel in &s {
            assert_eq!(
                (channel.good_links, channel.unreachable),
                (2, 0),
                "seed {seed}"
            );
        }
        let line = Testbed::load("line5").unwrap();
        let s = summary(&Site::new(line, seed), &SummaryOptions::default(), |_| ());
        for c in &s {
            assert_eq!(
                c.hops_histogram,
                [1, 1, 1, 1, 1],
                "seed {seed}, channel {}",
                c.channel
            );
        }
    }
}

#[test]
fn files_are_told_by_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("links.csv"),
        "src,dst,channel,prr\n7,9,26,1\n9,7,26,0.8\n",
    )
    .unwrap();
    fs::write(
        path("site.toml"),
        "name = \"site\"\nsink = 9\n[links]\nfile = \"links.csv\"\nframe_bytes = 50\n\
         [[nodes]]\nid = 9\nx_m = 0\ny_m = 0\n[[nodes]]\nid = 7\nx_m = 4\ny_m = 0\n",
    )
    .unwrap();
    fs::copy(path("links.csv"), path("links")).unwrap();
    fs::copy(path("site.toml"), path("site")).unwrap();
    for name in ["links.csv", "links"] {
        let testbed = Testbed::load(path(name)).unwrap();
        assert_eq!(
            (testbed.len(), testbed.sink.get(), testbed.channels.len()),
            (2, 7, 1)
        );
        assert_eq!(testbed.name, "links");
    }
    for name in ["site.toml", "site"] {
        let testbed = Testbed::load(path(name)).unwrap();
        assert_eq!((testbed.sink.get(), testbed.sink_index()), (9, 0));
        let Physics::Measured(measured) = &testbed.physics else {
            panic!()
        };
        assert_eq!(measured.frame_bytes, 50);
        let back = measured.links.iter().find(|l| l.from == 0).unwrap();
        assert_eq!((back.to, back.prr), (1, 0.8));
        let site = Site::new(testbed, 1);
        assert!(site.environment.ears[1].placement.is_some());
    }

    let missing = Testbed::load(path("nothing.csv")).unwrap_err().to_string();
    assert!(
        missing.contains("nothing.csv: no such testbed"),
        "{missing}"
    );
    assert!(
        Testbed::built_in().all(|name| missing.contains(name)),
        "{missing}"
    );
    assert!(Testbed::load(folder.path()).is_err());
    fs::write(path("empty"), "").unwrap();
    let empty = Testbed::load(path("empty")).unwrap_err().to_string();
    assert!(empty.contains("the file is empty"), "{empty}");
    fs::write(
        path("latin.toml"),
        b"name = \"a\"\ndescription = \"caf\xe9\"\n",
    )
    .unwrap();
    let latin = Testbed::load(path("latin.toml")).unwrap_err().to_string();
    assert!(latin.contains("latin.toml, line 2: not UTF-8"), "{latin}");
}

#[test]
fn json_of_another_program_is_named_for_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.json");
    for text in ["{\"a\": 1}", "{\n  \"a\": 1\n}", "[1, 2]"] {
        fs::write(&path, text).unwrap();
        let error = Testbed::load(&path).unwrap_err().to_string();
        let named = error.contains("JSON of a program that is not known: maps of zigbee2mqtt");
        assert!(named, "{text}: {error}");
    }
    // A K7 trace begins with an object, whatever its file is called.
    let trace = "{\"location\": \"x\"}\ndatetime,src,dst,channel,mean_rssi,pdr,tx_count\n\
        2018-01-11 16:32:22,0,1,26,-70,1.0,100\n";
    fs::write(&path, trace).unwrap();
    assert!(Testbed::load(&path).is_ok());
}

#[test]
fn links_without_an_rssi_get_the_level_that_their_ratio_tells() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links.csv");
    let rows = "1,2,26,0.5,\n2,1,26,0.93,\n2,3,26,1,\n3,2,26,0.5,-80\n";
    fs::write(&path, format!("src,dst,channel,prr,rssi_dbm\n{rows}")).unwrap();
    let testbed = Testbed::load(&path).unwrap();
    assert_eq!(testbed.assumed, [Assumed::Levels(3, 4)]);
    let Physics::Measured(measured) = &testbed.physics else {
        panic!()
    };
    let level = |at: usize| measured.links[at].rssi_dbm.unwrap();
    let [half, good, perfect, known] = [0, 1, 2, 3].map(level);
    assert!((good - half - 15.0).abs() < 1e-9 && good == perfect);
    assert_eq!(known, -80.0);
    // Whatever the level, a single sender gets what was measured.
    let links = measured.links.clone();
    let site = Site::new(testbed, 1);
    let expected = site.environment.expected(127, Dbm(0.0));
    for l in links {
        let ear = |index| EarId(u32::from(index));
        let got = expected(ear(l.from), ear(l.to), l.channel);
        assert!((got - l.prr).abs() < 0.01, "{l:?}: {got}");
    }
}

#[test]
fn a_link_file_is_called_as_it_is_without_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    for (file, name) in [
        ("grid0.75.csv", "grid0.75"),
        ("a.b.csv.gz", "a.b"),
        ("links.csv", "links"),
        (".hidden", ".hidden"),
    ] {
        let path = folder.path().join(file);
        std::fs::write(&path, "src,dst,prr\n1,2,0.9\n2,1,0.8\n").unwrap();
        assert_eq!(Testbed::load(path.to_str().unwrap()).unwrap().name, name);
    }
}

#[test]
fn measured_links_have_a_sink_in_their_middle_unless_the_file_names_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let both = |a: u16, b: u16| format!("{a},{b},26,1\n{b},{a},26,1\n");
    let rows: String = (1..5).map(|n| both(n, n + 1)).collect();
    fs::write(path("row.csv"), format!("src,dst,channel,prr\n{rows}")).unwrap();
    let links = "name = \"row\"\n[links]\nfile = \"row.csv\"\n";
    fs::write(path("row.toml"), links).unwrap();
    fs::write(path("named.toml"), format!("sink = 1\n{links}")).unwrap();
    let sink = |name: &str| {
        let testbed = Testbed::load(path(name)).unwrap();
        (testbed.sink.get(), testbed.sink_by)
    };
    assert_eq!(sink("row.csv"), (3, SinkBy::Central));
    assert_eq!(sink("row.toml"), (3, SinkBy::Central));
    assert_eq!(sink("named.toml"), (1, SinkBy::File));
    let placed =
        "name = \"a\"\nnodes = [{ id = 8, x_m = 0, y_m = 0 }, { id = 2, x_m = 1, y_m = 0 }]";
    let placed = parse_str(placed).unwrap();
    assert_eq!((placed.sink.get(), placed.sink_by), (8, SinkBy::First));
}

#[test]
fn every_error_names_the_key_or_line() {
    let two = "nodes = [{ id = 1, x_m = 0, y_m = 0 }, { id = 2, x_m = 1, y_m = 0 }]";
    let building = "[building]\nnodes = 3\nlength_m = 9\nwidth_m = 3";
    for (text, expected) in [
        ("name = ", "t.toml, line 1: "),
        ("\n\nnme = 3", "t.toml, line 3: unknown field `nme`"),
        ("description = \"x\"", "t.toml, line 1: missing field `name`"),
        ("name = \"\"", "key `name`: name is ``; expected a name"),
        ("name = \"a\"", "expected exactly one of"),
        (&format!("name = \"a\"\nboard = \"toaster\"\n{two}"), "key `board`: no board and no file is called \"toaster\"; built in are cc2538, "),
        (&format!("name = \"a\"\nsink = 3\n{two}"), "key `sink`: node 3 is not one of the testbed's 2"),
        (&format!("name = \"a\"\nchannels = [26, 27]\n{two}"), "key `channels[1]`: channel is `27`"),
        (&format!("name = \"a\"\ncontrol_channel = 10\n{two}"), "key `control_channel`: channel is `10`"),
        (&format!("name = \"a\"\nchannels = []\n{two}"), "key `channels`: no channels"),
        (&format!("name = \"a\"\n{two}\n{building}"), "key `nodes`: expected exactly one of"),
        ("name = \"a\"\nnodes = []", "key `nodes`: no pair of nodes"),
        (
            "name = \"a\"\nnodes = [{ id = 1, x_m = 0, y_m = 0 }, { id = 1, x_m = 1, y_m = 0 }]",
            "key `nodes[1].id`: node 1 is given twice",
        ),
        (
            "name = \"a\"\nnodes = [{ id = 1, x_m = 0, y_m = nan }, { id = 2, x_m = 1, y_m = 0 }]",
            "key `nodes[0].y_m`: the length is `NaN`; expected metres",
        ),
        (
            "name = \"a\"\nnodes = [{ id = 65535, x_m = 0, y_m = 0 }, { id = 2, x_m = 1, y_m = 0 }]",
            "key `nodes[0].id`: id is `65535`",
        ),
        ("name = \"a\"\n[building]\nnodes = 1\nlength_m = 9\nwidth_m = 3", "key `building.nodes`"),
        ("name = \"a\"\n[building]\nnodes = 60000\nlength_m = 9\nwidth_m = 3", "2 to 10000 nodes"),
        ("name = \"a\"\n[building]\nnodes = 3\nlength_m = 0\nwidth_m = 3", "key `building.length_m`"),
        ("name = \"a\"\n[building]\nnodes = 3\nlength_m = inf\nwidth_m = 3", "key `building.length_m`"),
        (
            "name = \"a\"\n[building]\nnodes = 3\nlength_m = 9\nwidth_m = 3\nfirst_id = 65532",
            "key `building.first_id`",
        ),
        (&format!("name = \"a\"\n{building}\nfloors = 4"), "key `building.floors`"),
        (
            &format!("name = \"a\"\n{building}\n[battery]\ncapacity_mah = 9\nvolts = [3.0, 2.4]"),
            "key `battery.volts`: the voltage is `[3, 2.4]`; expected 1.8 to 4.35 V",
        ),
        (
            &format!("name = \"a\"\n{building}\n[battery]\ncapacity_mah = 0\nvolts = 3"),
            "key `battery.capacity_mah`: the capacity is `0`; expected 1 to",
        ),
        (
            &format!("name = \"a\"\n{building}\n[battery]\ncapacity_mah = \"x\"\nvolts = 3"),
            "expected a number, or two bounds such as [2.4, 3.0]",
        ),
        (&format!("name = \"a\"\n{building}\n[propagation]\nx = 1"), "key `propagation.x`"),
        (&format!("name = \"a\"\n{building}\n[links]\nfile = \"f\""), "key `links`"),
        ("name = \"a\"\n[links]\nfile = \"f.csv\"", "key `links.file`"),
    ] {
        let error = parse_str(text).unwrap_err();
        assert!(error.contains(expected), "{text}\n{error}");
        assert!(error.starts_with("t.toml"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
