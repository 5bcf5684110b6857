//! Why something may leave a sandbox or not, by files alone and as the API says it.

pub use gateway::explained as shape;
