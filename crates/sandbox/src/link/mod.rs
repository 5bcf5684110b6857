//! The server's end of the stream to a guest.
//!
//! | module | what it holds |
//! |---|---|
//! | [`wire`](mod@wire) | the connection: hello, frames out, frames in |
//! | [`inbox`] | what has arrived on one channel and was not taken yet; where a lying guest is caught |
//! | [`channel`] | one job as its caller sees it |
//! | [`pump`] | moves bytes between a channel and the caller's streams |
//!
//! Whatever is inside may have taken over the guest. So every frame is checked against what was asked for:
//! a channel that was never opened, an offset that does not follow, output without credit, an end that comes
//! twice. The first wrong frame ends the connection, and the sandbox counts as lost.

mod channel;
mod inbox;
mod pump;
#[cfg(test)]
mod tests;
mod wire;

use guest::protocol::{FrameError, Refusal};

pub(crate) use channel::{Channel, News};
pub(crate) use inbox::Ended;
pub(crate) use pump::pump;
pub(crate) use wire::Link;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("the guest does not answer: {0}")]
    Closed(String),
    #[error("the guest broke the protocol: {0}")]
    Broken(String),
    #[error("{}", refusal(.0))]
    Refused(Refusal),
}

impl From<FrameError> for LinkError {
    fn from(error: FrameError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<std::io::Error> for LinkError {
    fn from(error: std::io::Error) -> Self {
        Self::Closed(error.to_string())
    }
}

fn refusal(refusal: &Refusal) -> String {
    let system = |errno: &i32| std::io::Error::from_raw_os_error(*errno);
    match refusal {
        Refusal::Program { name, errno } => format!("`{name}` does not start: {}", system(errno)),
        Refusal::Directory { path, errno } => {
            format!("the directory `{path}` cannot be entered: {}", system(errno))
        }
        Refusal::NoSuchUser => "this sandbox has no root: it has one user only".to_owned(),
        Refusal::UnknownChannel => "the command is not known any more".to_owned(),
        Refusal::ChannelInUse => "the command's number is taken".to_owned(),
        Refusal::TooManyChannels => "too many commands run at once".to_owned(),
        Refusal::System { what, errno } => format!("{what}: {}", system(errno)),
        Refusal::TooLate { kept_from } => {
            format!("output before byte {kept_from} is no longer kept")
        }
    }
}
