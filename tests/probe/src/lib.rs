//! What an attacker inside a sandbox tries, one attempt by name.
//!
//! The escape suite pushes a program of this library into a sandbox and runs it there: `escape-probe mount`. It makes
//! one attempt, and prints one line of what came of it. The same program runs outside, where the attempt should
//! work: that shows that the probe is one.
//!
//! | module | what is tried |
//! |---|---|
//! | [`calls`] | system calls that no sandbox needs |
//! | [`paths`] | files of the host, of the kernel, of hardware |
//! | [`peers`] | memory, descriptors and lives of other processes |
//! | [`sockets`] | ways out over the network, and to sockets of the host |
//! | [`storms`] | using up what others need, too |
//! | [`privileges`] | becoming more than one is |
//! | [`watches`] | watching others at a file, and telling them something by a lock |
//! | [`wire`] | bytes to a proxy or a resolver, of odd protocols, and very many |

mod calls;
mod outcome;
mod outside;
mod paths;
mod peers;
mod privileges;
mod raw;
mod sockets;
mod storms;
mod watches;
mod wire;

pub use outcome::Outcome;

/// Makes the attempt that the arguments name, and tells what came of it.
pub fn attempt(arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["outside", rest @ ..] => outside::prepare().and_then(|()| named(rest)).into(),
        ["outside-alone", rest @ ..] => outside::prepare_alone().and_then(|()| named(rest)).into(),
        words => named(words).into(),
    }
}

/// What an attempt gives: nothing but that it worked, something to show, or why not.
pub(crate) type Attempt = Result<Outcome, std::io::Error>;

fn named(words: &[&str]) -> Attempt {
    if let ["within", millis, rest @ ..] = words {
        return wire::within(millis, || named(rest));
    }
    let rooms = [
        calls::attempt,
        paths::attempt,
        peers::attempt,
        sockets::attempt,
        storms::attempt,
        privileges::attempt,
        watches::attempt,
        wire::attempt,
    ];
    for room in rooms {
        if let Some(outcome) = room(words) {
            return outcome;
        }
    }
    Ok(Outcome::Unknown)
}
