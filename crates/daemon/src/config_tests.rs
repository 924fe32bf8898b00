use super::*;

#[test]
fn an_empty_file_is_the_default() {
    let config = Config::parse("").unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8654");
    assert!(!config.is_open() && config.token.is_none());
    assert_eq!(config.transfers.protocol.name, "thalweg");
}

#[test]
fn the_example_explains_every_key_and_has_the_defaults() {
    let text = include_str!("../../../docs/examples/gateway.toml");
    let example = Config::parse(text).unwrap();
    let told = |config: &Config| format!("{config:?}");
    assert_eq!(told(&example), told(&Config::default()));
    // Keys that have no default stand there as remarks; they are right as well.
    let (transfers, network) = ("[transfers]\n", "[network]\n");
    let mqtt = "[mqtt]\n";
    let remarks = [
        ("", "token"),
        ("", "token_file"),
        ("[store]\n", "keep_days"),
        ("[store]\n", "keep_bytes"),
        (transfers, "patience"),
        (transfers, "at_most"),
        (transfers, "least_battery_v"),
        (transfers, "energy_j_per_day"),
        (network, "port"),
        (network, "testbed"),
        (network, "name"),
        (network, "building"),
        (network, "channels"),
        (network, "control"),
        (network, "to"),
        (mqtt, "host"),
        (mqtt, "user"),
        (mqtt, "password_file"),
    ];
    for (table, key) in remarks {
        let line = text.lines().find_map(|line| {
            line.strip_prefix("# ")
                .filter(|l| l.starts_with(&format!("{key} = ")))
        });
        Config::parse(&format!("{table}{}", line.unwrap())).unwrap();
    }
    let keys = text
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .map(|(key, _)| key.trim_start_matches("# "));
    let mut keys: Vec<&str> = keys.filter(|key| !key.contains(' ')).collect();
    keys.sort_unstable();
    let known = "allow at_most baud building buttons bytes channels control data discovery energy_j_per_day history_days host hosts \
        keep_bytes keep_days least_battery_v listen name password_file patience port port prefix protocol queue reserve_bytes resurvey_after_h security seed speed survey_when_idle testbed to token token_file user windows";
    assert_eq!(keys.join(" "), known);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, said) in [
        ("listen = \"nowhere\"", "line 1"),
        ("\nlisten = 3", "line 2"),
        ("colour = 1", "unknown field `colour`"),
        ("hosts = [\"http://a.example\"]", "without scheme and port"),
        ("hosts = [\"a.example:8654\"]", "without scheme and port"),
        ("hosts = [\"\"]", "without scheme and port"),
        (
            "[network]\nport = \"tcp:192.0.2.7:4000\"",
            "`[line] allow = true`",
        ),
        (
            "[network]\nport = \"tcp:station.example:4000\"",
            "`[line] allow = true`",
        ),
        ("token = \"short\"", "at least 16"),
        ("[transfers]\nwindows = [\"2-4\"]", "02:00-04:00"),
        (
            "[transfers]\nwindows = [{ at_most = 2 }]",
            "missing field `at`",
        ),
        (
            "[transfers]\nwindows = [{ at = \"02:00-04:00\", volts = 2 }]",
            "unknown field `volts`",
        ),
        (
            "[transfers]\nwindows = [{ at = \"02:00-04:00\", at_most = 0 }]",
            "expected 1 to 16 stations",
        ),
        ("[transfers]\nat_most = 17", "expected 1 to 16 stations"),
        (
            "[transfers]\nleast_battery_v = 26",
            "expected 1.8 to 4.35 volts",
        ),
        ("[transfers]\nenergy_j_per_day = -1.0", "joules"),
        ("[transfers]\npatience = \"long\"", "such as \"2h\""),
        ("[transfers]\npatience = \"400days\"", "at most a year"),
        ("[transfers]\nprotocol = \"rcrt\"", "expected one of"),
        ("[network]\nport = \"tcp:nowhere\"", "tcp:HOST:PORT"),
        ("[network]\nport = \"\"", "/dev/ttyUSB0"),
        ("[network]\nbaud = 300", "1200"),
        ("[network]\nspeed = 0", "0.01"),
        ("[network]\nbytes = 0", "67108864"),
        ("[network]\nchannels = []", "at least one channel"),
        ("[network]\nto = []", "expected 1 to 8 base stations"),
        ("[network]\nto = [1, 1]", "none twice"),
        (
            "[network]\nto = [1]\nport = \"/dev/ttyUSB0\"\ntestbed = \"floor21\"",
            "one base station is behind a port",
        ),
        ("[network]\nchannels = [10]", "11"),
        ("[network]\nname = \"a b\"", "letters, digits"),
        (
            "[network]\nseed = 2\n[[station]]\nname = \"a\"",
            "one of them",
        ),
        ("[[station]]\nseed = 2", "station 1: expected a `name`"),
    ] {
        let why = Config::parse(text).unwrap_err();
        assert!(why.contains(said), "{text}: {why}");
        assert!(!why.contains('\n'), "{why}");
    }
}

#[test]
fn a_token_may_be_in_a_file_and_is_not_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.toml");
    fs::write(dir.path().join("token"), "0123456789abcdef\n").unwrap();
    fs::write(&path, "token_file = \"token\"\ndata = \"d\"").unwrap();
    let may = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(dir.path().join("token"), mode).unwrap();
    };
    may(0o644);
    let why = Config::read(&path).unwrap_err().to_string();
    assert!(why.contains("chmod 600"), "{why}");
    may(0o600);
    let config = Config::read(&path).unwrap();
    assert_eq!(config.data, dir.path().join("d"));
    let token = config.token.unwrap();
    assert_eq!(token.as_str(), "0123456789abcdef");
    assert!(!format!("{token:?}").contains("0123"));
    fs::write(&path, "token_file = \"none\"").unwrap();
    let why = Config::read(&path).unwrap_err().to_string();
    assert!(why.contains("none: cannot read"), "{why}");
}

#[test]
fn what_is_no_file_is_no_secret_and_a_token_is_for_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.toml");
    // A pipe without a writer would block the read. The check that refuses it refuses a folder, too.
    fs::create_dir(dir.path().join("token")).unwrap();
    fs::write(&path, "token_file = \"token\"").unwrap();
    let why = Config::read(&path).unwrap_err().to_string();
    assert!(why.contains("token: is no file"), "{why}");
    fs::write(&path, "token = \"0123456789abcdef\"").unwrap();
    let may = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(&path, mode).unwrap();
    };
    may(0o644);
    let why = Config::read(&path).unwrap_err().to_string();
    assert!(why.contains("it has the token"), "{why}");
    may(0o640);
    assert!(Config::read(&path).unwrap().token.is_some());
}

#[test]
fn lines_to_this_machine_need_no_leave() {
    for here in ["127.0.0.1:1", "localhost:1", "[::1]:1", "127.8.0.1:1"] {
        let text = format!("[network]\nport = \"tcp:{here}\"");
        assert!(Config::parse(&text).is_ok(), "{here}");
    }
    let text = "[line]\nallow = true\n[network]\nport = \"tcp:192.0.2.7:4000\"";
    assert!(Config::parse(text).is_ok());
}

#[test]
fn nothing_is_kept_for_nothing() {
    for key in ["keep_days", "keep_bytes", "history_days"] {
        let parse = |number: u8| Config::parse(&format!("[store]\n{key} = {number}"));
        assert!(parse(0).unwrap_err().to_string().contains("nonzero"));
        assert!(parse(1).is_ok());
    }
}
