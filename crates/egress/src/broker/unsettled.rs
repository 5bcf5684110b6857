//! What models are being asked, as a file each: whoever comes after a server that was killed pays for it.
//!
//! ```text
//!  granted ──▶ file ──▶ the answer was told: settled, file gone
//!                └────▶ the gateway or the server is gone: settled by what was sent and by the time that it took, file gone
//! ```
//!
//! **Invariant:** nothing that a model was asked is free. One that is killed between settling and removing pays twice, and never not at all.

use std::{io, path::PathBuf};

use domain::{cost::Cost, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    Broker, keep_spent,
    kept::write_whole,
    member::{Member, Open, lock},
    tally::file_of,
};
use crate::model::budget::{Reservation, SetAside, thought_bytes};
use proxy::ask::Exchange;

/// Where they are, below the broker's directory.
const DIRECTORY: &str = "asking";

/// One request, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shape {
    version: u32,
    /// The file with the sums of whoever asked.
    owner: String,
    /// When it left, in milliseconds.
    at: i64,
    set_aside: SetAside,
}

impl Broker {
    /// Written before the request leaves. One that cannot be kept is still settled, unless the server is killed.
    pub(super) fn keep_asking(
        &self,
        member: &Member,
        exchange: Exchange,
        reservation: &Reservation,
    ) {
        let shape = Shape {
            version: 1,
            owner: file_of(&member.owner),
            at: self.now().as_millis(),
            set_aside: reservation.kept(),
        };
        let path = self.asking_path(member, exchange);
        let written = serde_json::to_vec(&shape)
            .map_err(io::Error::other)
            .and_then(|text| write_whole(&path, &text));
        if let Err(error) = written {
            tracing::error!(%error, "that a model is asked cannot be kept");
        }
    }

    /// It is settled, or never left.
    pub(super) fn forget_asking(&self, member: &Member, exchange: Exchange) {
        let removed = std::fs::remove_file(self.asking_path(member, exchange));
        if let Err(error) = removed
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::error!(%error, "what was settled may be paid again after a restart");
        }
    }

    /// Nobody will tell how these went: they cost what was sent, and what their models may have thought until now.
    pub(super) fn abandon(&self, member: &Member) {
        let open: Vec<(Exchange, Open)> = lock(&member.open).drain().collect();
        lock(&member.causes).clear();
        let now = self.now();
        for (exchange, Open { since, reservation, .. }) in open {
            let Some(reservation) = reservation else { continue };
            let money = {
                let mut purses = lock(&self.purses);
                let money = purses.settle(reservation, None, thought(since, now));
                keep_spent(&self.settings.directory, &purses.kept());
                money
            };
            let spent = Cost { money, ..Cost::ZERO };
            let mut asked = lock(&member.asked);
            asked.used = asked.used + spent;
            drop(asked);
            self.add_used(&file_of(&member.owner), spent);
            self.forget_asking(member, exchange);
        }
    }

    /// Pays for what an earlier server was asking when it was killed.
    pub(super) fn settle_what_is_left(&self) -> io::Result<()> {
        let directory = self.settings.directory.join(DIRECTORY);
        std::fs::create_dir_all(&directory)?;
        let now = self.now();
        for entry in std::fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|it| it == "json") {
                match serde_json::from_slice::<Shape>(&std::fs::read(&path)?) {
                    Ok(Shape { owner, at, set_aside, .. }) => {
                        let mut purses = lock(&self.purses);
                        let since = Timestamp::from_millis(at);
                        let money = purses.settle_kept(set_aside, thought(since, now));
                        keep_spent(&self.settings.directory, &purses.kept());
                        drop(purses);
                        self.add_used(&owner, Cost { money, ..Cost::ZERO });
                    }
                    Err(error) => tracing::error!(%error, "what a model was asked cannot be read"),
                }
            }
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }

    fn asking_path(&self, member: &Member, exchange: Exchange) -> PathBuf {
        let name = format!("{}-{}.json", member.sandbox, exchange.0);
        self.settings.directory.join(DIRECTORY).join(name)
    }
}

/// As many bytes as a model may have said between the two.
fn thought(since: Timestamp, now: Timestamp) -> u64 {
    let millis = now.as_millis().saturating_sub(since.as_millis());
    thought_bytes(u64::try_from(millis).unwrap_or_default())
}
