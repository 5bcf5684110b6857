//! Plays scenes on one server, a few at a time, and tells each that failed by its name.

use std::panic::AssertUnwindSafe;

use futures::{FutureExt as _, StreamExt as _, future::LocalBoxFuture, stream};
use tests::internet::{Internet, breathe};
use tokio::time::Instant;

use crate::house::{Ground, House, PATIENCE};

/// What holds, and how it is shown.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) play: for<'a> fn(&'a House) -> LocalBoxFuture<'a, ()>,
}

/// Functions as scenes, each named as the function is.
macro_rules! scenes {
    ($($scene:path),+ $(,)?) => {
        vec![$($crate::evening::Scene {
            name: stringify!($scene),
            play: |house| Box::pin($scene(house)),
        }),+]
    };
}
pub(crate) use scenes;

/// Two cores, and much of a scene is waiting.
const AT_ONCE: usize = 3;

/// Plays all of them, and then looks at what is left.
pub(crate) fn play(ground: Ground, scenes: &[Scene]) {
    play_in(&House::build(ground), ground, scenes);
}

/// The same, where there are hosts to reach. A host without network namespaces says so.
pub(crate) fn play_outside(ground: Ground, scenes: &[Scene]) {
    match Internet::build() {
        Ok(internet) => play_in(&House::build_in(ground, Some(internet)), ground, scenes),
        Err(why) => unsupported::whole(&why),
    }
}

fn play_in(house: &House, ground: Ground, scenes: &[Scene]) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let played = stream::iter(scenes).map(|scene| one(house, scene));
        let failed: Vec<&str> =
            played.buffer_unordered(AT_ONCE).filter_map(async |it| it).collect().await;
        assert!(failed.is_empty(), "these do not hold on {ground:?}: {failed:#?}");
        no_sandbox_is_left(house).await;
    });
    house.close();
}

/// The name of the scene, if it does not hold. Its panic has told why.
async fn one<'s>(house: &House, scene: &'s Scene) -> Option<&'s str> {
    let begun = Instant::now();
    let played = AssertUnwindSafe((scene.play)(house)).catch_unwind().await;
    eprintln!("{}: {:.1} s", scene.name, begun.elapsed().as_secs_f64());
    played.is_err().then_some(scene.name)
}

/// Tasks that are over have no sandboxes, soon.
pub(crate) async fn no_sandbox_is_left(house: &House) {
    let end = Instant::now() + PATIENCE;
    loop {
        let left = house.client.sandboxes().await.unwrap();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "sandboxes that nobody needs: {left:#?}");
        breathe();
    }
}
