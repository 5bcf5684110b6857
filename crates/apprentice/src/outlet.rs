//! Where lines of JSON-RPC go.
//!
//! **Invariant:** what is written is always a whole line with one JSON object.

use std::{
    io::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

/// Where lines go. Many may write; each line is whole.
pub struct Outlet {
    to: Mutex<Box<dyn Write + Send>>,
    is_broken: AtomicBool,
    messages: AtomicU64,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outlet").field("is_broken", &self.is_broken()).finish_non_exhaustive()
    }
}

impl Outlet {
    pub fn new(to: impl Write + Send + 'static) -> Self {
        Self {
            to: Mutex::new(Box::new(to)),
            is_broken: AtomicBool::new(false),
            messages: AtomicU64::new(0),
        }
    }

    /// Nobody reads any more.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// A number for a message that is told in pieces; no other has it.
    pub(crate) fn next_message(&self) -> u64 {
        self.messages.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn notify(&self, method: &str, parameters: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": parameters }));
    }

    pub(crate) fn send(&self, message: &Value) {
        let line = format!("{message}\n");
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
    }
}
