//! The command inside that wanted what was refused, found while it still waits for the answer.
//!
//! Looking costs something, and whoever is inside can ask as often as they like: each sandbox has so many looks a minute, and few are
//! taken at one time. What is not looked for, is gone already, or cannot be seen is not known, and is said to be so.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use domain::id::SandboxId;

use super::{
    Broker,
    member::{Member, lock},
};
use proxy::ask::{Exchange, Question, Way};

/// Finds programs inside sandboxes.
pub trait Causes: Send + Sync + 'static {
    /// The command that has the connection from `peer`, as it calls itself: hostile, so printable and short. It may take its time; nobody
    /// else waits.
    fn find(&self, sandbox: SandboxId, peer: SocketAddr) -> Option<String>;
}

/// How many are looked for at one time.
pub(super) const LOOKS_AT_ONCE: usize = 2;
/// How long the program waits for its answer because of it.
const PATIENCE: Duration = Duration::from_millis(250);

impl Broker {
    /// Looks for whoever asked what was refused, before it hears so.
    pub(super) async fn look(&self, member: &Member, exchange: Exchange, question: &Question) {
        let (peer, way) = match question {
            Question::Connect(connect) => (connect.peer, connect.way),
            Question::Request(request) => (request.peer, request.way),
            // Names have no connection, and no report to name them in.
            Question::Name { .. } => return,
        };
        self.look_for(member, exchange, peer, way).await;
    }

    pub(super) async fn look_for(
        &self,
        member: &Member,
        exchange: Exchange,
        peer: Option<SocketAddr>,
        way: Way,
    ) {
        let found = match (peer, way) {
            (None, _) | (Some(_), Way::Names) => None,
            (Some(peer), Way::Connect | Way::AbsoluteForm | Way::Socks | Way::Transparent) => {
                self.found(member, peer).await
            }
        };
        lock(&member.causes).insert(exchange, found);
    }

    async fn found(&self, member: &Member, peer: SocketAddr) -> Option<String> {
        if !lock(&member.looks).take(self.now()) {
            return None;
        }
        let turn = Arc::clone(&self.looking).try_acquire_owned().ok()?;
        let (causes, sandbox) = (Arc::clone(&self.settings.causes), member.sandbox);
        let looking = tokio::task::spawn_blocking(move || {
            let found = causes.find(sandbox, peer);
            drop(turn);
            found
        });
        tokio::time::timeout(PATIENCE, looking).await.ok()?.ok()?
    }
}
