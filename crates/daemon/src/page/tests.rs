use super::*;
use flate2::{write::GzEncoder, Compression};
use std::io::Write;

#[test]
fn nothing_is_loaded_from_elsewhere_and_all_of_it_is_small() {
    for text in [STYLE, SCRIPT, &login(None), &not_found()] {
        for mark in ["http://", "https://", "@import", "src=\"//", "url("] {
            assert!(!text.contains(mark), "{mark}");
        }
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(STYLE.as_bytes()).unwrap();
    packed.write_all(SCRIPT.as_bytes()).unwrap();
    assert!(packed.finish().unwrap().len() < 20_000);
}

#[test]
fn what_strangers_wrote_is_no_markup() {
    let page = refused("<script>\"&'");
    assert!(page.contains("&lt;script&gt;&quot;&amp;"), "{page}");
    let link = more("/log", true, Some(3)).into_string();
    assert_eq!(link, "<p><a href=\"/log?before=3\">Older</a></p>");
}
