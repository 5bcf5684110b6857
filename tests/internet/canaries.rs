//! Ports where no protocol is spoken: whoever comes is told hello, and what he says is written down.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, UdpSocket},
};
use tokio_util::task::TaskTracker;

use super::seen::{Arrival, Seen, canonical};

/// Where TCP is answered, at every address.
const TCP: [u16; 11] = [22, 25, 465, 853, 3000, 3306, 5432, 6379, 8080, 8443, 9999];
/// Where UDP is answered, at some addresses.
const UDP: [u16; 7] = [123, 443, 500, 853, 5353, 5355, 9999];

pub(super) async fn serve(seen: &Arc<Seen>, addresses: &[&str], tasks: &TaskTracker) {
    for port in TCP {
        // A listener for IPv6 takes IPv4, too.
        let listener = TcpListener::bind(("::", port)).await.unwrap();
        let (seen, spawner) = (Arc::clone(seen), tasks.clone());
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let seen = Arc::clone(&seen);
                spawner.spawn(async move {
                    let Ok(at) = stream.local_addr().map(canonical) else { return };
                    let _ = stream.write_all(b"hello\r\n").await;
                    let mut bytes = vec![0; 1 << 16];
                    while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                        seen.add(Arrival::Bytes { at, bytes: bytes[..length].to_vec() });
                        let _ = stream.write_all(&bytes[..length]).await;
                    }
                });
            }
        });
    }
    for at in addresses
        .iter()
        .flat_map(|address| UDP.map(|port| SocketAddr::new(address.parse().unwrap(), port)))
    {
        let socket = UdpSocket::bind(at).await.unwrap();
        let seen = Arc::clone(seen);
        tasks.spawn(async move {
            let mut bytes = vec![0; 1 << 16];
            while let Ok((length, from)) = socket.recv_from(&mut bytes).await {
                seen.add(Arrival::Bytes { at, bytes: bytes[..length].to_vec() });
                let _ = socket.send_to(b"hello", from).await;
            }
        });
    }
}
