//! What holds across rooms.
