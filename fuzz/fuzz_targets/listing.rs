//! What git says about the files of a hostile commit: it is the same in any pieces, and every path can be written down.
#![no_main]

use forges::listing::{Listing, ListingError, ListingReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((cut, bytes)) = input.split_first() else { return };
    let whole = read(bytes, bytes.len().max(1));
    assert_eq!(whole, read(bytes, usize::from(*cut).max(1)), "it does not matter how bytes arrive");
    let Ok(listing) = whole else { return };
    assert!(listing.paths.iter().all(|path| !path.is_empty() && !path.contains(char::is_control)));
    assert!(listing.wanted.iter().all(|(path, _)| listing.paths.contains(path)));
});

fn read(bytes: &[u8], cut: usize) -> Result<Listing, ListingError> {
    let mut reader = ListingReader::new(|path| path.len() % 2 == 0);
    for piece in bytes.chunks(cut) {
        reader.feed(piece)?;
    }
    reader.finish()
}
