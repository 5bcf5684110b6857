//! Documents of an image from a stranger: in a directory and in an archive they mean the same image, within its limits.
//!
//! The input is an archive as it is, if it begins with `A`. Otherwise it is `index.json` and up to nine blobs, divided by zero bytes, in which
//! `@1` stands for the digest of the first blob, and so on; without that no mutation would ever have the right digest.
#![no_main]

use std::{cell::RefCell, path::Path, sync::LazyLock};

use images::base::{
    Digest,
    oci::{OciImage, Registry, Source, find},
};
use libfuzzer_sys::fuzz_target;

const MOST_LAYERS: usize = 200;

fuzz_target!(|input: &[u8]| {
    let place = tempfile::tempdir_in("/dev/shm").expect("a place");
    let at = place.path();
    if let Some(archive) = input.strip_prefix(b"A") {
        std::fs::write(at.join("a.tar"), archive).expect("our own");
        if let Some(image) = found(Source::Archive { path: at.join("a.tar"), name: None }, at) {
            holds(&image);
        }
        return;
    }
    let files = files(input);
    lay_out(at, &files);
    pack(at, &files);
    let layout = found(Source::Layout { path: at.join("layout"), name: None }, at);
    let archive = found(Source::Archive { path: at.join("a.tar"), name: None }, at);
    for image in layout.iter().chain(&archive) {
        holds(image);
        let is_a_blob = |(path, _): &(String, Vec<u8>)| path.ends_with(image.digest.hex());
        assert!(files.iter().any(is_a_blob), "its name is the digest of what was read");
    }
    // A directory is asked for the size of a document as well, which an archive tells on its own.
    if let (Some(one), Some(other)) = (&layout, &archive) {
        assert_eq!((&one.digest, &one.config), (&other.digest, &other.config));
        assert_eq!(one.layers, other.layers);
    }
    assert!(layout.is_none() || archive.is_some(), "what a directory holds, an archive can hold");
});

/// What is promised of an image that was found, whatever its documents say.
fn holds(image: &OciImage) {
    assert!(image.layers.len() <= MOST_LAYERS);
    let mut ids: Vec<_> = image.layers.iter().map(|layer| layer.diff_id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), image.layers.len(), "each layer once");
    for (name, value) in &image.config.environment {
        assert!(!name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0'));
    }
    let config = &image.config;
    assert!(config.working_directory.iter().all(|path| path.starts_with('/')));
    assert!(config.environment.len() <= 1_000 && config.command.len() <= 1_000);
}

fn found(source: Source, scratch: &Path) -> Option<OciImage> {
    thread_local! {
        static RUNTIME: RefCell<tokio::runtime::Runtime> = RefCell::new(
            tokio::runtime::Builder::new_current_thread().build().expect("a runtime")
        );
    }
    static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);
    RUNTIME.with_borrow(|runtime| runtime.block_on(find(&source, &REGISTRY, scratch))).ok()
}

/// `index.json`, and blobs by their digests.
fn files(input: &[u8]) -> Vec<(String, Vec<u8>)> {
    let pieces: Vec<&[u8]> = input.splitn(10, |byte| *byte == 0).collect();
    let mut digests: Vec<(u8, Digest)> = Vec::new();
    let mut files = Vec::new();
    for (number, piece) in (b'0'..=b'9').zip(&pieces).rev() {
        let bytes = filled(piece, &digests);
        if number == b'0' {
            files.push(("index.json".to_owned(), bytes));
        } else {
            let digest = Digest::of(&bytes);
            files.push((format!("blobs/sha256/{}", digest.hex()), bytes));
            digests.push((number, digest));
        }
    }
    files
}

fn filled(piece: &[u8], digests: &[(u8, Digest)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = piece;
    while let Some((byte, after)) = rest.split_first() {
        let known = after.first().filter(|_| *byte == b'@');
        match known.and_then(|number| digests.iter().find(|(other, _)| other == number)) {
            Some((_, digest)) => {
                bytes.extend_from_slice(digest.as_str().as_bytes());
                rest = &after[1..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

fn lay_out(at: &Path, files: &[(String, Vec<u8>)]) {
    let layout = at.join("layout");
    std::fs::create_dir_all(layout.join("blobs/sha256")).expect("our own");
    for (path, bytes) in files {
        std::fs::write(layout.join(path), bytes).expect("our own");
    }
}

fn pack(at: &Path, files: &[(String, Vec<u8>)]) {
    let file = std::fs::File::create(at.join("a.tar")).expect("our own");
    let mut archive = tar::Builder::new(file);
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, bytes.as_slice()).expect("our own");
    }
    archive.finish().expect("our own");
}
