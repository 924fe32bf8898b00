//! `thalweg basestation` as a process at a pseudo-terminal.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A base station that is killed at the end.
pub(crate) struct Station(Child);

impl Station {
    /// Of `testbed`, at the symbolic link `station` in `folder`; each node has `bytes` bytes.
    pub(crate) fn start(folder: &Path, testbed: &str, speed: &str, bytes: &str) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin("thalweg"))
            .current_dir(folder)
            .args(["basestation", "--link", "station", "--quiet"])
            .args(["--testbed", testbed, "--speed", speed, "--bytes", bytes])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "station\n");
        Self(child)
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        // SIGKILL.
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
