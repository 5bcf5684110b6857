//! The program that the escape suite pushes into a sandbox: makes one attempt, and prints what came of it.

use std::{io::Write as _, process::ExitCode};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = probe::attempt(&arguments);
    match writeln!(std::io::stdout(), "{outcome}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_nobody_listens) => ExitCode::FAILURE,
    }
}
