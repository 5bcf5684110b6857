//! Where registries are is asked when a rule or a refusal needs to know, and before the first decision by it.

use domain::policy::Ecosystem;

use super::*;
use crate::bundles::registries::RegistryHosts;

/// A host whose package managers count how often they are asked, and of what.
async fn asked_world() -> (World, Arc<Mutex<Vec<Ecosystem>>>) {
    let world = World::new().await;
    let asked: Arc<Mutex<Vec<Ecosystem>>> = Arc::default();
    let heard = Arc::clone(&asked);
    let ask = move |ecosystem: Ecosystem| {
        lock(&heard).push(ecosystem);
        let place = format!("https://{}.example.com/", ecosystem.as_str());
        BTreeSet::from([place.parse().unwrap()])
    };
    let registries = Arc::new(RegistryHosts::asking(Arc::new(ask)));
    let standing = Standing { registries, ..world.broker.standing().as_ref().clone() };
    world.broker.reload(standing).await;
    (world, asked)
}

fn rules(allow: &[Rule], deny: &[Rule]) -> Network {
    let (allow, deny) = (allow.iter().cloned().collect(), deny.iter().cloned().collect());
    let rules = Rules { layer: LayerKind::Organisation, allow, deny };
    let egress = Egress::of(BTreeMap::from([(EgressPhase::Implement, rules)]));
    Network { egress, ..Network::closed(Owner::Person("ada".to_owned())) }
}

fn npm() -> Rule {
    Rule::Bundle("registry:npm".parse().unwrap())
}

#[tokio::test]
async fn a_registry_is_asked_for_when_something_would_be_refused_and_holds_from_the_first_request()
{
    let (world, asked) = asked_world().await;
    let get = |number, line| world.request(number, line, None);
    granted(get(1, "GET https://api.example.com/x").await);
    assert!(lock(&asked).is_empty(), "no rule names one");
    let both = [npm(), host_rule("api.example.com", &[Method::Get], false)];
    world.broker.change(SANDBOX, rules(&both, &[])).await.unwrap();
    granted(get(1, "GET https://api.example.com/x").await);
    assert!(lock(&asked).is_empty(), "it is allowed wherever they are");
    let name = Question::Name { host: "npm.example.com".to_owned() };
    assert!(matches!(world.ask(0, name).await, Answer::Known { .. }));
    granted(get(2, "GET https://npm.example.com/left-pad").await);
    granted(get(3, "GET https://npm.example.com/left-pad").await);
    assert_eq!(*lock(&asked), [Ecosystem::Npm]);
}

#[tokio::test]
async fn a_registry_that_is_denied_is_denied_from_the_first_request() {
    let (world, asked) = asked_world().await;
    let host = host_rule("npm.example.com", &[Method::Get], false);
    world.broker.change(SANDBOX, rules(&[host], &[npm()])).await.unwrap();
    let told = refused(&world.request(1, "GET https://npm.example.com/x", None).await);
    assert!(told.contains("[registry:npm]"), "{told}");
    assert_eq!(lock(&asked).first(), Some(&Ecosystem::Npm));
}

#[tokio::test]
async fn a_refused_request_is_told_of_the_registry_that_would_help() {
    let (world, _) = asked_world().await;
    let host = host_rule("pypi.example.com", &[Method::Post], false);
    world.broker.change(SANDBOX, rules(&[host], &[])).await.unwrap();
    let told = refused(&world.request(1, "GET https://pypi.example.com/x", None).await);
    assert!(told.contains("add `registry:pypi`"), "{told}");
}
