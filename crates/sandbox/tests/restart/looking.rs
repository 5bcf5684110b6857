//! Git has looked at the repositories of a computer that waits, and not at those of one that was made on demand.

use std::{path::Path, process::Command, time::Duration};

use contracts::sandbox::{Base, Checkout, Compute, Recipe, Sandboxes as _, Spec};
use domain::code::{Access, RepositoryName};
use sandbox::PoolSettings;
use tokio::sync::mpsc;

use crate::house::{House, spec};

const ONE: PoolSettings =
    PoolSettings { most_of_a_kind: 1, most: 4, drain_after: Duration::from_mins(10) };

/// Leaves a file that is younger than any index, so that git reads it at every look, and a filter that counts how often it does.
const SETUP: &str = r#"
touch -d 2100-01-01 readme
mkdir -p .git/info
echo '* filter=counted' > .git/info/attributes
printf '[filter "counted"]\n\tclean = "echo seen >> /home/lamp/seen; cat"\n' >> .git/config
git update-index --refresh
"#;

/// How often git has looked.
const LOOKS: &str = "wc -l < /home/lamp/seen";

fn git(at: &Path, words: &str) {
    let who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
    let output = Command::new("git").args(who).args(words.split(' ')).current_dir(at).output();
    assert!(output.as_ref().unwrap().status.success(), "git {words}: {output:?}");
}

/// What to open, on an image that has a repository.
pub(crate) async fn with_repository(house: &House, at: &Path) -> Spec {
    git(at, "init -q -b main");
    std::fs::write(at.join("readme"), "first\n").unwrap();
    git(at, "add .");
    git(at, "commit -q -m first");
    let repository: RepositoryName = "acme/web".parse().unwrap();
    let mirrors = house.provider.mirrors();
    mirrors.register(&repository, at.to_str().unwrap()).await.unwrap();
    mirrors.fetch(&repository, None).await.unwrap();
    let commit = mirrors.resolve(&repository, "main").await.unwrap();
    let sources = vec![Checkout { repository, commit, access: Access::Write }];
    let compute = Compute { memory_mib: 512, disk_mib: 64, ..Compute::default() };
    let recipe = Recipe {
        base: Base::Host,
        sources: sources.clone(),
        setup: Some(SETUP.to_owned()),
        compute,
        network: None,
    };
    let (news, mut told) = mpsc::channel(64);
    let listening = async { while told.recv().await.is_some() {} };
    let (image, ()) = tokio::join!(house.provider.prepare_image(&recipe, news), listening);
    let image = format!("image:{}", image.unwrap().key);
    Spec { image, sources, compute, ..spec(1) }
}

async fn looks(house: &House, spec: &Spec) -> u32 {
    house.says(spec.id, LOOKS).await.trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn git_has_looked_at_the_repositories_of_a_computer_that_waits() {
    let house = House::with_pool(ONE).await;
    let origin = tempfile::tempdir().unwrap();
    let first = with_repository(&house, origin.path()).await;
    house.provider.open(&first).await.unwrap();
    house.until_waiting(1).await;
    let second = Spec { id: spec(2).id, ..first.clone() };
    house.provider.open(&second).await.unwrap();
    let (made, claimed) = (looks(&house, &first).await, looks(&house, &second).await);
    assert!(
        made > 0 && claimed > made,
        "{made} in one that was made, {claimed} in one that waited"
    );
    house.says(second.id, "test ! -e /workspace/web/.git/index.lock").await;
    house.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn git_does_not_look_where_there_is_little_memory() {
    let house = House::with_pool(ONE).await;
    let origin = tempfile::tempdir().unwrap();
    let mut first = with_repository(&house, origin.path()).await;
    first.compute.memory_mib = 256;
    house.provider.open(&first).await.unwrap();
    house.until_waiting(1).await;
    let second = Spec { id: spec(2).id, ..first.clone() };
    house.provider.open(&second).await.unwrap();
    let (made, claimed) = (looks(&house, &first).await, looks(&house, &second).await);
    assert!(
        made > 0 && claimed == made,
        "{made} in one that was made, {claimed} in one that waited"
    );
    house.end().await;
}
