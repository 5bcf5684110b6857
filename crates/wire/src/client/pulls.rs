//! Pull requests, called from a program.

use bytes::Bytes;
use hyper::Method;

use super::{Answered, Client, tasks::query_of};
use crate::{
    pull::{MergePull, Merged, NewCheck, NewComment, NewReview, Pull, Pulls},
    task::shown::Patch,
};

impl Client {
    /// Those of a repository, the newest first.
    pub async fn pulls(&self, repository: &str) -> Answered<Vec<Pull>> {
        let words = query_of(&[("repository", Some(repository.to_owned()))]);
        Ok(self.get::<Pulls>(&format!("/pulls{words}")).await?.pulls)
    }

    pub async fn pull(&self, repository: &str, number: u64) -> Answered<Pull> {
        self.get(&of(repository, number, "")).await
    }

    pub async fn pull_diff(&self, repository: &str, number: u64) -> Answered<Patch> {
        self.get(&of(repository, number, "/diff")).await
    }

    pub async fn comment_on_pull(
        &self,
        repository: &str,
        number: u64,
        wish: &NewComment,
    ) -> Answered<Pull> {
        let path = of(repository, number, "/comments");
        self.send(Method::POST, &path, wish).await?.json().await
    }

    pub async fn check_pull(
        &self,
        repository: &str,
        number: u64,
        wish: &NewCheck,
    ) -> Answered<Pull> {
        let path = of(repository, number, "/checks");
        self.send(Method::POST, &path, wish).await?.json().await
    }

    pub async fn review_pull(
        &self,
        repository: &str,
        number: u64,
        wish: &NewReview,
    ) -> Answered<Pull> {
        let path = of(repository, number, "/reviews");
        self.send(Method::POST, &path, wish).await?.json().await
    }

    /// Merges the commit that was looked at, and no other.
    pub async fn merge_pull(
        &self,
        repository: &str,
        number: u64,
        wish: &MergePull,
    ) -> Answered<Merged> {
        let path = of(repository, number, "/merge");
        self.send(Method::POST, &path, wish).await?.json().await
    }

    pub async fn close_pull(&self, repository: &str, number: u64) -> Answered<Pull> {
        let path = of(repository, number, "/close");
        self.call(Method::POST, &path, Bytes::new()).await?.json().await
    }
}

fn of(repository: &str, number: u64, rest: &str) -> String {
    let words = query_of(&[("repository", Some(repository.to_owned()))]);
    format!("/pulls/{number}{rest}{words}")
}
