//! What a second agent finds: mended by the first, or dismissed by a person (RV1).

use wire::task::{ask::DismissFinding, event::TaskEvent, review::TaskReview};

use crate::{house::House, play::Play, proof, repository::Repository};

/// One finding, as a reviewer of the scenes answers it.
const FINDING: &str = r#"{"path": "sum.py", "line": 1, "what": "nobody is told what it adds", "failing_input": "help(add)"}"#;

fn is_found(event: &TaskEvent) -> bool {
    matches!(event, TaskEvent::ReviewFoundFaults { .. })
}

async fn review(play: &Play<'_>) -> TaskReview {
    play.house.client.task_review(&play.id).await.unwrap()
}

pub(crate) async fn a_finding_of_the_reviewer_is_sent_back_and_mended(house: &House) {
    let repository = Repository::make(&house.repositories(), "found-mended");
    let request = format!(
        "The sum is wrong, and a reviewer looks twice.\n\
         #implement\n\
         sed -i 's/a - b/a + b/' sum.py\n\
         if grep -q 'nobody is told' \"$HEARD\"; then sed -i '1s/$/  # adds/' sum.py; fi\n\
         #review\n\
         grep -q '# adds' sum.py || echo '{{\"review\": {{\"findings\": [{FINDING}]}}}}' > \"$LAMP_ANSWER\""
    );
    let mut play = Play::begin(house, repository, &request).await;
    play.approve().await;
    let ids = play
        .until("a finding", |event| {
            let TaskEvent::ReviewFoundFaults { findings, stopped_by: None, .. } = event else {
                return None;
            };
            Some(findings.clone())
        })
        .await;
    assert_eq!(ids.len(), 1, "{play}");
    let pull = play.delivered().await;
    let heard = play.transcript().await;
    let told = "sum.py:1: nobody is told what it adds (fails with: help(add))";
    assert!(heard.contains(told), "file, line and failing input: {heard}");
    assert_eq!(play.count(is_found), 1, "{play}");
    assert!(pull.body.contains("1 not found again, 0 open, 0 dismissed"), "{}", pull.body);
    assert!(review(&play).await.passed);
    let patch = house.client.task_diff(&play.id).await.unwrap();
    assert!(patch.text.contains("# adds"), "{}", patch.text);
    play.merge(&pull).await;
}

pub(crate) async fn a_finding_that_a_person_dismisses_never_counts_again(house: &House) {
    let repository = Repository::make(&house.repositories(), "found-dismissed");
    let request = format!(
        "The sum is wrong, and a reviewer insists.\n\
         #implement\n\
         sed -i 's/a - b/a + b/' sum.py; date +%s%N >> tries\n\
         if grep -q 'say more' \"$HEARD\"; then echo 'It adds.' > README.md; fi\n\
         #review\n\
         echo '{{\"review\": {{\"findings\": [{FINDING}]}}}}' > \"$LAMP_ANSWER\""
    );
    let mut play = Play::begin(house, repository, &request).await;
    play.approve().await;
    let failure = play.failure().await;
    assert_eq!(failure.kind, "review_loop", "{play}");
    assert_eq!(play.count(is_found), 3, "two rounds of mending: {play}");
    let found = review(&play).await;
    let finding = found.findings[0].id.clone();
    let why = Some("the name says it".to_owned());
    let wish = DismissFinding { finding: finding.clone(), why: why.clone() };
    let task = house.client.dismiss(&play.id, &wish).await.unwrap();
    assert_eq!((task.state.as_str(), task.dismissed.len()), ("paused", 1));
    house.client.resume_task(&play.id).await.unwrap();
    let pull = play.delivered().await;
    assert_eq!(pull.delivered, found.commit, "what was reviewed is what is delivered");
    proof::receipt_holds(&play, &pull, &request).await;
    assert!(pull.body.contains("0 open, 1 dismissed"), "{}", pull.body);
    assert!(pull.body.contains("the name says it"), "{}", pull.body);
    let attested = proof::attested(&play).await.dismissed;
    let [dismissed] = attested.as_slice() else { panic!("{attested:?}") };
    assert_eq!((&dismissed.finding.to_string(), &dismissed.why), (&finding, &why));

    // The reviewer finds it again in the follow-up, and it does not count.
    let client = &house.client;
    let more = wire::task::ask::SendMessage { text: "please say more in a README".to_owned() };
    client.message(&play.id, &more).await.unwrap();
    let pull = play.delivered().await;
    assert_eq!(play.count(is_found), 3, "{play}");
    let again = review(&play).await;
    assert_eq!((again.findings[0].id.as_str(), again.passed), (finding.as_str(), true));
    assert_eq!(again.findings[0].dismissed.as_ref().and_then(|it| it.why.clone()), why);
    play.merge(&pull).await;
}
