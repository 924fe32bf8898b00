//! Tests of `address.rs`.

use super::*;

#[test]
fn an_address_is_a_host_and_a_port() {
    for (text, full) in [
        ("http://127.0.0.1:8654", "http://127.0.0.1:8654"),
        ("http://127.0.0.1:8654/", "http://127.0.0.1:8654"),
        ("gateway.example", "http://gateway.example:8654"),
        ("localhost:80", "http://localhost:80"),
        ("http://[::1]:9", "http://[::1]:9"),
    ] {
        assert_eq!(Address::parse(text).unwrap().to_string(), full, "{text}");
    }
    for text in [
        "",
        "http://",
        "ftp://a",
        "a b",
        "http://a/objects",
        "http://a/?x",
        "http://me@a",
        "a:0",
        "a:",
        "a:99999",
        "/tmp/x",
        ":8654",
    ] {
        assert!(Address::parse(text).is_err(), "{text}");
    }
    assert!(Address::parse("https://a").unwrap_err().contains("tunnel"));
}
