//! Checks a receipt, offline, against what the caller knows.
//!
//! Two things can go wrong, and they are told apart. An [`EnvelopeError`] means that there is no receipt to speak of: it cannot be read, or was
//! not signed by anyone whom the caller trusts. A row of the [`Checklist`] that does not hold means that a true receipt is about something else.
//!
//! **Invariant:** what is not known is `unknown`, never `holds`.

mod checklist;

use domain::{
    code::{CommitId, RepositoryName},
    digest::Digest,
    headline::Conclusion,
    plan::Plan,
};

pub use checklist::{Checklist, Finding, Row, Subject};

use crate::{
    envelope::{Envelope, EnvelopeError},
    keys::{KeyId, TrustedKeys},
    receipt::{Receipt, Statement, TreeId, Who},
};

/// What the caller knows for itself, from git and from files. What is left out becomes `unknown`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    pub repository: Option<&'a RepositoryName>,
    pub commit: Option<&'a CommitId>,
    /// The tree of that commit, as git says.
    pub tree: Option<&'a TreeId>,
    pub plan: Option<&'a Plan>,
    pub request: Option<&'a str>,
    pub transcript: Option<&'a [u8]>,
}

/// A receipt that somebody signed whom the caller trusts, and what it is worth here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    pub statement: Statement,
    pub signed_by: Vec<KeyId>,
    pub checklist: Checklist,
}

/// Reads `envelope`, checks its signatures, and compares what it says with what is `known`.
pub fn verify(
    envelope: &[u8],
    trusted: &TrustedKeys,
    known: &Known<'_>,
) -> Result<Verified, EnvelopeError> {
    let envelope = Envelope::read(envelope)?;
    let statement = envelope.open(trusted)?;
    let signed_by: Vec<KeyId> = envelope.keys().collect();
    let checklist = Checklist::new(rows(&statement, &signed_by, known));
    Ok(Verified { statement, signed_by, checklist })
}

fn rows(statement: &Statement, signed_by: &[KeyId], known: &Known<'_>) -> Vec<Row> {
    let Statement { commit, tree, receipt } = statement;
    let keys: Vec<String> = signed_by.iter().map(KeyId::short).collect();
    let hash = |text: &[u8]| Digest::of(text);
    vec![
        Row::holds(Subject::Signature, &format!("signed by {}", keys.join(" and "))),
        Row::compare(Subject::Repository, &receipt.repository, known.repository),
        Row::compare(Subject::Commit, commit, known.commit),
        Row::compare(Subject::Tree, tree, known.tree),
        Row::compare(
            Subject::Request,
            &receipt.request.text,
            known.request.map(|it| hash(it.as_bytes())).as_ref(),
        ),
        Row::compare(Subject::Plan, &receipt.plan, known.plan.map(Plan::hash).as_ref()),
        approval(receipt),
        order(receipt),
        checks(receipt),
        egress(receipt),
        Row::compare(Subject::Transcript, &receipt.transcript, known.transcript.map(hash).as_ref()),
    ]
}

/// The approval is of this plan, and not of one before it.
fn approval(receipt: &Receipt) -> Row {
    let approval = &receipt.approval;
    let Who { id, name } = &approval.by;
    if approval.plan == receipt.plan {
        return Row::holds(Subject::Approval, &format!("{name} ({id}) approved this plan"));
    }
    let told = format!("{name} ({id}) approved plan {}", approval.plan.short());
    Row::does_not_hold(Subject::Approval, &format!("{told}, not {}", receipt.plan.short()))
}

/// Asked, approved, delivered: in this order.
fn order(receipt: &Receipt) -> Row {
    let (asked, given) = (receipt.time.requested, receipt.time.delivered);
    let mut moments = vec![asked, receipt.approval.at];
    moments.extend(receipt.approval.amendments.iter().map(|amended| amended.at));
    moments.push(given);
    if moments.is_sorted() {
        return Row::holds(Subject::Order, "asked, approved and delivered in this order");
    }
    let told = "approved before it was asked for, or after it was delivered";
    Row::does_not_hold(Subject::Order, told)
}

/// As the platform ran them. That nothing was proven is a true statement about them, and a row of its own kind.
fn checks(receipt: &Receipt) -> Row {
    let worse: Vec<&str> = receipt
        .checks
        .iter()
        .filter(|check| check.verdict.is_worse())
        .map(|check| check.name.as_str())
        .collect();
    if let [first, others @ ..] = worse.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let told = format!("of {}, `{first}`{more} did not pass", receipt.checks.len());
        return Row::does_not_hold(Subject::Checks, &told);
    }
    if !receipt.headline_fits() {
        let told = "what is said of all checks is not what is said of each";
        return Row::does_not_hold(Subject::Checks, told);
    }
    let headline = receipt.headline();
    match headline.conclusion {
        Conclusion::Passed | Conclusion::NothingWorse => {
            Row::holds(Subject::Checks, &headline.to_string())
        }
        Conclusion::Unproven(_) => Row::unproven(Subject::Checks, &headline.to_string()),
        Conclusion::Failed => Row::does_not_hold(Subject::Checks, &headline.to_string()),
    }
}

/// The sums are those of the hosts, as far as these are named.
fn egress(receipt: &Receipt) -> Row {
    let egress = &receipt.egress;
    let sum = |count: fn(&crate::receipt::HostUse) -> u64| {
        egress.hosts.iter().map(count).fold(0, u64::saturating_add)
    };
    let named = (sum(|it| it.requests), sum(|it| it.refused), sum(|it| it.bytes));
    let told = (egress.requests, egress.refused, egress.bytes);
    let fits = if egress.hosts_left_off == 0 {
        named == told
    } else {
        named.0 <= told.0 && named.1 <= told.1 && named.2 <= told.2
    };
    if fits && egress.hosts.is_sorted_by(|one, next| one.host < next.host) {
        let said = format!("{} requests, {} refused", egress.requests, egress.refused);
        return Row::holds(Subject::Egress, &said);
    }
    Row::does_not_hold(Subject::Egress, "the sums are not those of the hosts")
}
