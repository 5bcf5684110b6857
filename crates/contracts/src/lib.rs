//! The sockets that the outside plugs into, each with the promises it must keep.
