use super::*;

fn parse(text: &str) -> Result<MqttConfig, String> {
    toml::from_str(text).map_err(|why| why.message().to_owned())
}

#[test]
fn a_broker_is_named_as_it_can_be_reached() {
    let host = |text: &str| parse(&format!("host = \"{text}\"")).map(|c| c.host.unwrap());
    assert_eq!(host("broker.example").unwrap(), "broker.example");
    assert_eq!(host("::1").unwrap(), "[::1]");
    assert_eq!(host("[::1]").unwrap(), "[::1]");
    for wrong in ["", "mqtt://broker", "broker:1883", "a b", "a\\nb"] {
        let why = host(wrong).unwrap_err();
        assert!(why.contains("127.0.0.1"), "{wrong}: {why}");
    }
    assert!(parse("").unwrap().host.is_none(), "off by default");
}

#[test]
fn a_prefix_can_begin_topics() {
    let prefix = |text: &str| parse(&format!("prefix = \"{text}\""));
    assert_eq!(prefix("site/a b").unwrap().prefix, "site/a b");
    for wrong in ["", "/a", "a/", "a//b", "$SYS", "a/+", "#", "a\\u0000"] {
        let why = prefix(wrong).unwrap_err();
        assert!(why.contains("such as"), "{wrong}: {why}");
    }
}

#[test]
fn a_password_is_in_a_file_and_is_not_printed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "geheim geheim\n").unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let mut config = parse("user = \"me\"\npassword_file = \"password\"").unwrap();
    config.complete(dir.path()).unwrap();
    assert_eq!(config.login(), Some(("me", "geheim geheim")));
    assert!(!format!("{config:?}").contains("geheim"));
    let mut config = parse("user = \"me\"\npassword_file = \"none\"").unwrap();
    let (file, why) = config.complete(dir.path()).unwrap_err();
    assert!(file.unwrap().ends_with("none") && why.contains("cannot read"));
    let mut config = parse("password_file = \"password\"").unwrap();
    assert!(config.complete(dir.path()).is_err(), "whose password?");
}
