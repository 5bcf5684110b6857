//! What the engine is made of. All that it does is built on this; `engine` is what others may ask of it.

use std::sync::Arc;

use contracts::clock::Clock as _;
use store::Store;

use crate::{Hands, Settings};

/// Moves tasks. Cheap to clone.
#[derive(Debug)]
pub struct Engine<H> {
    pub(crate) store: Arc<Store>,
    pub(crate) hands: Arc<H>,
    pub(crate) settings: Settings,
}

impl<H> Clone for Engine<H> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            hands: Arc::clone(&self.hands),
            settings: self.settings.clone(),
        }
    }
}

impl<H: Hands> Engine<H> {
    pub const fn new(store: Arc<Store>, hands: Arc<H>, settings: Settings) -> Self {
        Self { store, hands, settings }
    }

    pub const fn store(&self) -> &Arc<Store> {
        &self.store
    }

    pub(crate) fn now(&self) -> domain::time::Timestamp {
        self.hands.clock().now()
    }
}
