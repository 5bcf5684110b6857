//! Scratch.
use crate::stage::Stage;
use domain::agent::Tier;
#[tokio::test(flavor = "multi_thread")]
async fn scratch() {
    let stage = Stage::new().await;
    let id = stage.open(Tier::Untrusted).await;
    for s in ["ls -l /home/lamp; head -c 16 /home/lamp/probe | od -c; md5sum /home/lamp/probe; /home/lamp/probe who; echo $?; cp /home/lamp/probe /tmp/p; /tmp/p who; cp /bin/true /home/lamp/t; /home/lamp/t && echo ok; mount; cat /proc/version; id"] {
        println!("{s}: {}", stage.shell(id, s).await);
    }
    stage.end().await;
}
