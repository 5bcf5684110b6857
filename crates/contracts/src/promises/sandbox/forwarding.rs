//! Ports on the loopback inside.

use tokio::sync::mpsc;

use super::{
    super::{Broken, Kept, keep, succeed},
    stage::{Stage, shell},
};
use crate::sandbox::{Input, Output, Sandboxes, Streams};

/// Answers one connection with what it was sent, in capitals.
const LISTENER: &str = "
import socket
server = socket.socket()
server.bind(('127.0.0.1', 4321))
server.listen(1)
print('ready', flush=True)
connection, _ = server.accept()
with connection:
    while chunk := connection.recv(4096):
        connection.sendall(chunk.upper())
";

/// Needs something that listens. Where the image has no Python, says that it was not shown.
pub(super) async fn bytes_travel_both_ways(
    stage: &Stage<'_, impl Sandboxes>,
) -> Result<Option<String>, Broken> {
    let id = stage.open().await?;
    if !stage.must(id, "command -v python3").await?.exited(0) {
        stage.destroy(id).await?;
        return Ok(Some("the image has no `python3` to listen on a port".to_owned()));
    }
    let (_no_input, input) = mpsc::channel(1);
    let (output, mut from_listener) = mpsc::channel(16);
    let mut command = shell("");
    command.argv = ["python3", "-c", LISTENER].map(str::to_owned).to_vec();
    let name = stage.new_name();
    let listening = stage.sandboxes.exec(id, &name, &command, Streams { input, output });
    let talking = async {
        let ready = from_listener.recv().await;
        keep("a program listens", ready == Some(Output::Out(b"ready\n".to_vec())))?;
        let (to_port, input) = mpsc::channel(4);
        let (output, mut from_port) = mpsc::channel(16);
        let forwarding = stage.sandboxes.forward(id, 4321, Streams { input, output });
        let asking = async {
            // A connection that has closed hears nothing more; the answer shows it.
            drop(to_port.send(Input::Bytes(b"hello port".to_vec())).await);
            let mut heard = Vec::new();
            while heard.len() < 10 {
                let Some(Output::Out(bytes) | Output::Error(bytes)) = from_port.recv().await else {
                    break;
                };
                heard.extend(bytes);
            }
            drop(to_port);
            heard
        };
        let (ended, heard) = tokio::join!(forwarding, asking);
        succeed("a port is reached", ended)?;
        keep("bytes travel both ways", heard == b"HELLO PORT")
    };
    let (ended, talked) = tokio::join!(listening, talking);
    talked?;
    succeed("the listener ends with its connection", ended)?;
    stage.destroy(id).await?;
    Ok(None)
}

pub(super) async fn a_port_that_nobody_listens_on_is_refused(
    stage: &Stage<'_, impl Sandboxes>,
) -> Kept {
    let id = stage.open().await?;
    let (_no_input, input) = mpsc::channel(1);
    let (output, _heard) = mpsc::channel(16);
    let answer = stage.sandboxes.forward(id, 4399, Streams { input, output }).await;
    keep("a port that nobody listens on is an error", answer.is_err())?;
    stage.destroy(id).await
}
