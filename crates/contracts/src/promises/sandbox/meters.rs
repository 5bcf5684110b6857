//! Meters: they never run backwards, and the bill outlives everything.

use domain::cost::Cost;

use super::{
    super::{Kept, keep, succeed},
    stage::Stage,
};
use crate::sandbox::{Reading, Sandboxes};

pub(super) async fn meters_never_run_backwards(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let owner = stage.owner();
    let id = stage.open().await?;
    let first = succeed("a sandbox has meters", stage.sandboxes.stats(id).await)?;
    let bill = succeed("an owner has a bill", stage.sandboxes.bill(&owner).await)?;
    stage.must(id, "echo hello").await?;
    let second = succeed("meters are read again", stage.sandboxes.stats(id).await)?;
    keep("no counter decreases", is_no_less(&second, &first))?;
    stage.destroy(id).await?;
    let after = succeed("a bill outlives its sandboxes", stage.sandboxes.bill(&owner).await)?;
    keep("a bill never decreases", bill.since(after) == Cost::ZERO)
}

pub(super) async fn counters_outlive_a_rest(stage: &Stage<'_, impl Sandboxes>) -> Kept {
    let id = stage.open().await?;
    stage.must(id, "i=0; while test $i -lt 50000; do i=$((i+1)); done").await?;
    let before = succeed("meters are read", stage.sandboxes.stats(id).await)?;
    succeed("a sandbox rests", stage.sandboxes.rest(id).await)?;
    let resting = succeed("the meters of a rest are read", stage.sandboxes.stats(id).await)?;
    keep("no counter decreases at rest", is_no_less(&resting, &before))?;
    succeed("a resting sandbox wakes", stage.sandboxes.open(&stage.spec(id)).await)?;
    let after = succeed("meters are read again", stage.sandboxes.stats(id).await)?;
    keep("no counter decreases over a rest", is_no_less(&after, &resting))?;
    stage.destroy(id).await
}

/// Whether every counter of `later` is at least that of `earlier`. Gauges may fall.
fn is_no_less(later: &Reading, earlier: &Reading) -> bool {
    earlier.cost.since(later.cost) == Cost::ZERO
        && later.read_bytes >= earlier.read_bytes
        && later.written_bytes >= earlier.written_bytes
        && later.out_of_memory >= earlier.out_of_memory
}
