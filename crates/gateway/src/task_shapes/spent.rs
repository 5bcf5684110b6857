//! What something has cost.

use domain::cost::Cost;
use wire::task::usage::Spent;

use super::money;

pub(crate) fn spent(cost: Cost) -> Spent {
    Spent {
        money: money(cost.money),
        input_tokens: cost.input_tokens,
        output_tokens: cost.output_tokens,
        cpu_millis: cost.cpu_millis,
        memory_mib_seconds: cost.memory_mib_seconds,
        network_bytes: cost.network_bytes,
    }
}
