//! A conversation with its memory: what is said is written down first, and then counts.

use std::path::{Path, PathBuf};

use crate::{
    conversation::{self, Entry, Said},
    memory::{Memory, MemoryError},
    model::Usage,
};

#[derive(Debug)]
pub struct Session {
    pub id: String,
    pub cwd: PathBuf,
    /// Of all turns.
    pub usage: Usage,
    context: Vec<Entry>,
    memory: Memory,
    /// How many calls were made; makes ids.
    calls: u64,
    /// How many tokens the model said it saw, and how many entries that were.
    seen: Option<(u64, usize)>,
}

const LONGEST_CALL_ID: usize = 64;

impl Session {
    pub fn create(home: &Path, id: String, cwd: PathBuf) -> Result<Self, MemoryError> {
        let memory = Memory::create(home, &id, &cwd)?;
        let usage = Usage::default();
        Ok(Self { id, cwd, usage, context: Vec::new(), memory, calls: 0, seen: None })
    }

    /// Opens one again, and gives its history.
    pub fn open(home: &Path, id: &str, cwd: PathBuf) -> Result<(Self, Vec<Entry>), MemoryError> {
        let (mut memory, mut remembered) = Memory::open(home, id)?;
        let told = remembered.context.len();
        conversation::close(&mut remembered.context);
        for entry in remembered.context.get(told..).unwrap_or_default() {
            memory.entry(entry)?;
            remembered.history.push(entry.clone());
        }
        let calls = remembered.history.iter().map(|entry| match entry {
            Entry::Assistant(said) => said.calls.len() as u64,
            Entry::User(_) | Entry::Summary(_) | Entry::Results(_) => 0,
        });
        let session = Self {
            id: id.to_owned(),
            cwd,
            usage: remembered.usage,
            context: remembered.context,
            memory,
            calls: calls.sum(),
            seen: None,
        };
        Ok((session, remembered.history))
    }

    /// What the model is told.
    pub fn context(&self) -> &[Entry] {
        &self.context
    }

    pub fn say(&mut self, entry: Entry) -> Result<(), MemoryError> {
        self.memory.entry(&entry)?;
        self.context.push(entry);
        Ok(())
    }

    /// From here on the model is told only this.
    pub fn compact(&mut self, entries: Vec<Entry>) -> Result<(), MemoryError> {
        self.memory.context(&entries)?;
        self.context = entries;
        self.seen = None;
        Ok(())
    }

    /// Notes what an answer took. The context is all that the model saw for it.
    pub fn took(&mut self, usage: &Usage) -> Result<(), MemoryError> {
        self.memory.usage(usage)?;
        self.usage.add(usage);
        let reported = usage.context();
        self.seen = (reported > 0).then_some((reported, self.context.len()));
        Ok(())
    }

    /// How many tokens the conversation has, with `overhead` for what is said besides. What the model counted is believed, within reason.
    pub fn tokens(&self, overhead: u64) -> u64 {
        let guessed = |entries: &[Entry]| conversation::tokens(entries);
        let Some((reported, count)) = self.seen else { return overhead + guessed(&self.context) };
        let (old, new) = self.context.split_at_checked(count).unwrap_or((&self.context, &[]));
        let guess = overhead + guessed(old);
        reported.clamp(guess * 2 / 3, guess.saturating_mul(2)) + guessed(new)
    }

    /// Gives each call an id that is unique in the session: the provider's, if it can be one.
    pub fn name_calls(&mut self, said: &mut Said) {
        let mut taken: Vec<String> = self
            .context
            .iter()
            .flat_map(|entry| match entry {
                Entry::Assistant(said) => said.calls.as_slice(),
                Entry::User(_) | Entry::Summary(_) | Entry::Results(_) => &[],
            })
            .map(|call| call.id.clone())
            .collect();
        for call in &mut said.calls {
            self.calls += 1;
            let is_id = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            let is_good = (1..=LONGEST_CALL_ID).contains(&call.id.len())
                && call.id.bytes().all(is_id)
                && !taken.contains(&call.id);
            if !is_good {
                call.id = self.own_id(&taken);
            }
            taken.push(call.id.clone());
        }
    }

    /// Nine letters and digits, because one provider takes no others.
    fn own_id(&mut self, taken: &[String]) -> String {
        loop {
            let id = format!("call{:05}", self.calls);
            if !taken.contains(&id) {
                return id;
            }
            self.calls += 1;
        }
    }
}
