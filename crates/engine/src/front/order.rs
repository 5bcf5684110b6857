//! What a wish becomes: the order of the server's files, if the change could be delivered at all.

use contracts::{
    forge::{ForgeError, Forges as _},
    order::{Order, OrderError, Orders as _, Wish},
};

use crate::{Engine, Hands};

pub(super) async fn order<H: Hands>(engine: &Engine<H>, wish: &Wish) -> Result<Order, OrderError> {
    let order = engine.hands.orders().order(wish).await?;
    // A change that could not be delivered is not begun.
    if let Some(first) = order.trigger.repositories.first() {
        let base = engine.hands.forges().base(&first.name).await;
        base.map_err(|error| match error {
            ForgeError::Rejected { .. } => {
                OrderError::NoBranch { repository: first.name.clone(), error }
            }
            ForgeError::NoRepository(_)
            | ForgeError::Busy { .. }
            | ForgeError::Refused { .. }
            | ForgeError::NothingChanged
            | ForgeError::TakenOver { .. } => OrderError::Forge(error),
        })?;
    }
    Ok(order)
}
