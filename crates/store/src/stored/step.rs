//! Steps of the outbox, as words: `implement`, `time_up/phase/implement`.
//!
//! The lane is kept beside the step, so that the database can find the next free row of each lane by
//! itself; so is the span, to find what falls away with a stage.

use domain::{
    phase::Phase,
    task::{Lane, Span, Step, TimeUp},
};

use super::{
    Unreadable,
    text::{Word, words},
};

pub(crate) fn encode(step: Step) -> &'static str {
    step.word()
}

pub(crate) fn decode(word: &str) -> Result<Step, Unreadable> {
    Step::from_word(word).ok_or_else(|| Unreadable::UnknownStep { step: word.to_owned() })
}

pub(crate) fn lane(lane: Lane) -> &'static str {
    lane.word()
}

pub(crate) fn span(span: Span) -> &'static str {
    span.word()
}

words! {
    Step {
        "open" = (Self::Open),
        "research" = (Self::Research),
        "plan" = (Self::Plan),
        "implement" = (Self::Implement),
        "verify" = (Self::Verify),
        "review" = (Self::Review),
        "deliver" = (Self::Deliver),
        "rest" = (Self::Rest),
        "close" = (Self::Close),
        "tell" = (Self::Tell),
        "time_up/approval" = (Self::TimeUp(TimeUp::Approval)),
        "time_up/answer" = (Self::TimeUp(TimeUp::Answer)),
        "time_up/phase/prepare" = (Self::TimeUp(TimeUp::Phase(Phase::Prepare))),
        "time_up/phase/research" = (Self::TimeUp(TimeUp::Phase(Phase::Research))),
        "time_up/phase/plan" = (Self::TimeUp(TimeUp::Phase(Phase::Plan))),
        "time_up/phase/implement" = (Self::TimeUp(TimeUp::Phase(Phase::Implement))),
        "time_up/phase/verify" = (Self::TimeUp(TimeUp::Phase(Phase::Verify))),
        "time_up/phase/review" = (Self::TimeUp(TimeUp::Phase(Phase::Review))),
        "time_up/phase/deliver" = (Self::TimeUp(TimeUp::Phase(Phase::Deliver))),
    }
    Lane {
        "work" = (Self::Work),
        "notice" = (Self::Notice),
        "timer" = (Self::Timer),
    }
    Span { "stage" = (Self::Stage), "always" = (Self::Always), }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: [Step; 12] = [
        Step::Open,
        Step::Research,
        Step::Plan,
        Step::Implement,
        Step::Verify,
        Step::Review,
        Step::Deliver,
        Step::Rest,
        Step::Close,
        Step::Tell,
        Step::TimeUp(TimeUp::Approval),
        Step::TimeUp(TimeUp::Answer),
    ];

    #[test]
    fn every_step_survives_storage() {
        let timers = Phase::ALL.map(|phase| Step::TimeUp(TimeUp::Phase(phase)));
        for step in PLAIN.into_iter().chain(timers) {
            assert_eq!(decode(encode(step)).unwrap(), step);
        }
    }

    #[test]
    fn a_phase_timer_ends_with_the_phases_name() {
        for phase in Phase::ALL {
            let word = encode(Step::TimeUp(TimeUp::Phase(phase)));
            assert_eq!(word, format!("time_up/phase/{}", phase.name()));
        }
    }

    #[test]
    fn an_unknown_step_is_refused_with_a_sentence() {
        for word in ["", "Open", "open ", "time_up", "time_up/phase/", "time_up/phase/lunch"] {
            let error = decode(word).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "a step `{word}` is stored, which this lamp does not know; a newer one wrote it"
                )
            );
        }
    }

    #[test]
    fn lanes_and_spans_are_words() {
        assert_eq!(lane(Step::Tell.lane()), "notice");
        assert_eq!(span(Step::Tell.span()), "always");
        for known in [Lane::Work, Lane::Notice, Lane::Timer] {
            assert_eq!(Lane::from_word(lane(known)), Some(known));
        }
        for known in [Span::Stage, Span::Always] {
            assert_eq!(Span::from_word(span(known)), Some(known));
        }
    }
}
