//! Which image of several is meant: by name, and by the machine that it is for.

use super::{
    BaseError, Blob, Digest, ImageConfig, OciImage, OciLayer, Place,
    document::{ConfigFile, Descriptor, Document, Index, Manifest, Platform},
};

/// How deep indexes may be in indexes.
const DEEPEST: usize = 4;

/// This machine, as images call it.
fn this_machine() -> Platform {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    Platform { os: "linux".to_owned(), architecture: architecture.to_owned() }
}

/// From a document to the manifest for this machine. `read` brings a document by its descriptor, checked.
pub(super) fn manifest(
    mut document: Document,
    mut read: impl FnMut(&Descriptor) -> Result<Vec<u8>, BaseError>,
) -> Result<Manifest, BaseError> {
    for _ in 0..DEEPEST {
        match document {
            Document::Manifest(manifest) => return Ok(manifest),
            Document::Index(index) => document = Document::read(&read(for_this_machine(&index)?)?)?,
        }
    }
    Err(BaseError::refused("the image is an index of indexes without an end"))
}

/// The entry that is for this machine. One that does not say is taken if it is the only one; its config says.
pub(super) fn for_this_machine(index: &Index) -> Result<&Descriptor, BaseError> {
    let machine = this_machine();
    let is_image = |entry: &&Descriptor| {
        let is_note = entry.annotation("vnd.docker.reference.type").is_some();
        let is_known = entry.platform.as_ref().is_none_or(|platform| platform.os != "unknown");
        !is_note && is_known
    };
    let images: Vec<&Descriptor> = index.manifests.iter().filter(is_image).collect();
    if let Some(found) = images.iter().find(|entry| entry.platform.as_ref() == Some(&machine)) {
        return Ok(found);
    }
    if let [only] = images.as_slice()
        && only.platform.is_none()
    {
        return Ok(only);
    }
    let mut others: Vec<String> =
        images.iter().filter_map(|entry| entry.platform.as_ref()).map(shown).collect();
    others.sort();
    others.dedup();
    let machine = shown(&machine);
    let others = if others.is_empty() { "no machine".to_owned() } else { others.join(", ") };
    Err(BaseError::refused(format!(
        "the image is not for this machine, {machine}; it is for {others}"
    )))
}

fn shown(platform: &Platform) -> String {
    let text = format!("{}/{}", platform.os, platform.architecture);
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

const REF_NAME: &str = "org.opencontainers.image.ref.name";
const FULL_NAME: &str = "io.containerd.image.name";

/// Of a layout's index, the entries that are called `name`; without a name, all of them, if they have one name.
pub(super) fn by_name(index: Index, name: Option<&str>) -> Result<Index, BaseError> {
    let names = |entry: &Descriptor| -> Vec<String> {
        [REF_NAME, FULL_NAME]
            .iter()
            .filter_map(|key| entry.annotation(key))
            .map(str::to_owned)
            .collect()
    };
    let Some(name) = name else {
        let mut called: Vec<Vec<String>> = index.manifests.iter().map(names).collect();
        called.sort();
        called.dedup();
        if called.len() <= 1 {
            return Ok(index);
        }
        return Err(several(&called.concat()));
    };
    let known: Vec<String> = index.manifests.iter().flat_map(names).collect();
    let is_meant = |entry: &Descriptor| names(entry).iter().any(|known| is_called(known, name));
    let manifests: Vec<Descriptor> = index.manifests.into_iter().filter(is_meant).collect();
    if manifests.is_empty() {
        return Err(missing(name, &known));
    }
    Ok(Index { manifests })
}

/// `debian:12` also means `registry.example/library/debian:12`.
pub(super) fn is_called(known: &str, name: &str) -> bool {
    known == name || known.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'))
}

pub(super) fn several(names: &[String]) -> BaseError {
    BaseError::refused(format!(
        "there are several images in it; write `:NAME` behind the path: {}",
        list(names)
    ))
}

pub(super) fn missing(name: &str, names: &[String]) -> BaseError {
    BaseError::refused(format!("there is no image `{name}` in it; there are: {}", list(names)))
}

fn list(names: &[String]) -> String {
    let shown: Vec<String> =
        names.iter().take(20).map(|name| format!("`{}`", name.escape_debug())).collect();
    if shown.is_empty() { "none with a name".to_owned() } else { shown.join(", ") }
}

/// The image of a manifest whose blobs have digests.
pub(super) fn image(
    manifest: &Manifest,
    config: &[u8],
    place: Place,
) -> Result<OciImage, BaseError> {
    let mut blobs = Vec::new();
    for layer in &manifest.layers {
        let kind = layer.media_type.as_deref().unwrap_or("tar");
        if !kind.contains("tar") || kind.ends_with("+encrypted") {
            return Err(BaseError::refused(format!(
                "a layer is of the kind `{}`, which is not supported",
                kind.escape_debug()
            )));
        }
        blobs.push(Blob::Named { digest: layer.digest()?, size: layer.size });
    }
    described(config, blobs, place)
}

/// An image of these blobs, the lowest first, with what its config says of them.
pub(super) fn described(
    config: &[u8],
    blobs: Vec<Blob>,
    place: Place,
) -> Result<OciImage, BaseError> {
    let file = ConfigFile::read(config)?;
    let (machine, told) =
        (this_machine(), Platform { os: file.os.clone(), architecture: file.architecture.clone() });
    if told != machine {
        let (machine, told) = (shown(&machine), shown(&told));
        return Err(BaseError::refused(format!(
            "the image is not for this machine, {machine}; it is for {told}"
        )));
    }
    let diff_ids = file.diff_ids(blobs.len())?;
    let mut layers: Vec<OciLayer> = Vec::new();
    for (diff_id, blob) in diff_ids.into_iter().zip(blobs) {
        // An overlay refuses a layer that is there twice, and the lower one changes nothing.
        layers.retain(|layer| layer.diff_id != diff_id);
        layers.push(OciLayer { diff_id, blob });
    }
    let settings = file.config.unwrap_or_default();
    Ok(OciImage { digest: Digest::of(config), config: ImageConfig::of(settings), layers, place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(text: &str) -> Index {
        super::super::document::parse(text.as_bytes(), "it").unwrap()
    }

    fn entry(platform: &str, name: &str) -> String {
        let digest = Digest::of(name.as_bytes());
        let platform = match platform.split_once('/') {
            Some((os, architecture)) => {
                format!(r#","platform":{{"os":"{os}","architecture":"{architecture}"}}"#)
            }
            None => String::new(),
        };
        format!(
            r#"{{"digest":"{digest}","size":1,"annotations":{{"{REF_NAME}":"{name}"}}{platform}}}"#
        )
    }

    fn of(entries: &[String]) -> Index {
        index(&format!(r#"{{"manifests":[{}]}}"#, entries.join(",")))
    }

    #[test]
    fn the_entry_for_this_machine_is_chosen() {
        let ours = shown(&this_machine());
        let many = of(&[
            entry("windows/amd64", "w"),
            entry("unknown/unknown", "note"),
            entry(&ours, "ours"),
        ]);
        assert_eq!(for_this_machine(&many).unwrap().annotation(REF_NAME), Some("ours"));
        assert!(for_this_machine(&of(&[entry("", "only")])).is_ok());
        let wrong = for_this_machine(&of(&[entry("linux/s390x", "a"), entry("plan9/mips", "b")]))
            .unwrap_err();
        assert!(wrong.to_string().ends_with("it is for linux/s390x, plan9/mips"), "{wrong}");
    }

    #[test]
    fn an_image_among_several_must_be_named() {
        let two = || of(&[entry("", "12"), entry("", "example/library/debian:13")]);
        insta::assert_snapshot!(by_name(two(), None).unwrap_err(), @"there are several images in it; write `:NAME` behind the path: `12`, `example/library/debian:13`");
        insta::assert_snapshot!(by_name(two(), Some("14")).unwrap_err(), @"there is no image `14` in it; there are: `12`, `example/library/debian:13`");
        assert_eq!(by_name(two(), Some("debian:13")).unwrap().manifests.len(), 1);
        assert_eq!(by_name(two(), Some("12")).unwrap().manifests.len(), 1);
    }

    #[test]
    fn a_document_that_is_two_things_is_refused() {
        let digest = Digest::of(b"");
        let both = format!(
            r#"{{"schemaVersion":2,"manifests":[],"config":{{"digest":"{digest}","size":1}},"layers":[]}}"#
        );
        assert!(Document::read(both.as_bytes()).is_err());
        assert!(Document::read(br#"{"schemaVersion":1,"fsLayers":[]}"#).is_err());
        assert!(Document::read(br#"{"schemaVersion":2}"#).is_err());
        assert!(Document::read(br#"{"schemaVersion":2,"manifests":[]}"#).is_ok());
    }

    #[test]
    fn an_index_that_leads_to_itself_ends() {
        let ours = shown(&this_machine());
        let text = format!(r#"{{"schemaVersion":2,"manifests":[{}]}}"#, entry(&ours, "x"));
        let start = Document::read(text.as_bytes()).unwrap();
        assert!(manifest(start, |_| Ok(text.clone().into_bytes())).is_err());
    }
}
