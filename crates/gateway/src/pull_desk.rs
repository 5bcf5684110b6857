//! Pull requests, as the server offers them. Whatever keeps [`PullRequests`] can be plugged in as it is.

use contracts::forge::{
    Author, Check, Comment, Diff, Merge, Pull, PullError, PullRequest, PullRequests, Revert, Review,
};
use domain::code::{CommitId, PullRequestNumber, RepositoryName};
use futures::future::BoxFuture;

/// [`PullRequests`] behind a pointer.
pub trait PullDesk: Send + Sync + 'static {
    fn pulls<'a>(
        &'a self,
        repository: &'a RepositoryName,
    ) -> BoxFuture<'a, Result<Vec<Pull>, PullError>>;

    fn pull<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Pull, PullError>>;

    fn diff<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Diff, PullError>>;

    fn comment<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        comment: &'a Comment,
    ) -> BoxFuture<'a, Result<(), PullError>>;

    fn check<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        check: &'a Check,
    ) -> BoxFuture<'a, Result<(), PullError>>;

    fn review<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        review: &'a Review,
    ) -> BoxFuture<'a, Result<(), PullError>>;

    fn merge<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        merge: &'a Merge,
    ) -> BoxFuture<'a, Result<CommitId, PullError>>;

    fn revert<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        revert: &'a Revert,
    ) -> BoxFuture<'a, Result<PullRequest, PullError>>;

    fn close<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        by: &'a Author,
    ) -> BoxFuture<'a, Result<(), PullError>>;
}

impl<P: PullRequests> PullDesk for P {
    fn pulls<'a>(
        &'a self,
        repository: &'a RepositoryName,
    ) -> BoxFuture<'a, Result<Vec<Pull>, PullError>> {
        Box::pin(PullRequests::pulls(self, repository))
    }

    fn pull<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Pull, PullError>> {
        Box::pin(PullRequests::pull(self, repository, number))
    }

    fn diff<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
    ) -> BoxFuture<'a, Result<Diff, PullError>> {
        Box::pin(PullRequests::diff(self, repository, number))
    }

    fn comment<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        comment: &'a Comment,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(PullRequests::comment(self, repository, number, comment))
    }

    fn check<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        check: &'a Check,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(PullRequests::check(self, repository, number, check))
    }

    fn review<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        review: &'a Review,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(PullRequests::review(self, repository, number, review))
    }

    fn merge<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        merge: &'a Merge,
    ) -> BoxFuture<'a, Result<CommitId, PullError>> {
        Box::pin(PullRequests::merge(self, repository, number, merge))
    }

    fn revert<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        revert: &'a Revert,
    ) -> BoxFuture<'a, Result<PullRequest, PullError>> {
        Box::pin(PullRequests::revert(self, repository, number, revert))
    }

    fn close<'a>(
        &'a self,
        repository: &'a RepositoryName,
        number: PullRequestNumber,
        by: &'a Author,
    ) -> BoxFuture<'a, Result<(), PullError>> {
        Box::pin(PullRequests::close(self, repository, number, by))
    }
}
