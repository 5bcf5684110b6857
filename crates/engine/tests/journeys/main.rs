//! Whole journeys of scripted tasks through the real engine and the real store.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say so")]

mod clocks;
mod evidence;
mod fixture;
mod front;
mod gate;
mod heard;
mod known;
mod late;
mod queueing;
mod reasons;
mod review;
mod steering;
mod straight;
mod talker;
mod told;
mod transcript;
mod trouble;
mod written;
