//! What a piece of work used.

use crate::stored::shape::Micros;

record! {
    Cost of domain::cost::Cost {
        money as "money_micros": Micros,
        input_tokens: u64,
        output_tokens: u64,
        cpu_millis: u64,
        memory_mib_seconds: u64,
        network_bytes: u64,
    }
}
