//! The one binary of Thalweg: arguments in, tables and JSON out. What it runs lives in
//! `thalweg-lab`. Progress and errors go to standard error, results to standard output.

mod address;
mod all_nodes;
mod args;
mod basestation;
mod capture;
mod client;
mod collect;
mod emulated;
mod experiment;
mod failure;
mod fault;
mod firmware;
#[cfg(feature = "daemon")]
mod gateway;
mod gather;
mod import;
mod interrupt;
mod keys;
mod manual;
mod network;
mod objects;
mod output;
mod outputs;
mod pace;
mod plan;
mod port;
mod progress;
mod protocols;
mod report;
mod reproduce;
mod row_folder;
mod run;
mod runner;
mod shown;
mod speed;
mod sweep;
mod table;
mod tables;
mod testbed;
mod timeline;
mod transfer;
mod values;
mod whole_network;

use std::env;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::Parser;
use serde::Serialize;

use args::{Cli, Command};
use failure::Failure;

fn main() -> ExitCode {
    match dispatch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // A program that reads JSON gets an object in the place of the result. Standard output may be closed.
            if let (true, Some(error)) = (reads_json(), failure.instead_of_result()) {
                let _ = output::print_json(&NoResult { error });
            }
            failure.report()
        }
    }
}

/// What stands for a result that is not there.
#[derive(Serialize)]
struct NoResult<'a> {
    error: &'a str,
}

/// Whether JSON was asked for, by arguments that may be wrong otherwise.
fn reads_json() -> bool {
    env::args_os().any(|arg| arg == "--json")
}

fn dispatch() -> Result<(), Failure> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::DisplayHelp
                    | ErrorKind::DisplayVersion
                    | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            ) =>
        {
            return output::print(&error.to_string());
        }
        Err(error) => return Err(failure::usage(&error)),
    };
    match &cli.command {
        Command::Collect(args) => collect::run(args),
        Command::Plan(args) => plan::run(args),
        #[cfg(feature = "daemon")]
        Command::Gateway(args) => gateway::run(args),
        Command::Basestation(args) => basestation::run(args),
        Command::Firmware(args) => firmware::run(args),
        Command::Keys(command) => keys::run(command),
        Command::Jobs(command) => client::jobs(command),
        Command::Objects(command) => match &command.remote().gateway {
            Some(address) => client::objects(command, address),
            None => objects::run(command),
        },
        Command::Protocols { json } => protocols::run(*json),
        Command::Testbed(command) => testbed::run(command),
        Command::Experiment(command) => experiment::run(command),
        Command::Run(args) => run::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Fault(args) => fault::run(args),
        Command::Timeline(args) => timeline::run(args),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { into } => manual::pages(into.as_deref()),
    }
}
