//! Scratch.
#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing
)]
use benches::sandbox::{
    floor::{Floor, Way},
    ground::{Base, Ground, rest},
};
use benches::spread::Spread;
use std::time::{Duration, Instant};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some("--floor") {
        benches::sandbox::floor::serve().unwrap();
        return;
    }
    let n: usize = args[1].parse().unwrap();
    let waiting: u32 = args[2].parse().unwrap();
    let rt = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let h = rt.spawn(async move {
        let ground = Ground::new(std::path::Path::new(&args[3]), "prof", waiting).await.unwrap();
        let mut floor = Floor::start().unwrap();
        let (mut open, mut cold, mut exec, mut destroy, mut spawn, mut fork) =
            (vec![], vec![], vec![], vec![], vec![], vec![]);
        let stand = ground.open(&Base::host()).await.unwrap();
        for _ in 0..n {
            spawn.push(tokio::task::block_in_place(|| floor.measure(Way::PosixSpawn)).unwrap());
            rest(Duration::from_millis(20)).await;
            fork.push(tokio::task::block_in_place(|| floor.measure(Way::ForkExec)).unwrap());
            rest(Duration::from_millis(20)).await;
            let b = Instant::now();
            let id = ground.open(&Base::host()).await.unwrap();
            open.push(b.elapsed());
            ground.exec(id, &["/bin/true"], "/").await.unwrap();
            cold.push(b.elapsed());
            rest(Duration::from_millis(20)).await;
            let b = Instant::now();
            ground.exec(stand, &["/bin/echo", "x"], "/").await.unwrap();
            exec.push(b.elapsed());
            rest(Duration::from_millis(20)).await;
            let b = Instant::now();
            ground.destroy(id).await.unwrap();
            destroy.push(b.elapsed());
            rest(Duration::from_millis(30)).await;
        }
        for (name, times) in [
            ("spawn", spawn),
            ("fork", fork),
            ("open", open),
            ("open+exec", cold),
            ("exec", exec),
            ("destroy", destroy),
        ] {
            let min = times.iter().min().unwrap().clone();
            println!("{name:12} {} min {:?}", Spread::of(times), min);
        }
        drop(floor);
        ground.close().await.unwrap();
    });
    rt.block_on(h).unwrap();
}
