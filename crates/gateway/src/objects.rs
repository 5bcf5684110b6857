//! Refuses a list where an object belongs, and numbers that are larger than the document says.
//!
//! serde takes `["host", null]` for an object whose fields come in that order. The document does not promise that, and such a list would mean
//! something else with the next field. So a body is read once more, by a reader that knows the difference.

use serde::{
    Deserializer,
    de::{
        Error as _, Unexpected, Visitor,
        value::{MapDeserializer, SeqDeserializer},
    },
    forward_to_deserialize_any,
};
use serde_json::{Error, Value};

/// JSON in which objects are objects.
#[derive(Debug)]
pub(crate) struct Objects(pub(crate) Value);

impl serde::de::IntoDeserializer<'_, Error> for Objects {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Objects {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Self)))
            }
            Value::Object(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, Self(value)));
                visitor.visit_map(MapDeserializer::new(fields))
            }
            // The document says `int64`, which is also what databases keep.
            Value::Number(number)
                if number.as_u64().is_some_and(|it| i64::try_from(it).is_err()) =>
            {
                let most = format!("a number up to {}", i64::MAX);
                Err(Error::invalid_value(Unexpected::Other(&number.to_string()), &most.as_str()))
            }
            plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                plain.deserialize_any(visitor)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &"an object"));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize as _;
    use serde_json::json;
    use wire::{image::PruneImages, sandbox::CreateSandbox, task::new::NewTask};

    use super::*;

    #[test]
    fn what_is_written_as_it_should_be_is_read_as_before() {
        let wish = json!({
            "name": "a", "tier": "untrusted", "compute": {"cpu_millis": 500}, "image": null,
            "repositories": [{"name": "a/b", "url": "c"}], "read_only": true,
            "network": {"allow": ["github"], "phase": "review"},
        });
        let read = CreateSandbox::deserialize(Objects(wish.clone())).unwrap();
        assert_eq!(read, serde_json::from_value(wish).unwrap());
        let task = json!({"text": "t", "repositories": [{"name": "a", "url": "b", "access": "read"}], "attempts": 3});
        let read = NewTask::deserialize(Objects(task.clone())).unwrap();
        assert_eq!(read, serde_json::from_value(task).unwrap());
    }

    #[test]
    fn numbers_fit_into_64_bits_with_a_sign() {
        let wish = |most: u64| PruneImages::deserialize(Objects(json!({ "keep_bytes": most })));
        assert!(wish(i64::MAX as u64).is_ok());
        let error = wish(i64::MAX as u64 + 1).unwrap_err().to_string();
        assert!(error.contains("expected a number up to 9223372036854775807"), "{error}");
    }

    #[test]
    fn a_list_is_no_object_wherever_it_stands() {
        for wrong in [
            json!([]),
            json!([null, null]),
            json!({"compute": []}),
            json!({"network": [[], []]}),
            json!({"repositories": [["a/b", "c"]]}),
        ] {
            // The control: serde alone takes it.
            assert!(serde_json::from_value::<CreateSandbox>(wrong.clone()).is_ok(), "{wrong}");
            let error = CreateSandbox::deserialize(Objects(wrong.clone())).unwrap_err();
            assert!(error.to_string().contains("expected an object"), "{wrong}: {error}");
        }
    }
}
