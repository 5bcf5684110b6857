//! A connection that is carried without being looked into, but for its greeting.

use std::{net::IpAddr, sync::Arc};

use bytes::BytesMut;
use tokio::net::TcpStream;

use super::{
    dial::dial,
    ended::Ended,
    exchange::Open,
    intake::Intake,
    reach::DialError,
    sandbox::Sandbox,
    tunnel::{self, Again, Most, Pump},
};
use crate::{
    ask::{Grant, Question},
    readers::target::Authority,
};

/// What was allowed, and how it is asked about again.
pub(super) struct Allowed {
    pub(super) place: Authority,
    pub(super) grant: Grant,
    pub(super) question: Question,
}

/// Dials what an opaque grant names.
pub(super) async fn reach(
    sandbox: &Sandbox,
    open: &mut Open,
    grant: &Grant,
) -> Result<(TcpStream, IpAddr), DialError> {
    open.set_grant(grant);
    let (stream, address) = dial(&grant.dial, sandbox).await?;
    open.set_address(address);
    Ok((stream, address))
}

/// Carries the connection to its end, and reports.
pub(super) async fn carry(
    sandbox: &Arc<Sandbox>,
    open: Open,
    allowed: Allowed,
    program: (TcpStream, BytesMut),
    host: TcpStream,
) {
    let (program, before) = program;
    let (program_read, mut program_write) = program.into_split();
    let (host_read, mut host_write) = host.into_split();
    let mut from_program = Intake::new(program_read, before);
    let mut from_host = Intake::new(host_read, BytesMut::new());
    let counts = Arc::clone(open.counts());
    let most = Most { up: allowed.grant.most_up, down: allowed.grant.most_down };

    let up = Pump {
        intake: &mut from_program,
        write: &mut host_write,
        scrubber: None,
        gate: Some(&allowed.place),
    };
    let down =
        Pump { intake: &mut from_host, write: &mut program_write, scrubber: None, gate: None };
    let again = Again { question: allowed.question, generation: allowed.grant.generation };
    match tunnel::run(sandbox, &open, (up, down), &counts, most, again).await {
        Ended::Done => open.done(None).await,
        Ended::Refused(refusal) => open.refused(*refusal).await,
        Ended::Broken(reason) => open.broken(reason).await,
    }
}
