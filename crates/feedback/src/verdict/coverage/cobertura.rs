//! Cobertura: XML with `<source>`s, `<class filename>`s and their `<line number hits>`.

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};

use super::{Coverage, CoverageError, Hit};
use crate::location::{Workspace, WorkspacePath};

const SOURCES_LIMIT: usize = 32;

pub(super) fn read(text: &str, workspace: &Workspace) -> Result<Coverage, CoverageError> {
    let wrong = || CoverageError::Malformed("XML");
    let mut reader = Reader::from_str(text);
    let mut coverage = Coverage::default();
    let mut sources: Vec<String> = Vec::new();
    let mut in_source = false;
    let mut is_report = false;
    let mut file: Option<WorkspacePath> = None;
    loop {
        match reader.read_event().map_err(|_| wrong())? {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => match tag.name().as_ref() {
                "coverage" => is_report = true,
                "source" => in_source = true,
                "class" => {
                    file = attribute(&tag, "filename")
                        .and_then(|path| resolve(&path, &sources, workspace));
                }
                "line" => {
                    let Some(file) = &file else { continue };
                    let number = attribute(&tag, "number")
                        .and_then(|number| number.parse().ok())
                        .ok_or_else(wrong)?;
                    let hits: u64 = attribute(&tag, "hits")
                        .and_then(|hits| hits.parse().ok())
                        .ok_or_else(wrong)?;
                    coverage.add(file, number, Hit::of_count(hits))?;
                }
                _ => {}
            },
            Event::End(tag) => match tag.name().as_ref() {
                "source" => in_source = false,
                "class" => file = None,
                _ => {}
            },
            Event::Text(text) if in_source && sources.len() < SOURCES_LIMIT => {
                sources.push(text.trim().to_owned());
            }
            // These carry nothing here, and nothing is looked up for them.
            Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::GeneralRef(_) => {}
        }
    }
    if is_report { Ok(coverage) } else { Err(CoverageError::Unknown) }
}

/// A file's name is meant from one of the sources; the first below which it is a file of the workspace counts.
fn resolve(path: &str, sources: &[String], workspace: &Workspace) -> Option<WorkspacePath> {
    if path.starts_with('/') {
        return workspace.file(path);
    }
    let absolute = sources.iter().filter(|source| source.starts_with('/'));
    let below = absolute
        .filter_map(|source| workspace.file(&format!("{}/{path}", source.trim_end_matches('/'))));
    below.into_iter().next().or_else(|| workspace.file(path))
}

fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let attribute = tag.try_get_attribute(name).ok()??;
    quick_xml::escape::unescape(&attribute.value).ok().map(std::borrow::Cow::into_owned)
}
