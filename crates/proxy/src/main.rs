//! `lamp-proxy`: the process that reads what sandboxes say. The server starts it; nobody types it.

use std::{fmt::Write as _, io::Write as _, os::unix::net::UnixStream, process::ExitCode};

use proxy::serving::{self, NOBODY, Settings, ShutIn, shut_in};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut told = format!("lamp-proxy: {error}");
            let mut source = error.source();
            while let Some(cause) = source {
                let _ = write!(told, ": {cause}");
                source = cause.source();
            }
            // Whoever does not listen is not told.
            let _ = writeln!(std::io::stderr(), "{told}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    // It is started from a file without a name; in lists of processes it has one.
    let _ = rustix::thread::set_name(c"lamp-proxy");
    // The terminal of whoever started the server is not its own. Where it leads a session already, there is nothing to leave.
    let _ = rustix::process::setsid();
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false);
    drop(log.with_max_level(tracing::Level::WARN).try_init());
    // Its standard input is the socket that the server made for it.
    let link = rustix::io::dup(rustix::stdio::stdin())?;
    // Before it is shut in, and while it has one thread.
    let settings = Settings::of_this_machine()?;
    if shut_in(NOBODY)? == ShutIn::WithoutLandlock {
        tracing::warn!(
            "this kernel has no Landlock: the gateway can open files that everybody may read"
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let served = runtime.block_on(serving::serve(UnixStream::from(link), settings));
    runtime.shutdown_background();
    served.map_err(Into::into)
}
