//! `thalweg completions` and `thalweg man`: both made of the command line's own description.

use std::fs;
use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::Failure;
use crate::output::{cannot_write, print};

/// Prints what `shell` is to read.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "thalweg", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the main page, or writes all pages to `into`.
pub(crate) fn pages(into: Option<&Path>) -> Result<(), Failure> {
    let command = Cli::command();
    let Some(folder) = into else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(Failure::job)?;
        return print(&String::from_utf8_lossy(&page));
    };
    fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    clap_mangen::generate_to(command, folder).map_err(|error| cannot_write(folder, &error))
}
