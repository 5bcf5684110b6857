//! What proves a delivery, looked at as anybody can: the receipt with the public key and the repository alone.

use domain::code::{CommitId, RepositoryName};
use evidence::{
    envelope::Envelope,
    keys::{PublicKey, TrustedKeys},
    receipt::{Receipt, TreeId},
    verify::{Finding, Known, Row, verify},
};
use wire::pull::Pull;

use crate::play::Play;

/// What the receipt of a task attests, under a signature of its server.
pub(crate) async fn attested(play: &Play<'_>) -> Receipt {
    let (envelope, trusted) = signed(play).await;
    Envelope::read(envelope.as_bytes()).unwrap().open(&trusted).unwrap().receipt
}

/// The receipt of a task as it is given out, and the keys of its server.
async fn signed(play: &Play<'_>) -> (String, TrustedKeys) {
    let envelope = play.house.client.task_receipt(&play.id).await.unwrap().to_string();
    let keys = std::fs::read_dir(play.house.data().join("keys/public")).unwrap();
    let pems =
        keys.map(|it| it.unwrap().path()).filter(|it| it.extension().is_some_and(|it| it == "pem"));
    let read = |path| std::fs::read_to_string(path).unwrap().parse::<PublicKey>().unwrap();
    (envelope, pems.map(read).collect())
}

/// The receipt of a pull request holds, and another commit, tree or request under it does not.
pub(crate) async fn receipt_holds(play: &Play<'_>, pull: &Pull, request: &str) {
    let (envelope, trusted) = signed(play).await;
    let repository: RepositoryName = play.repository.name.parse().unwrap();
    let commit: CommitId = pull.delivered.parse().unwrap();
    let tree = play.repository.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    let tree: TreeId = tree.parse().unwrap();
    let known = Known {
        repository: Some(&repository),
        commit: Some(&commit),
        tree: Some(&tree),
        request: Some(request),
        ..Known::default()
    };
    let rows = |known: &Known<'_>| {
        let verified = verify(envelope.as_bytes(), &trusted, known).unwrap();
        verified.checklist.rows().to_vec()
    };
    let wrong = |row: &&Row| row.finding == Finding::DoesNotHold;
    let honest = rows(&known);
    assert!(honest.iter().find(wrong).is_none(), "{honest:#?}");
    assert!(honest.iter().filter(|row| row.finding == Finding::Holds).count() >= 8, "{honest:#?}");
    let forged = rows(&Known { request: Some("something else"), ..known });
    assert!(forged.iter().any(|row| row.finding == Finding::DoesNotHold), "{forged:#?}");
}
