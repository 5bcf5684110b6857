//! `lamp-guest`: the first process of a sandbox.
//!
//! One thread, one loop, no waiting but in `poll`. It starts what the host asks for, as the user that the host
//! names, carries bytes, reaps what dies, and ends when its time is over. Whoever runs inside can neither read its
//! memory nor signal it, nor reach the socket that it listens on.
//!
//! | module | what it does |
//! |---|---|
//! | `arguments` | reads the command line |
//! | `ground` | makes the process what it has to be before anything else runs |
//! | `guest` | the loop |
//! | `connection` | bytes to the host and back |
//! | `work` | what all jobs have in common: descriptors to read and to write |
//! | `programs`, `program`, `supervisor`, `sweep` | programs: their life, their making, their parent, their end |
//! | `identity` | becoming a user |
//! | `file_jobs`, `files` | file operations: their life, and the work itself |
//! | `forwards` | connections to ports inside |
//! | `raw` | system calls without the C library |

use std::process::ExitCode;

mod arguments;
mod connection;
mod file_job;
mod file_jobs;
mod files;
mod forward;
mod forwards;
mod ground;
mod guest;
mod identity;
mod program;
mod programs;
mod raw;
mod running;
mod supervisor;
mod sweep;
mod work;

fn main() -> ExitCode {
    let Some(arguments) = arguments::Arguments::parse(std::env::args().skip(1)) else {
        return ExitCode::from(2);
    };
    match ground::prepare(&arguments).and_then(|ground| guest::Guest::new(&arguments, ground).run())
    {
        Ok(()) => ExitCode::SUCCESS,
        Err(errno) => ExitCode::from(u8::try_from(errno.raw_os_error()).unwrap_or(1)),
    }
}
