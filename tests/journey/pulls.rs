//! After delivery: comments and failed checks wake the same task on the same branch, and plain git is heard.

use wire::{
    pull::{NewCheck, NewComment, PullCheckState},
    task::event::{TaskEvent, WakeCause},
};

use crate::{house::House, play::Play, repository::Repository};

const FOLLOWS: &str = "Mend the sum.\n#implement\nif grep -q -e hello -e 'docs build' \"$HEARD\"; then echo hello > HELLO; else sed -i 's/a - b/a + b/' sum.py; fi\n";

pub(crate) async fn a_comment_wakes_the_same_task_on_the_same_branch(house: &House) {
    let repository = Repository::make(&house.repositories(), "comment");
    let mut play = Play::begin(house, repository, FOLLOWS).await;
    play.approve().await;
    let first = play.delivered().await;
    let comment = NewComment { text: "Say hello as well.".to_owned(), ..NewComment::default() };
    house.client.comment_on_pull(&play.repository.name, first.number, &comment).await.unwrap();
    let cause = play.until("that it wakes", woken).await;
    let WakeCause::Remarks { remarks } = &cause else { panic!("{cause:?}") };
    let said: Vec<&str> = remarks.iter().map(|remark| remark.text.as_str()).collect();
    assert_eq!(said, ["Say hello as well."]);
    goes_on_where_it_was(&mut play, &first).await;
}

pub(crate) async fn a_failed_check_wakes_the_same_task_on_the_same_branch(house: &House) {
    let repository = Repository::make(&house.repositories(), "check");
    let mut play = Play::begin(house, repository, FOLLOWS).await;
    play.approve().await;
    let first = play.delivered().await;
    let check = NewCheck {
        name: "docs build".to_owned(),
        commit: first.delivered.clone(),
        state: PullCheckState::Failed,
        summary: "there is no greeting".to_owned(),
    };
    house.client.check_pull(&play.repository.name, first.number, &check).await.unwrap();
    let cause = play.until("that it wakes", woken).await;
    assert!(matches!(&cause, WakeCause::FailedCheck { check } if check == "docs build"));
    goes_on_where_it_was(&mut play, &first).await;
}

fn woken(event: &TaskEvent) -> Option<WakeCause> {
    let TaskEvent::Woken { cause } = event else { return None };
    Some(cause.clone())
}

async fn goes_on_where_it_was(play: &mut Play<'_>, first: &wire::pull::Pull) {
    let second = play.land().await;
    assert_eq!((second.number, &second.branch), (first.number, &first.branch));
    assert_ne!(second.delivered, first.delivered);
    assert_eq!(play.repository.git(&["show", "main:HELLO"]), "hello");
}

pub(crate) async fn a_branch_that_is_merged_with_plain_git_ends_its_task(house: &House) {
    let repository = Repository::make(&house.repositories(), "plain");
    let mut play = Play::begin(house, repository, "Mend the sum.").await;
    play.approve().await;
    let pull = play.delivered().await;
    play.repository.git(&["merge", "--quiet", "--no-ff", "--message", "by hand", &pull.branch]);
    play.done("merged").await;
    assert!(play.repository.is_mended());
}

pub(crate) async fn a_persons_push_to_the_branch_makes_the_task_theirs(house: &House) {
    let repository = Repository::make(&house.repositories(), "pushed");
    let mut play = Play::begin(house, repository, FOLLOWS).await;
    let repository = Repository::make(&house.repositories(), "not-pushed");
    let mut control = Play::begin(house, repository, FOLLOWS).await;
    play.approve().await;
    control.approve().await;
    let pull = play.delivered().await;
    let other = control.delivered().await;
    play.repository.git(&["checkout", "--quiet", &pull.branch]);
    let pushed = play.repository.commit("MINE", "by a person");
    play.repository.git(&["checkout", "--quiet", "main"]);
    play.done("taken_over").await;
    house.told_last(&play.id, "Someone pushed to the branch: the task is theirs now.").await;
    // What is said now wakes nobody, and the branch stays as the person left it.
    let comment = NewComment { text: "Say hello as well.".to_owned(), ..NewComment::default() };
    let name = &play.repository.name;
    house.client.comment_on_pull(name, pull.number, &comment).await.unwrap();
    // The same words, said later to a task that is still its own, wake it: by then the first would have been heard.
    let of_control = &control.repository.name;
    house.client.comment_on_pull(of_control, other.number, &comment).await.unwrap();
    control.until("that it wakes", woken).await;
    goes_on_where_it_was(&mut control, &other).await;
    let after = play.task().await;
    assert_eq!((after.state.as_str(), after.events), ("done", play.events.len() as u64), "{play}");
    assert_eq!(play.repository.git(&["rev-parse", &pull.branch]), pushed);
    assert_eq!(house.client.pulls(name).await.unwrap().len(), 1);
}
