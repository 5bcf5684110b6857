//! Records of the way out, as rows of the audit log. What is told by those inside is cut short.

use domain::time::Timestamp;
use egress::broker::ledger::{ExchangeRecord, Record, What};
use serde_json::json;
use store::AuditEntry;

/// The most letters of something that those inside chose.
const LONGEST: usize = 300;

pub(super) struct Audited {
    /// Whose it is; none for what the server says of itself.
    pub(super) sandbox: Option<String>,
    pub(super) entry: AuditEntry,
}

/// The row of a record, if it gets one. What was allowed and comes and goes is in the log alone.
pub(super) fn audited(record: &Record) -> Option<Audited> {
    let (action, subject, detail) = match &record.what {
        What::Exchange(exchange) => refused(record, exchange)?,
        What::Credential { secret, host, port, method, path } => (
            "credential.used",
            secret.clone(),
            json!({
                "host": host,
                "port": port,
                "method": method,
                "path": short(path),
                "owner": record.owner,
                "phase": record.phase,
            }),
        ),
        What::Finding { what, detail } => (
            "egress.finding",
            (*what).to_owned(),
            json!({ "detail": short(detail), "owner": record.owner, "phase": record.phase }),
        ),
        What::Alarm { reason } => {
            ("egress.alarm", "the way out".to_owned(), json!({ "reason": short(reason) }))
        }
        What::Joined { .. } | What::Changed { .. } | What::Left | What::Forgotten => return None,
    };
    let sandbox = record.sandbox.clone();
    let actor = sandbox.as_ref().map_or("system".to_owned(), |it| format!("sandbox {it}"));
    let entry = AuditEntry {
        at: Timestamp::from_millis(record.at),
        actor,
        action: action.to_owned(),
        subject,
        detail: detail.to_string(),
    };
    Some(Audited { sandbox, entry })
}

type Told = (&'static str, String, serde_json::Value);

fn refused(record: &Record, exchange: &ExchangeRecord) -> Option<Told> {
    let refusal = exchange.refusal.as_ref()?;
    let subject = match exchange.port {
        0 => short(&exchange.host),
        port => format!("{}:{port}", short(&exchange.host)),
    };
    let detail = json!({
        "way": exchange.way,
        "method": exchange.method.as_deref().map(short),
        "path": exchange.path.as_deref().map(short),
        "code": refusal.code,
        "rule": refusal.rule.as_deref().map(short),
        "reason": short(&refusal.reason),
        "cause": exchange.cause.as_deref().unwrap_or("unknown"),
        "owner": record.owner,
        "phase": record.phase,
    });
    Some(("egress.refused", subject, detail))
}

fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain(['…']).collect()
}
