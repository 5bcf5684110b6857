//! Where people are told: for tasks of the command line, the web page and the API, a file for each notice below `<data>/notices/`.
//!
//! Whoever came by one of these doors watches the task itself, so that a notice is kept for the record and nobody is called. Channels that
//! call people (Slack, Linear, GitHub, webhooks) plug in here.
//!
//! Notices stay for good, as the events do that they tell of: each has some hundred bytes, and they are the only record of what a person was
//! told. They also keep a step that is repeated after a crash from telling anybody twice.

use std::{
    io::{self, Write as _},
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
};

use contracts::channel::{ChannelError, Channels, Notice};
use domain::request::ChannelKind;
use files::{Durability, Unfinished};

#[derive(Debug)]
pub(crate) struct Notices {
    directory: PathBuf,
}

impl Notices {
    pub(crate) fn open(directory: PathBuf) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        Ok(Self { directory })
    }

    fn keep(&self, notice: &Notice) -> io::Result<()> {
        let directory = self.directory.join(notice.key.task.to_string());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        let key = notice.key;
        let place = directory.join(format!("{:010}-{}-{}.json", key.seq, key.part, key.number));
        let told = serde_json::json!({
            "news": notice.news.name(),
            "channel": notice.to.channel.name(),
            "thread": notice.to.thread,
            "text": notice.text,
        });
        let mut file = Unfinished::begin(&place, files::PRIVATE)?;
        file.write_all(told.to_string().as_bytes())?;
        // What was told stays as it was told.
        match file.put_new(Durability::Synced) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl Channels for Notices {
    async fn tell(&self, notice: &Notice) -> Result<(), ChannelError> {
        match notice.to.channel {
            ChannelKind::Cli | ChannelKind::Web | ChannelKind::Api => {}
            channel @ (ChannelKind::Slack
            | ChannelKind::GitHub
            | ChannelKind::Linear
            | ChannelKind::Schedule
            | ChannelKind::Webhook) => {
                let reason = format!("this server has no channel `{}` yet", channel.name());
                return Err(ChannelError::Gone { reason });
            }
        }
        self.keep(notice).map_err(|error| ChannelError::Busy { reason: error.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use contracts::promises;
    use domain::request::Source;

    use super::*;

    #[tokio::test]
    async fn it_keeps_the_promises_of_a_channel() {
        let directory = tempfile::tempdir().unwrap();
        let notices = Notices::open(directory.path().join("notices")).unwrap();
        let to = Source { channel: ChannelKind::Cli, thread: "here".to_owned() };
        let told = || {
            let tasks = fs_err::read_dir(directory.path().join("notices")).unwrap();
            tasks.map(|task| fs_err::read_dir(task.unwrap().path()).unwrap().count()).sum()
        };
        promises::channel::kept(&notices, &to, told).await.unwrap();
    }
}
