//! Clocks that jump, and disks that fill up.

pub(crate) async fn full_disk() {}
