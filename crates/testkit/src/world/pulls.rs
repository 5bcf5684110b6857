//! Pull requests of the scripted forge: what was delivered, and what a person did to it.

use contracts::forge::{
    Author, Check, CheckState, Comment, Diff, Merge, Outcome, Pull, PullError, PullRequest,
    PullRequests, PullState, Revert, Review,
};
use contracts::sandbox::Cut;
use domain::{
    code::{CommitId, PullRequestNumber, RepositoryName},
    time::Timestamp,
};

use crate::ledger::Ledger;

/// Keeps what the promises ask for and the engine looks at.
#[derive(Debug, Clone)]
pub struct ScriptedPulls {
    ledger: Ledger,
}

impl ScriptedPulls {
    pub const fn new(ledger: Ledger) -> Self {
        Self { ledger }
    }

    /// Somebody else pushes to the branch of a pull request.
    pub fn push_by_hand(&self, pull: &Pull, commit: &CommitId) -> std::io::Result<()> {
        self.ledger.set("by-hand", pull.branch.as_str(), commit.as_str())
    }

    /// The branches that have one, as they were named.
    fn names(&self) -> Result<Vec<String>, PullError> {
        let names = self.ledger.names("pull").map_err(busy)?;
        Ok(names.into_iter().map(|name| name.replace('|', "/")).collect())
    }

    fn find(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Pull, PullError> {
        let none = || PullError::NoPull { repository: repository.clone(), number };
        let wanted = number.0.to_string();
        for name in self.names()? {
            let branch = name.strip_prefix(&format!("{repository}/"));
            let (Some(branch), Some(held)) = (branch, self.ledger.read("pull", &name)) else {
                continue;
            };
            if held == wanted {
                return self.pull_of(branch, &name, number).ok_or_else(none);
            }
        }
        Err(none())
    }

    fn pull_of(&self, branch: &str, name: &str, number: PullRequestNumber) -> Option<Pull> {
        let delivered: CommitId = self.ledger.read("delivered", name)?.parse().ok()?;
        let by_hand = self.ledger.read("by-hand", branch).and_then(|it| it.parse().ok());
        let state = match self.ledger.read("ended", name) {
            None => PullState::Draft,
            Some(how) if how == "closed" => PullState::Closed { by: person() },
            Some(commit) => PullState::Merged { commit: commit.parse().ok()?, by: person() },
        };
        Some(Pull {
            number,
            address: format!("scripted:{name}"),
            title: self.ledger.read("title", name).unwrap_or_default(),
            body: self.ledger.read("body", name).unwrap_or_default(),
            state,
            branch: branch.parse().ok()?,
            base: "main".to_owned(),
            head: by_hand.or_else(|| Some(delivered.clone())),
            delivered,
            comments: self.comments(number),
            checks: self.checks(number),
            reviews: Vec::new(),
        })
    }

    fn comments(&self, number: PullRequestNumber) -> Vec<Comment> {
        let kind = format!("comment-{}", number.0);
        let names = self.ledger.names(&kind).unwrap_or_default().into_iter();
        let kept = names.filter_map(|name| Some((self.ledger.read(&kind, &name)?, name)));
        let comment = |(kept, name): (String, String)| {
            let (by, text) = kept.split_once('\n')?;
            let author = match by.strip_prefix(UNPROVEN) {
                Some(by) => Author::Unproven(by.to_owned()),
                None if by.is_empty() => Author::Platform,
                None => Author::Person(by.to_owned()),
            };
            let (at, text) = (Timestamp::from_millis(0), text.to_owned());
            Some(Comment { name, author, at, text, place: None })
        };
        kept.filter_map(comment).collect()
    }

    fn checks(&self, number: PullRequestNumber) -> Vec<Check> {
        let kind = format!("check-{}", number.0);
        let names = self.ledger.names(&kind).unwrap_or_default().into_iter();
        let kept = names.filter_map(|name| Some((self.ledger.read(&kind, &name)?, name)));
        let check = |(kept, name): (String, String)| {
            let (name, commit) = name.rsplit_once('|')?;
            let (state, summary) = kept.split_once('\n')?;
            let state = match state {
                "failed" => CheckState::Ended(Outcome::Failed),
                "running" => CheckState::Running,
                _passed_or_skipped => CheckState::Ended(Outcome::Passed),
            };
            let (name, summary) = (name.replace('|', "/"), summary.to_owned());
            Some(Check { name, commit: commit.parse().ok()?, state, summary })
        };
        kept.filter_map(check).collect()
    }
}

/// Before the name of somebody whom nobody knows.
const UNPROVEN: &str = "?";

fn person() -> Author {
    Author::Person("ann".to_owned())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn busy(error: std::io::Error) -> PullError {
    PullError::Busy { reason: error.to_string() }
}

impl PullRequests for ScriptedPulls {
    async fn pull(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Pull, PullError> {
        self.find(repository, number)
    }

    async fn pulls(&self, repository: &RepositoryName) -> Result<Vec<Pull>, PullError> {
        let mut all = Vec::new();
        for name in self.names()? {
            let number = self.ledger.read("pull", &name).and_then(|it| it.parse().ok());
            let branch = name.strip_prefix(&format!("{repository}/"));
            if let (Some(branch), Some(number)) = (branch, number) {
                all.extend(self.pull_of(branch, &name, PullRequestNumber(number)));
            }
        }
        all.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        Ok(all)
    }

    async fn diff(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
    ) -> Result<Diff, PullError> {
        let pull = self.find(repository, number)?;
        Ok(Diff { text: format!("+{}\n", pull.delivered).into_bytes(), cut: Cut::Whole })
    }

    async fn comment(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        comment: &Comment,
    ) -> Result<(), PullError> {
        let by = match &comment.author {
            Author::Platform => String::new(),
            Author::Person(by) => by.clone(),
            Author::Unproven(by) => format!("{UNPROVEN}{by}"),
        };
        let kept = format!("{by}\n{}", comment.text);
        let kind = format!("comment-{}", number.0);
        self.ledger.once(&kind, &comment.name, &kept).map(drop).map_err(busy)
    }

    async fn check(
        &self,
        _repository: &RepositoryName,
        number: PullRequestNumber,
        check: &Check,
    ) -> Result<(), PullError> {
        let state = match check.state {
            CheckState::Running => "running",
            CheckState::Ended(Outcome::Failed) => "failed",
            CheckState::Ended(Outcome::Passed | Outcome::Skipped) => "ended",
        };
        let (kind, name) =
            (format!("check-{}", number.0), format!("{}/{}", check.name, check.commit));
        self.ledger.set(&kind, &name, &format!("{state}\n{}", check.summary)).map_err(busy)
    }

    async fn review(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        review: &Review,
    ) -> Result<(), PullError> {
        let name = format!("{repository}/{number}/{}", review.name);
        self.ledger.set("review", &name, &review.text).map_err(busy)
    }

    async fn is_in(
        &self,
        repository: &RepositoryName,
        base: &str,
        commit: &CommitId,
    ) -> Result<bool, PullError> {
        let pulls = self.pulls(repository).await?.into_iter();
        let is_merged = |pull: &Pull| matches!(&pull.state, PullState::Merged { commit: merged, .. } if merged == commit);
        let mut of_base = pulls.filter(|pull| pull.base == base);
        Ok(of_base.any(|pull| is_merged(&pull)))
    }

    async fn merge(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        merge: &Merge,
    ) -> Result<CommitId, PullError> {
        let pull = self.find(repository, number)?;
        if pull.base != merge.base {
            let (looked, now) = (merge.base.clone(), pull.base);
            return Err(PullError::OtherBase { number, looked, now });
        }
        let name = format!("{repository}/{}", pull.branch);
        self.ledger.set("ended", &name, merge.head.as_str()).map_err(busy)?;
        Ok(merge.head.clone())
    }

    async fn revert(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        revert: &Revert,
    ) -> Result<PullRequest, PullError> {
        let PullState::Merged { .. } = self.find(repository, number)?.state else {
            return Err(PullError::NotMerged { number });
        };
        let name = format!("{repository}/agent/revert-{}", number.0);
        let next = self.ledger.names("number").map_err(busy)?.len() + 1;
        let back = self.ledger.once("pull", &name, &next.to_string()).map_err(busy)?;
        self.ledger.once("number", &back, &name).map_err(busy)?;
        self.ledger.once("title", &name, &revert.title).map_err(busy)?;
        self.ledger.once("body", &name, &revert.body).map_err(busy)?;
        self.ledger.once("delivered", &name, revert.began.as_str()).map_err(busy)?;
        let number = PullRequestNumber(back.parse().unwrap_or_default());
        Ok(PullRequest { number, address: format!("scripted:{name}") })
    }

    async fn close(
        &self,
        repository: &RepositoryName,
        number: PullRequestNumber,
        _by: &Author,
    ) -> Result<(), PullError> {
        let pull = self.find(repository, number)?;
        let name = format!("{repository}/{}", pull.branch);
        self.ledger.set("ended", &name, "closed").map_err(busy)
    }
}
