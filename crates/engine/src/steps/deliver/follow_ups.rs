//! What woke the task since its plan was approved, for the receipt: who approved it has seen nothing of that.

use domain::{
    digest::Digest,
    id::PersonId,
    plan::PlanHash,
    task::{Event, Remark, RemarkKind, Speaker, WakeCause},
    time::Timestamp,
};
use evidence::receipt::{FollowUp, FollowUpKind, LIST_LIMIT};
use store::History;

/// In their order; of too many, the newest: what others have asked for last is what was done last.
pub(super) fn since_approval(
    history: &History,
    approved: PlanHash,
    name: &impl Fn(PersonId) -> String,
) -> Vec<FollowUp> {
    let is_approval =
        |event: &Event| matches!(event, Event::Approved { plan, .. } if *plan == approved);
    let newest_first = history.events.iter().rev();
    let since = newest_first.take_while(|recorded| !is_approval(&recorded.event));
    let mut told: Vec<FollowUp> = since
        .filter_map(|recorded| {
            let Event::Woken { cause } = &recorded.event else { return None };
            Some(of(cause, recorded.at, name))
        })
        .flat_map(|together| together.into_iter().rev())
        .take(LIST_LIMIT)
        .collect();
    told.reverse();
    told
}

fn of(cause: &WakeCause, at: Timestamp, name: &impl Fn(PersonId) -> String) -> Vec<FollowUp> {
    let said = |kind, known, words: &str| FollowUp {
        kind,
        by: String::new(),
        known,
        at,
        words: Digest::of(words.as_bytes()),
    };
    match cause {
        WakeCause::Comment { by, text } => {
            vec![said(FollowUpKind::Message, true, text).named(&name(*by))]
        }
        // Nobody is known to have said that it failed.
        WakeCause::FailedCheck { check } => {
            vec![said(FollowUpKind::FailedCheck, false, check).named(check)]
        }
        WakeCause::Remarks(remarks) => {
            let one = |remark: &Remark| {
                let kind = match remark.kind {
                    RemarkKind::Comment => FollowUpKind::Comment,
                    RemarkKind::Review => FollowUpKind::Review,
                };
                let known = remark.speaker == Speaker::Known;
                said(kind, known, &remark.text).named(&remark.by)
            };
            remarks.iter().map(one).collect()
        }
    }
}
