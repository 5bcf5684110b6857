//! The way out of a sandbox, with a road that only says who came: doors, what is put inside, and when it ends.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

mod world;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

use contracts::{
    egress::{Door, DoorKind, EgressError, Inside, InsideFile, Network, Road, When},
    sandbox::{
        CommandName, Compute, Ended, Exec, Hooks, Output, Owner, SandboxError, Sandboxes as _,
        Spec, Streams, Use, User, WorkspaceAccess,
    },
};
use domain::{
    agent::Tier,
    id::SandboxId,
    policy::{Access, Egress, LayerKind, Rule, Rules},
};
use futures::future::BoxFuture;
use sandbox::{Provider, Settings};
use tokio::{io::AsyncWriteExt as _, net::TcpListener, sync::mpsc, task::JoinSet};
use unsupported::unsupported;

/// Says at every door whose it is and where the caller wanted to go, and remembers what it was told.
#[derive(Debug, Default)]
struct Porter {
    told: Mutex<Vec<String>>,
    /// One for each door.
    accepting: Mutex<JoinSet<()>>,
}

impl Porter {
    fn tell(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }

    /// The gateway has ended, and its doors are closed.
    async fn ends(&self) {
        let mut accepting = std::mem::take(&mut *self.accepting.lock().unwrap());
        accepting.shutdown().await;
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.lock().unwrap())
    }
}

impl Road for Porter {
    fn join<'a>(
        &'a self,
        sandbox: SandboxId,
        network: Option<&'a Network>,
        doors: Vec<Door>,
    ) -> BoxFuture<'a, Result<Inside, EgressError>> {
        let how = if network.is_some() { "anew" } else { "again" };
        let mut kinds: Vec<DoorKind> = doors.iter().map(|door| door.kind).collect();
        kinds.sort();
        self.tell(format!("join {} {how} {kinds:?}", sandbox.as_u128()));
        for Door { kind, socket } in doors {
            if matches!(kind, DoorKind::Names) {
                self.accepting.lock().unwrap().spawn(async move {
                    let _held = socket;
                    std::future::pending::<()>().await;
                });
                continue;
            }
            let listener = TcpListener::from_std(socket.into()).unwrap();
            self.accepting.lock().unwrap().spawn(async move {
                while let Ok((mut caller, _)) = listener.accept().await {
                    let meant = caller.local_addr().unwrap();
                    let said = format!("{} {kind:?} {meant}\n", sandbox.as_u128());
                    let _gone = caller.write_all(said.as_bytes()).await;
                }
            });
        }
        let file = |path: &str, when| InsideFile {
            path: path.to_owned(),
            bytes: b"roots\n".to_vec(),
            when,
        };
        let inside = Inside {
            variables: BTreeMap::from([("HTTPS_PROXY".to_owned(), "http://p".to_owned())]),
            files: vec![
                file("/.lamp/roots.pem", When::Always),
                file("/etc/hostname", When::IfThere),
                file("/etc/no/such/bundle", When::IfThere),
            ],
        };
        Box::pin(async move { Ok(inside) })
    }

    fn leave(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>> {
        self.tell(format!("leave {}", sandbox.as_u128()));
        Box::pin(async { Ok(()) })
    }

    fn forget(&self, sandbox: SandboxId) -> BoxFuture<'_, Result<(), EgressError>> {
        self.tell(format!("forget {}", sandbox.as_u128()));
        Box::pin(async { Ok(()) })
    }
}

fn spec(number: u128, network: Option<Network>) -> Spec {
    Spec {
        id: SandboxId::from_u128(number),
        name: None,
        owner: Owner::Person("ann".to_owned()),
        purpose: Use::Person,
        image: "host".to_owned(),
        tier: Tier::Verified,
        compute: Compute {
            memory_mib: 256,
            disk_mib: 64,
            lifetime: Duration::from_mins(10),
            ..Compute::default()
        },
        sources: Vec::new(),
        hooks: Hooks::default(),
        workspace: WorkspaceAccess::Writable,
        conditions: None,
        network,
    }
}

fn closed() -> Network {
    Network::closed(Owner::Person("ann".to_owned()))
}

async fn run(provider: &Provider, number: u128, script: &str) -> String {
    let command = Exec {
        argv: ["bash", "-c", script].map(str::to_owned).to_vec(),
        path: Vec::new(),
        sweeps: false,
        directory: "/".to_owned(),
        environment: BTreeMap::new(),
        user: User::Agent,
        terminal: None,
        limit: Duration::from_secs(20),
        output_limit: 1 << 16,
    };
    let (output, mut saying) = mpsc::channel(16);
    let (_, input) = mpsc::channel(1);
    let name = CommandName::new(script.to_owned());
    let streams = Streams { input, output };
    let running = provider.exec(SandboxId::from_u128(number), &name, &command, streams);
    let hearing = async {
        let mut all = Vec::new();
        while let Some(Output::Out(bytes) | Output::Error(bytes)) = saying.recv().await {
            all.extend(bytes);
        }
        String::from_utf8(all).unwrap()
    };
    let (finished, said) = tokio::join!(running, hearing);
    assert_eq!(finished.unwrap().ending, Ended::Exited(0), "{said}");
    said
}

/// Goes to a door and says all that is heard there. Debian's gVisor does not let `cat` wait for an answer: it is asked again.
fn knock(at: &str) -> String {
    format!("exec 3<>/dev/tcp/{at} && until cat <&3 2>/dev/null; do sleep 0.05; done")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_with_a_network_finds_its_doors_and_one_without_finds_nothing() {
    journey(Tier::Verified).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn so_does_one_that_nobody_trusts() {
    journey(Tier::Untrusted).await;
}

async fn journey(tier: Tier) {
    let spec = |number, network| Spec { tier, ..spec(number, network) };
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let porter = Arc::new(Porter::default());
    let settings = || Settings {
        road: Some(Arc::clone(&porter) as Arc<dyn Road>),
        ..world::settings(at.path())
    };
    let provider = Provider::start(settings()).await.unwrap();
    if let Some(reason) = provider.capabilities().missing.get(&tier) {
        unsupported!("{tier}: {reason}");
    }
    provider.open(&spec(1, Some(closed()))).await.unwrap();
    provider.open(&spec(2, Some(closed()))).await.unwrap();
    provider.open(&spec(3, None)).await.unwrap();
    let all = "[Proxy, Socks, Port(80), Port(443), Names, NamesOverTcp]";
    assert_eq!(porter.told(), [format!("join 1 anew {all}"), format!("join 2 anew {all}")]);

    assert_eq!(
        run(&provider, 1, &knock("203.0.113.9/443")).await,
        "1 Port(443) [::ffff:203.0.113.9]:443\n"
    );
    assert_eq!(
        run(&provider, 2, &knock("203.0.113.9/443")).await,
        "2 Port(443) [::ffff:203.0.113.9]:443\n"
    );
    let proxy = knock("127.0.0.1/3128");
    assert_eq!(run(&provider, 2, &proxy).await, "2 Proxy 127.0.0.1:3128\n");
    let nowhere = run(&provider, 3, "(echo > /dev/tcp/203.0.113.9/443) 2>&1; true").await;
    assert!(nowhere.contains("unreachable"), "{nowhere}");

    let found = run(&provider, 1, "echo $HTTPS_PROXY; cat /.lamp/roots.pem /etc/hostname").await;
    assert_eq!(found, "http://p\nroots\nroots\n");
    assert_eq!(run(&provider, 1, "HTTPS_PROXY=own; echo $HTTPS_PROXY").await, "own\n");
    assert_eq!(run(&provider, 3, "echo -n $HTTPS_PROXY").await, "");

    // Another server: those that run are joined again, with doors of their own.
    provider.stop().await;
    drop(provider);
    porter.ends().await;
    porter.told();
    let provider = Provider::start(settings()).await.unwrap();
    assert_eq!(porter.told(), [format!("join 1 again {all}"), format!("join 2 again {all}")]);

    // Opened once more with another network, one that runs gets the doors that it does not have.
    let mut wider = closed();
    let rule = Rule::Host {
        host: "db.example.com".parse().unwrap(),
        ports: BTreeSet::from([5432]),
        access: Access::Opaque,
    };
    let rules = Rules { allow: BTreeSet::from([rule]), ..Rules::closed(LayerKind::Organisation) };
    wider.egress = Egress::of(BTreeMap::from([(wider.phase, rules)]));
    provider.open(&spec(1, Some(wider))).await.unwrap();
    assert_eq!(porter.told(), ["join 1 anew [Port(5432)]"]);
    let database = knock("198.18.0.4/5432");
    assert_eq!(run(&provider, 1, &database).await, "1 Port(5432) [::ffff:198.18.0.4]:5432\n");
    let all = all.replace("Port(443)", "Port(443), Port(5432)");

    // One that rests has left; waking joins it again.
    provider.rest(SandboxId::from_u128(1)).await.unwrap();
    let again = run(&provider, 1, &knock("2001:db8::9/443")).await;
    assert_eq!(again, "1 Port(443) [2001:db8::9]:443\n");
    assert_eq!(porter.told(), ["leave 1".to_owned(), format!("join 1 again {all}")]);

    provider.destroy(SandboxId::from_u128(2)).await.unwrap();
    provider.destroy(SandboxId::from_u128(3)).await.unwrap();
    provider.close().await.unwrap();
    let mut told = porter.told();
    told.sort();
    assert_eq!(told, ["forget 1", "forget 2"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_whose_workspace_becomes_read_only_has_the_doors_of_the_body_that_stays() {
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let porter = Arc::new(Porter::default());
    let settings =
        Settings { road: Some(Arc::clone(&porter) as Arc<dyn Road>), ..world::settings(at.path()) };
    let provider = Provider::start(settings).await.unwrap();
    let hooks = Hooks { post_clone: "echo there > /workspace/note".to_owned(), ..Hooks::default() };
    let sealed = Spec { hooks, workspace: WorkspaceAccess::ReadOnly, ..spec(1, Some(closed())) };
    provider.open(&sealed).await.unwrap();
    let all = "[Proxy, Socks, Port(80), Port(443), Names, NamesOverTcp]";
    let joined = format!("join 1 anew {all}");
    assert_eq!(porter.told(), [joined.clone(), "leave 1".to_owned(), joined.clone()]);
    let look = "(echo x > /workspace/x) 2>&1; cat /workspace/note /.lamp/roots.pem";
    let said = run(&provider, 1, look).await;
    assert!(said.contains("Read-only") && said.ends_with("there\nroots\n"), "{said}");
    assert_eq!(
        run(&provider, 1, &knock("203.0.113.9/443")).await,
        "1 Port(443) [::ffff:203.0.113.9]:443\n"
    );

    // Opened anew while it runs, it gets another body, and that one's doors.
    provider.open(&spec(1, Some(closed()))).await.unwrap();
    assert_eq!(porter.told(), ["leave 1".to_owned(), joined]);
    assert_eq!(
        run(&provider, 1, &format!("{} ", knock("203.0.113.9/443"))).await,
        "1 Port(443) [::ffff:203.0.113.9]:443\n"
    );
    provider.close().await.unwrap();
}

/// Once, a sandbox whose server was killed and started again quickly reached nothing any more: the old gateway still stood in its doors.
#[tokio::test(flavor = "multi_thread")]
async fn doors_that_an_old_gateway_still_holds_are_opened_when_it_has_ended() {
    let at = tempfile::Builder::new().prefix("lamp").tempdir().unwrap();
    let porter = Arc::new(Porter::default());
    let settings =
        Settings { road: Some(Arc::clone(&porter) as Arc<dyn Road>), ..world::settings(at.path()) };
    let provider = Provider::start(settings).await.unwrap();
    provider.open(&spec(1, Some(closed()))).await.unwrap();
    porter.told();
    {
        let mut joining = std::pin::pin!(provider.join_again());
        let early = tokio::time::timeout(Duration::from_millis(200), &mut joining).await;
        assert!(early.is_err(), "it does without them: {:?}", porter.told());
        porter.ends().await;
        joining.await;
    }
    let all = "[Proxy, Socks, Port(80), Port(443), Names, NamesOverTcp]";
    assert_eq!(porter.told(), [format!("join 1 again {all}")]);
    assert_eq!(
        run(&provider, 1, &knock("203.0.113.9/443")).await,
        "1 Port(443) [::ffff:203.0.113.9]:443\n"
    );
    // Whoever goes on standing in them is not waited for for ever.
    provider.join_again().await;
    assert_eq!(porter.told(), ["join 1 again []"]);
    provider.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_gateway_a_network_is_refused_and_nothing_is_left() {
    let world = world::World::new().await;
    let refused = world.provider.open(&spec(1, Some(closed()))).await.unwrap_err();
    assert!(matches!(&refused, SandboxError::Unsupported { .. }), "{refused}");
    assert_eq!(
        refused.to_string(),
        "this sandbox cannot do that: there is no gateway here, and so no network"
    );
    assert!(world.provider.list().await.unwrap().is_empty());
    world.end().await;
}
