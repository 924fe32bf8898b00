//! Files that users give: an error is one line that names the file.

use thalweg_testbeds::{read_k7, read_matrix, Testbed};

/// A K7 trace, plain or gzip.
pub fn k7(bytes: &[u8]) {
    if let Err(error) = read_k7(bytes, "x.k7") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.k7")), "{text}");
    }
}

/// A link matrix.
pub fn matrix(bytes: &[u8]) {
    if let Err(error) = read_matrix(bytes, "x.csv") {
        let text = error.to_string();
        assert!(text.lines().all(|line| line.starts_with("x.csv")), "{text}");
    }
}

/// A testbed's TOML: an error of one line, or a testbed whose sink is one of its nodes.
pub fn testbed(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match Testbed::from_toml(text, "x.toml") {
        Ok(testbed) => assert!(testbed.index_of(testbed.sink).is_some()),
        Err(error) => {
            let line = error.to_string();
            assert!(line.starts_with("x.toml") && !line.contains('\n'), "{line}");
        }
    }
}
