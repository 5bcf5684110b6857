//! JSON that everybody reads in the same way: one value, and no key twice.
//!
//! Of two equal keys one reader takes the first and another the last, and a request is judged by one and obeyed by the other.
//! A value takes many times the memory of its text when it is made of many small ones, so there is a limit to how many there are.

use std::{cell::Cell, fmt};

use serde::{
    Deserializer,
    de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// The most values in one, at any depth. A conversation has some thousands.
const MOST: u32 = 250_000;

/// Reads one value, strictly.
pub fn read(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    let left = Cell::new(MOST);
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Strict(&left).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// How many values may still come.
#[derive(Clone, Copy)]
struct Strict<'a>(&'a Cell<u32>);

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let Some(left) = self.0.get().checked_sub(1) else {
            return Err(de::Error::custom("it has more values than are looked at"));
        };
        self.0.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(self)?;
            if map.contains_key(&key) {
                return Err(de::Error::custom("a key stands twice in one object"));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_that_stands_twice_is_refused_at_any_depth() {
        let fine = json!({ "a": [1, -2, 1.5, null, true, { "b": "c" }] });
        assert_eq!(read(fine.to_string().as_bytes()).unwrap(), fine);
        for wrong in [
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"a":1,"b":2,"a":3}}]"#,
            "{\"a\":1,\"\\u0061\":2}",
            "{} {}",
            "",
            "{\"a\":1,}",
            "nul",
        ] {
            assert!(read(wrong.as_bytes()).is_err(), "{wrong}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(deep.as_bytes()).is_err());
    }

    #[test]
    fn a_large_text_is_read_and_very_many_small_values_are_not() {
        let text = json!({ "image": "x".repeat(8 << 20) }).to_string();
        assert!(read(text.as_bytes()).is_ok());
        let many = format!("[{}1]", "1,".repeat(1 << 20));
        assert!(read(many.as_bytes()).unwrap_err().to_string().contains("more values"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = read(&bytes);
        }
    }
}
