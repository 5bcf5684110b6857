//! Remembers every event, on SQLite or PostgreSQL, and tells who is waiting.
