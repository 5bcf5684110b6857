//! What the reports of a base commit and of a change say together.
