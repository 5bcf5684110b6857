//! What all checks say together, as every page and event tells it.

use domain::headline as domain;
use engine::record::{ChecksRecord, SeverityRecord};
use wire::task::checks as told;

pub(super) fn headline(record: &ChecksRecord) -> told::Headline {
    let headline = record.headline();
    told::Headline {
        conclusion: conclusion(headline.conclusion),
        sentence: headline.to_string(),
        warning: headline.warning(),
        next: record.next_steps(),
        tests: headline.tests,
        failing_checks: headline.failing_checks,
        failing_tests: headline.failing_tests,
        mended: headline.mended,
        gone: headline.gone,
        not_run: headline.not_run,
    }
}

const fn conclusion(conclusion: domain::Conclusion) -> told::Conclusion {
    match conclusion {
        domain::Conclusion::Passed => told::Conclusion::Passes,
        domain::Conclusion::NothingWorse => told::Conclusion::NothingWorse,
        domain::Conclusion::Unproven(_) => told::Conclusion::Unproven,
        domain::Conclusion::Failed => told::Conclusion::Fails,
    }
}

pub(super) const fn severity(record: SeverityRecord) -> told::Severity {
    match record {
        SeverityRecord::Error => told::Severity::Error,
        SeverityRecord::Failure => told::Severity::Failure,
        SeverityRecord::Warning => told::Severity::Warning,
        SeverityRecord::Note => told::Severity::Note,
    }
}
