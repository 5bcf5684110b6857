//! The promises of a channel.

use domain::request::Source;

use super::{Kept, keep, key, succeed};
use crate::channel::{Channels, News, Notice};

/// Plays with the thread `to`. `told` counts the messages that a person sees there.
pub async fn kept(channels: &impl Channels, to: &Source, told: impl Fn() -> usize) -> Kept {
    let notice = |seq, text: &str| Notice {
        key: key(seq),
        to: to.clone(),
        news: News::Accepted,
        text: text.to_owned(),
    };
    let before = told();
    succeed("a person is told", channels.tell(&notice(1, "begun")).await)?;
    keep("one message arrives", told() == before + 1)?;
    succeed("a repeated key succeeds", channels.tell(&notice(1, "begun")).await)?;
    keep("a repeated key tells once", told() == before + 1)?;
    succeed("a second notice is told", channels.tell(&notice(2, "done")).await)?;
    keep("each notice arrives", told() == before + 2)
}
