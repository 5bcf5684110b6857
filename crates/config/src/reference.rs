//! The reference of the files, made from the same lists that their readers use:
//! a JSON Schema for editors, tables for people.

mod schema;
mod tables;

use serde_json::Value;

use crate::FileKind;

impl FileKind {
    /// The JSON Schema of this kind of file.
    pub fn schema(self) -> Value {
        schema::of(self)
    }

    /// The tables of its keys, in Markdown.
    pub fn tables(self) -> String {
        tables::of(self)
    }
}
