//! Keeps secrets sealed, hands them out by name for one use, and removes their values from anything we print.
