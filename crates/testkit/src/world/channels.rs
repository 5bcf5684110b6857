//! A channel that keeps what was told as files.

use contracts::channel::{ChannelError, Channels, Notice};

use crate::ledger::Ledger;

#[derive(Debug, Clone)]
pub struct ScriptedChannels {
    ledger: Ledger,
}

impl ScriptedChannels {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> ChannelError {
    ChannelError::Busy { reason: error.to_string() }
}

impl Channels for ScriptedChannels {
    async fn tell(&self, notice: &Notice) -> Result<(), ChannelError> {
        self.ledger.called(&format!("tell {}", notice.key)).map_err(busy)?;
        let news = format!("{}\n{}", notice.news.name(), notice.text);
        self.ledger.once("told", &notice.key.to_string(), &news).map_err(busy)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use domain::request::{ChannelKind, Source};

    use super::*;

    #[tokio::test]
    async fn scripted_channels_keep_their_promises() {
        let directory = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(directory.path()).unwrap();
        let channels = ScriptedChannels::new(ledger.clone());
        let to = Source { channel: ChannelKind::Cli, thread: "terminal".to_owned() };
        let told = || ledger.names("told").unwrap().len();
        contracts::promises::channel::kept(&channels, &to, told).await.unwrap();
    }
}
