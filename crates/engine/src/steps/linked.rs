//! What a request points at (PL2): the pull requests of its repository that it names, with what was said on them.
//!
//! Whoever wrote there has instructed nobody: it is quoted, as data. What cannot be found is left out, because `#7` may mean anything. Files
//! that a request names are in the repository, and pages are read by the agent itself, where its policy lets it.

use contracts::forge::{Author, Pull, PullRequests as _, PullState};
use domain::code::PullRequestNumber;

use super::Scene;
use crate::Hands;

/// Pull requests that are looked for.
const MOST: usize = 5;
/// Remarks that are told of each, the newest.
const REMARKS: usize = 20;

/// The pull requests that are named, as quotes.
pub(super) async fn quotes<H: Hands>(scene: &Scene<'_, H>) -> Vec<String> {
    let Some(used) = scene.request.repositories.first() else { return Vec::new() };
    let mut quotes = Vec::new();
    for number in named(&scene.request.text) {
        match scene.hands().pulls().pull(&used.name, number).await {
            Ok(pull) => quotes.push(quote(&pull)),
            Err(error) => {
                tracing::debug!(task = %scene.lease.task, %error, "nothing is told of what it names");
            }
        }
    }
    quotes
}

/// `#12`, wherever a word begins so: each once, in their order.
fn named(text: &str) -> Vec<PullRequestNumber> {
    let mut named = Vec::new();
    for word in text.split(|letter: char| letter.is_whitespace() || "()[]{},;\"'`".contains(letter))
    {
        let Some(rest) = word.strip_prefix('#') else { continue };
        let number = rest.trim_end_matches(['.', ':', '!', '?']).parse::<u64>();
        let Some(number) = number.ok().filter(|number| *number > 0).map(PullRequestNumber) else {
            continue;
        };
        if !named.contains(&number) && named.len() < MOST {
            named.push(number);
        }
    }
    named
}

fn quote(pull: &Pull) -> String {
    let state = match &pull.state {
        PullState::Draft => "a draft".to_owned(),
        PullState::Open => "open".to_owned(),
        PullState::Merged { commit, .. } => format!("merged as {commit}"),
        PullState::Closed { .. } => "closed without merging".to_owned(),
    };
    let branch = &pull.branch;
    let mut text =
        format!("pull request {} ({state}, branch {branch}): {}\n", pull.number, pull.title);
    let reviews = pull.reviews.iter().map(|review| {
        let (who, does) = (who(&review.author), review.opinion.verb());
        (review.at, format!("{who} {does}: {}", review.text))
    });
    let comments = pull.comments.iter().map(|comment| {
        let place = comment.place.as_ref().map(|(path, line)| format!(" on {path}:{line}"));
        let place = place.unwrap_or_default();
        (comment.at, format!("{}{place}: {}", who(&comment.author), comment.text))
    });
    let mut said: Vec<_> = reviews.chain(comments).collect();
    said.sort_by_key(|(at, _)| *at);
    for (_, remark) in said.iter().skip(said.len().saturating_sub(REMARKS)) {
        text.push_str("\n- ");
        text.push_str(remark);
    }
    // Last, because what is too long is cut at its end, and what people said is shorter than what they were told.
    text.push_str("\n\n");
    text.push_str(&pull.body);
    text
}

/// Whoever may push can write any name, and the agent is not to take it for somebody's.
fn who(author: &Author) -> String {
    match author {
        Author::Platform | Author::Person(_) => author.name().to_owned(),
        Author::Unproven(name) => format!("somebody who is not known and calls themselves {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_nobody_has_proven_is_told_as_that() {
        assert_eq!(who(&Author::Person("ann".to_owned())), "ann");
        let told = who(&Author::Unproven("ann".to_owned()));
        assert_eq!(told, "somebody who is not known and calls themselves ann");
    }

    #[test]
    fn numbers_of_pull_requests_are_found_where_a_word_begins_with_them() {
        let found = |text| named(text).into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(found("As in #12 (see #3, `#4`): mend it. #12 again"), [12, 3, 4]);
        assert_eq!(
            found("colour #fff, issue#9, #0, #, #99999999999999999999, C#7"),
            [] as [u64; 0]
        );
        assert_eq!(found("#1 #2 #3 #4 #5 #6 #7"), [1, 2, 3, 4, 5]);
        assert_eq!(found("like #8."), [8]);
    }
}
