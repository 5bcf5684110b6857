//! The files of `examples/`, as a server reads them.

use std::path::Path;

use contracts::{
    order::{Order, Wish, WishedRepository},
    outfit::Wanted,
};
use domain::{
    approval::{Approvers, FourEyes},
    code::Access,
    id::{PersonId, TaskId},
    money::Money,
    people::{Person, Role},
    request::{ChannelKind, RepositoryUse, Request, Source},
    task::Purpose,
};

use crate::{layers::Layers, order::order, outfit::Sketch, roster, server_files::ServerFiles};

fn request(agent: &str) -> Request {
    Request {
        text: "fix it".to_owned(),
        author: PersonId::from_u128(1),
        role: Role::Admin,
        source: Source { channel: ChannelKind::Api, thread: String::new() },
        repositories: vec![RepositoryUse { name: "web".parse().unwrap(), access: Access::Write }],
        agent: agent.parse().unwrap(),
        definition: None,
        model: None,
        quotes: Vec::new(),
        parent: None,
    }
}

fn sketched<T>(
    said: &ServerFiles,
    agent: &str,
    purpose: Purpose,
    look: impl FnOnce(&Sketch<'_>) -> T,
) -> T {
    let (request, layers) = (request(agent), Layers::of(said).unwrap());
    let task = TaskId::from_u128(1);
    let wanted = Wanted {
        task,
        request: &request,
        purpose,
        conditions: None,
        budget: Money::from_dollars(1),
        branch: None,
        taken_up: 0,
    };
    let member = roster::member(said, &request.agent).unwrap();
    look(&Sketch { wanted: &wanted, said, layers: &layers, member })
}

#[test]
fn every_example_gives_a_task_its_order_and_an_outfit_for_each_phase() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let said = ServerFiles::read(&examples.join("lamp.yaml")).unwrap();
    let unheard: Vec<String> = said.unheard().iter().map(ToString::to_string).collect();
    assert!(unheard.is_empty(), "{}", unheard.join("\n"));
    let layers = Layers::of(&said).unwrap();
    let ann = Person {
        id: PersonId::from_u128(1),
        role: Role::Admin,
        teams: std::iter::empty().collect(),
    };
    let mut told = Vec::new();
    for place in said.staff.places() {
        let name = Path::new(place).file_stem().unwrap().to_str().unwrap();
        let file = roster::member(&said, &name.parse().unwrap()).unwrap().file().unwrap().clone();
        let first = file.sandbox.repositories.first().unwrap();
        let repository = WishedRepository {
            name: first.name.clone(),
            url: "/srv/code".to_owned(),
            revision: None,
            access: None,
        };
        let wish = Wish {
            by: ann.clone(),
            door: ChannelKind::Cli,
            text: "mend it".to_owned(),
            repositories: vec![repository],
            agent: name.parse().ok(),
            model: None,
            attempts: None,
            budget: None,
        };
        let ordered = order(&said, &layers, &wish);
        let Order { limits, .. } = ordered.unwrap_or_else(|error| panic!("{place}: {error}"));
        // On a server with one person, this one can approve.
        assert_eq!(limits.gate.four_eyes, FourEyes::NotRequired, "{place}");
        assert_eq!(limits.gate.approvers, Approvers::AnyApprover, "{place}");
        for purpose in [Purpose::Research, Purpose::Implement, Purpose::Verify, Purpose::Review] {
            let allowed = sketched(&said, name, purpose, |sketch| {
                sketch.refuse_unknown()?;
                sketch.secrets()?;
                sketch.setup_network()?;
                sketch.compute().check()?;
                Ok::<_, String>(sketch.network()?.allowed)
            });
            let allowed = allowed.unwrap_or_else(|why| panic!("{place}, {purpose:?}: {why}"));
            let allowed: Vec<String> = allowed.into_iter().collect();
            told.push(format!("{name}, {purpose:?}: {}", allowed.join(", ")));
        }
    }
    insta::assert_snapshot!(told.join("\n"));
}
