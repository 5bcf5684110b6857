//! Takes the values of secrets out of what agents say, with the keeper of this server: [`engine::Redactor`].

use engine::{Cleaner, Redactor};
use secrets::{keeper::Keeper, redact};

/// What stands where nothing can be known of a text.
const NOTHING: &str = "[not shown: secrets cannot be taken out of it]";

#[derive(Debug)]
pub(crate) struct Clean(pub(super) Keeper);

impl Redactor for Clean {
    fn clean(&self, text: &str) -> String {
        match self.0.redactions() {
            Ok(redactions) => redactions.text(text).into_owned(),
            Err(_) => NOTHING.to_owned(),
        }
    }

    fn parts(&self) -> Box<dyn Cleaner> {
        match self.0.redactions() {
            Ok(redactions) => {
                let redactor = redact::Redactor::new(redactions);
                Box::new(Parts { redactor, letter: Vec::new() })
            }
            Err(_) => Box::new(Silence),
        }
    }
}

struct Parts {
    redactor: redact::Redactor,
    /// What is held back may begin within a letter; its first bytes wait here for the rest.
    letter: Vec<u8>,
}

impl Parts {
    fn text(&mut self, bytes: &[u8]) -> String {
        self.letter.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.letter) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            // What can never become a letter is shown as such.
            Ok(_) | Err(_) => self.letter.len(),
        };
        let rest = self.letter.split_off(whole);
        let text = std::mem::replace(&mut self.letter, rest);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Cleaner for Parts {
    fn feed(&mut self, part: &str) -> String {
        let bytes = self.redactor.feed(part.as_bytes());
        self.text(&bytes)
    }

    fn release(&mut self) -> String {
        let bytes = self.redactor.release();
        self.text(&bytes)
    }

    fn finish(&mut self) -> String {
        let bytes = self.redactor.finish();
        self.text(&bytes) + &String::from_utf8_lossy(&std::mem::take(&mut self.letter))
    }
}

/// Who cannot know the values gives nothing.
struct Silence;

impl Cleaner for Silence {
    fn feed(&mut self, _part: &str) -> String {
        String::new()
    }

    fn release(&mut self) -> String {
        String::new()
    }

    fn finish(&mut self) -> String {
        NOTHING.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use contracts::secret::SecretValue;
    use domain::time::Timestamp;
    use secrets::{
        binding::{Binding, Exposure},
        keeper::{Entry, Master},
        randomness::SystemRandomness,
    };

    use super::*;

    const VALUE: &str = "ünd-a-value-nobody-may-see";

    #[test]
    fn values_are_taken_out_of_parts_and_letters_stay_whole() {
        let directory = tempfile::tempdir().unwrap();
        let master = Master::File(directory.path().join("master.key"));
        let at = directory.path().join("secrets");
        let keeper = Keeper::open(at, master, SystemRandomness).unwrap();
        let binding = Binding {
            hosts: vec![],
            places: vec![],
            agents: vec![],
            exposure: Exposure::Environment,
        };
        let value = SecretValue::new(VALUE.to_owned());
        let entry = Entry { name: "A".parse().unwrap(), value, binding, note: String::new() };
        keeper.set(entry, Timestamp::from_millis(0)).unwrap();
        let clean = Clean(keeper);
        let said = format!("süß {VALUE} über alles, ün");
        assert_eq!(clean.clean(&said), "süß [redacted] über alles, ün");
        let mut parts = clean.parts();
        let mut told = String::new();
        for letter in said.chars() {
            told += &parts.feed(&letter.to_string());
        }
        told += &parts.release();
        told += &parts.finish();
        assert_eq!(told, "süß [redacted] über alles, ün");
    }
}
