//! What `go test`, `go vet` and `go build` print.

pub(crate) mod build;
pub(crate) mod events;
pub(crate) mod package;
pub(crate) mod test;
