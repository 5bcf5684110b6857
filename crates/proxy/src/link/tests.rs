//! Both ends against each other, and each end against nonsense.

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use tokio_util::task::TaskTracker;

use super::*;
use crate::ask::{
    Answer, Authority, DoorNumber, ORDER_LIMIT, Question, RefusalCode, ToBroker, ToGateway, Whose,
};

fn authority() -> Authority {
    Authority { certificate: "certificate".to_owned(), key: vec![1, 2, 3] }
}

fn name(host: &str) -> Question {
    Question::Name { host: host.to_owned() }
}

#[tokio::test]
async fn a_question_gets_its_own_answer() {
    let (gateway, server) = UnixStream::pair().unwrap();
    let tracker = TaskTracker::new();
    let (broker, mut orders) = BrokerLink::open(gateway, &tracker).unwrap();
    let (link, mut questions) = GatewayLink::open(server, &tracker).unwrap();
    let reading = tracker.spawn(async move { orders.next().await.map(|order| order.is_none()) });

    let (first, second) = (broker.number(), broker.number());
    let asking = async {
        tokio::join!(
            broker.ask(first, Whose(1), name("one.test")),
            broker.ask(second, Whose(1), name("two.test"))
        )
    };
    let answering = async {
        let mut exchanges = Vec::new();
        for _ in 0..2 {
            let Some(ToBroker::Ask { exchange, .. }) = questions.next().await.unwrap() else {
                panic!("a question was expected");
            };
            exchanges.push(exchange);
        }
        for exchange in exchanges.into_iter().rev() {
            link.answer(exchange, Answer::Known { generation: exchange.0 }).await.unwrap();
        }
    };
    let ((one, two), ()) = tokio::join!(asking, answering);
    assert_eq!(one, Answer::Known { generation: first.0 });
    assert_eq!(two, Answer::Known { generation: second.0 });
    link.close();
    assert!(reading.await.unwrap().unwrap());
}

#[tokio::test]
async fn doors_arrive_in_order_with_the_sandbox_that_they_belong_to() {
    let (gateway, server) = UnixStream::pair().unwrap();
    let tracker = TaskTracker::new();
    let (_broker, mut orders) = BrokerLink::open(gateway, &tracker).unwrap();
    let (link, _questions) = GatewayLink::open(server, &tracker).unwrap();

    let mut ports = Vec::new();
    for whose in 0..20 {
        let doors = (0..3)
            .map(|number| {
                let door = TcpListener::bind("127.0.0.1:0").unwrap();
                ports.push((whose, door.local_addr().unwrap().port()));
                (DoorNumber::Port(number), OwnedFd::from(door))
            })
            .collect();
        link.join(Whose(whose), doors, authority()).await.unwrap();
        link.changed(Whose(whose), 1).await.unwrap();
    }
    let mut arrived = Vec::new();
    for _ in 0..20 {
        let Some(Order::Join { whose, doors, .. }) = orders.next().await.unwrap() else {
            panic!("a join was expected");
        };
        for (at, (number, door)) in doors.into_iter().enumerate() {
            assert_eq!(number, DoorNumber::Port(u16::try_from(at).unwrap()));
            arrived.push((whose.0, TcpListener::from(door).local_addr().unwrap().port()));
        }
        assert!(matches!(orders.next().await.unwrap(), Some(Order::Changed { .. })));
    }
    assert_eq!(arrived, ports);
}

#[tokio::test]
async fn a_join_whose_doors_did_not_come_ends_the_connection() {
    let (gateway, mut server) = UnixStream::pair().unwrap();
    let tracker = TaskTracker::new();
    let (broker, mut orders) = BrokerLink::open(gateway, &tracker).unwrap();
    let message =
        ToGateway::Join { whose: Whose(1), doors: vec![DoorNumber::Proxy], authority: authority() };
    let message = postcard::to_stdvec(&message).unwrap();
    server.write_all(&u32::try_from(message.len()).unwrap().to_le_bytes()).unwrap();
    server.write_all(&message).unwrap();
    assert!(matches!(orders.next().await, Err(LinkError::Doors { count: 1 })));
    broker.closed().await;
}

#[tokio::test]
async fn when_the_broker_goes_everything_that_waits_is_refused() {
    let (gateway, server) = UnixStream::pair().unwrap();
    let tracker = TaskTracker::new();
    let (broker, mut orders) = BrokerLink::open(gateway, &tracker).unwrap();
    let (link, mut questions) = GatewayLink::open(server, &tracker).unwrap();
    let asking = broker.ask(broker.number(), Whose(1), name("one.test"));
    let going = async {
        assert!(questions.next().await.unwrap().is_some());
        link.close();
        drop(questions);
        drop(link);
        assert!(orders.next().await.unwrap().is_none());
    };
    let (answer, ()) = tokio::join!(asking, going);
    let Answer::Refused(refusal) = answer else { panic!("refused was expected") };
    assert_eq!(refusal.code, RefusalCode::Closed);
    let Answer::Refused(refusal) = broker.ask(broker.number(), Whose(1), name("two.test")).await
    else {
        panic!("refused was expected")
    };
    assert_eq!((refusal.code, refusal.status), (RefusalCode::Closed, 503));
}

#[tokio::test]
async fn a_broker_that_does_not_answer_refuses() {
    let (gateway, server) = UnixStream::pair().unwrap();
    let tracker = TaskTracker::new();
    let (broker, _orders) = BrokerLink::open(gateway, &tracker).unwrap();
    let Answer::Refused(refusal) = broker.ask(broker.number(), Whose(1), name("one.test")).await
    else {
        panic!("refused was expected")
    };
    assert_eq!(refusal.code, RefusalCode::Closed);
    drop(server);
}

#[tokio::test]
async fn a_frame_that_is_too_long_is_not_even_waited_for() {
    let (gateway, mut server) = UnixStream::pair().unwrap();
    let (_broker, mut orders) = BrokerLink::open(gateway, &TaskTracker::new()).unwrap();
    let length = u32::try_from(ORDER_LIMIT + 1).unwrap();
    server.write_all(&length.to_le_bytes()).unwrap();
    assert!(matches!(orders.next().await, Err(LinkError::TooLong { .. })));
}

#[tokio::test]
async fn a_frame_with_something_left_over_ends_the_connection() {
    let (gateway, mut server) = UnixStream::pair().unwrap();
    let (_broker, mut orders) = BrokerLink::open(gateway, &TaskTracker::new()).unwrap();
    let mut message = postcard::to_stdvec(&ToGateway::Leave { whose: Whose(1) }).unwrap();
    message.push(0);
    server.write_all(&u32::try_from(message.len()).unwrap().to_le_bytes()).unwrap();
    server.write_all(&message).unwrap();
    assert!(matches!(orders.next().await, Err(LinkError::Malformed(_))));
    let over = tokio::task::spawn_blocking(move || server.read(&mut [0; 8]).unwrap_or(0));
    assert_eq!(over.await.unwrap(), 0, "the other end sees the end");
}
