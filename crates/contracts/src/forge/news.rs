//! What happened to a pull request that its task should hear of.
//!
//! A pure function of what the task saw last and what is there now, so that nothing is told twice and nothing is lost while
//! nobody looked.

use domain::code::CommitId;

use super::pulls::{Author, Check, CheckState, Comment, Opinion, Outcome, Pull, PullState, Review};

/// Something new, in the order in which a task should think about it: what ends its work is first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    Merged {
        commit: CommitId,
    },
    Closed,
    /// Somebody else pushed, or removed the branch: it is theirs now, and automation ends.
    Taken {
        head: Option<CommitId>,
    },
    /// A check of the commit that is delivered failed.
    CheckFailed(Check),
    /// Somebody other than the platform reviewed it, and has something to say. An approval asks for no work.
    Reviewed(Review),
    /// Somebody other than the platform wrote.
    Commented(Comment),
}

/// What is in `after` that was not in `before`.
pub fn news(before: &Pull, after: &Pull) -> Vec<News> {
    let endings = ending(before, after).into_iter().chain(taken(before, after));
    let failures = after
        .checks
        .iter()
        .filter(|check| fails(check) && check.commit == after.delivered)
        .filter(|check| !before.checks.contains(check) && !was_failing(before, check))
        .cloned()
        .map(News::CheckFailed);
    let reviews = after
        .reviews
        .iter()
        .filter(|review| !is_ours(&review.author) && says_something(review))
        .filter(|review| before.reviews.iter().all(|seen| seen.name != review.name))
        .cloned()
        .map(News::Reviewed);
    let comments = after
        .comments
        .iter()
        .filter(|comment| !is_ours(&comment.author))
        .filter(|comment| before.comments.iter().all(|seen| seen.name != comment.name))
        .cloned()
        .map(News::Commented);
    endings.chain(failures).chain(reviews).chain(comments).collect()
}

fn ending(before: &Pull, after: &Pull) -> Option<News> {
    match (&before.state, &after.state) {
        (PullState::Merged { .. }, PullState::Merged { .. })
        | (PullState::Closed { .. }, PullState::Closed { .. })
        | (_, PullState::Draft | PullState::Open) => None,
        (_, PullState::Merged { commit, .. }) => Some(News::Merged { commit: commit.clone() }),
        (_, PullState::Closed { .. }) => Some(News::Closed),
    }
}

/// Told once for each commit of theirs. A branch that is removed after the end is tidied up, and nobody's news.
fn taken(before: &Pull, after: &Pull) -> Option<News> {
    let is_over = matches!(after.state, PullState::Merged { .. } | PullState::Closed { .. });
    let is_theirs = after.head.as_ref() != Some(&after.delivered);
    let was_told = before.head == after.head && before.delivered == after.delivered;
    (is_theirs && !was_told && !is_over).then(|| News::Taken { head: after.head.clone() })
}

const fn is_ours(author: &Author) -> bool {
    matches!(author, Author::Platform)
}

const fn fails(check: &Check) -> bool {
    matches!(check.state, CheckState::Ended(Outcome::Failed))
}

/// A check that goes on failing, with other words, is not new.
fn was_failing(before: &Pull, check: &Check) -> bool {
    let same = |seen: &&Check| seen.name == check.name && seen.commit == check.commit;
    before.checks.iter().find(same).is_some_and(fails)
}

fn says_something(review: &Review) -> bool {
    match review.opinion {
        Opinion::WantsChanges => true,
        Opinion::Approves => false,
        Opinion::Remarks => !review.text.trim().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use domain::{code::PullRequestNumber, time::Timestamp};

    use super::*;

    fn commit(letter: char) -> CommitId {
        letter.to_string().repeat(40).parse().unwrap()
    }

    fn pull() -> Pull {
        Pull {
            number: PullRequestNumber(1),
            address: String::new(),
            title: String::new(),
            body: String::new(),
            state: PullState::Open,
            branch: "agent/x".parse().unwrap(),
            base: "main".to_owned(),
            head: Some(commit('a')),
            delivered: commit('a'),
            comments: Vec::new(),
            checks: Vec::new(),
            reviews: Vec::new(),
        }
    }

    fn comment(name: &str, author: Author) -> Comment {
        let (name, text) = (name.to_owned(), "hello".to_owned());
        Comment { name, author, at: Timestamp::from_millis(0), text, place: None }
    }

    fn check(state: CheckState, of: char) -> Check {
        let (name, summary) = ("test".to_owned(), String::new());
        Check { name, commit: commit(of), state, summary }
    }

    fn person() -> Author {
        Author::Person("ann".to_owned())
    }

    #[test]
    fn nothing_is_news_about_what_has_not_changed() {
        let mut seen = pull();
        seen.comments.push(comment("1", person()));
        seen.checks.push(check(CheckState::Ended(Outcome::Failed), 'a'));
        assert_eq!(news(&seen, &seen), []);
    }

    #[test]
    fn a_persons_comment_is_news_once_and_the_platforms_never() {
        let (before, mut after) = (pull(), pull());
        after.comments = vec![comment("1", Author::Platform), comment("2", person())];
        assert_eq!(news(&before, &after), [News::Commented(comment("2", person()))]);
        assert_eq!(news(&after, &after), []);
    }

    #[test]
    fn a_check_is_news_when_it_begins_to_fail_on_what_was_delivered() {
        let failed = CheckState::Ended(Outcome::Failed);
        let with = |state, of| Pull { checks: vec![check(state, of)], ..pull() };
        let expected = [News::CheckFailed(check(failed, 'a'))];
        assert_eq!(news(&pull(), &with(failed, 'a')), expected);
        assert_eq!(news(&with(CheckState::Running, 'a'), &with(failed, 'a')), expected);
        assert_eq!(news(&pull(), &with(failed, 'b')), [], "of a commit that is not ours any more");
        assert_eq!(news(&pull(), &with(CheckState::Ended(Outcome::Passed), 'a')), []);
    }

    #[test]
    fn somebody_elses_push_takes_the_branch_once() {
        let after = Pull { head: Some(commit('b')), ..pull() };
        assert_eq!(news(&pull(), &after), [News::Taken { head: Some(commit('b')) }]);
        assert_eq!(news(&after, &after), []);
        let gone = Pull { head: None, ..pull() };
        assert_eq!(news(&pull(), &gone), [News::Taken { head: None }]);
        let ours = Pull { head: Some(commit('b')), delivered: commit('b'), ..pull() };
        assert_eq!(news(&pull(), &ours), [], "our own push is not news");
    }

    #[test]
    fn an_ending_is_told_once_and_first() {
        let merged = PullState::Merged { commit: commit('c'), by: person() };
        let mut after = Pull { state: merged, head: None, ..pull() };
        after.comments.push(comment("1", person()));
        let told = news(&pull(), &after);
        assert_eq!(told.first(), Some(&News::Merged { commit: commit('c') }));
        assert_eq!(told.len(), 2);
        let closed = Pull { state: PullState::Closed { by: person() }, ..pull() };
        assert_eq!(news(&pull(), &closed), [News::Closed]);
        assert_eq!(news(&closed, &closed), []);
    }

    #[test]
    fn an_approval_wakes_nobody_whatever_it_says() {
        let review = |opinion, text: &str| Review {
            name: "r".to_owned(),
            author: person(),
            at: Timestamp::from_millis(0),
            commit: commit('a'),
            opinion,
            text: text.to_owned(),
        };
        let with = |review| Pull { reviews: vec![review], ..pull() };
        assert_eq!(news(&pull(), &with(review(Opinion::Approves, " "))), []);
        assert_eq!(news(&pull(), &with(review(Opinion::Approves, "and add a door"))), []);
        assert_eq!(news(&pull(), &with(review(Opinion::WantsChanges, ""))).len(), 1);
        assert_eq!(news(&pull(), &with(review(Opinion::Remarks, "look"))).len(), 1);
        assert_eq!(news(&pull(), &with(review(Opinion::Remarks, " "))), []);
    }
}
