//! Tests that are functions with a mark before them: `#[test]` in Rust, `@Test` in Java and Kotlin.

use std::ops::Range;

use super::{super::languages::Language, Mark, TESTS_LIMIT, Test, code::Code};

pub(super) fn tests(code: &mut Code<'_>, language: Language) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut marks = Marks::default();
    let mut at = 0;
    while let Some(next) = code.next_code(at).filter(|_| tests.len() < TESTS_LIMIT) {
        if let Some(annotation) = annotation(code, next, language) {
            marks.add(
                &code.original(annotation.clone()).split_whitespace().collect::<String>(),
                language,
            );
            // Past the bracket that ends it, in Rust.
            at = annotation.end + usize::from(language == Language::Rust);
            continue;
        }
        let Some(word) = code.word_at(next) else {
            // Something between an annotation and what it stands before: it stood before nothing that we know.
            if !b"<>,?&.*".contains(&code.byte(next).unwrap_or(b' ')) {
                marks = Marks::default();
            }
            // Into brackets, not over them: tests lie in modules and classes.
            at = next + 1;
            continue;
        };
        at = word.end;
        let declared = declaration(code, &word, language);
        let Some(declared) = declared else { continue };
        let found = std::mem::take(&mut marks);
        match declared {
            Declared::Function(name) => {
                at = name.end;
                // A name with `$` is a macro's: how many tests it makes, and which, is not seen here.
                if !found.is_test || code.byte(name.start) == Some(b'$') {
                    continue;
                }
                let body = body(code, name.end);
                let body = code.afford(body);
                let text = code.original(name).to_owned();
                tests.push(code.test(&text, word.start, found.mark(), body));
            }
            Declared::Group(name) => {
                at = name.end;
                if found.mark() != Mark::Runs {
                    let text = format!("class {}", code.original(name));
                    tests.push(code.group(&text, word.start, found.mark()));
                }
            }
        }
    }
    tests
}

const SIGNATURE_BYTES: usize = 1_000;

#[derive(Default)]
struct Marks {
    is_test: bool,
    skipped: Option<Mark>,
}

impl Marks {
    fn add(&mut self, text: &str, language: Language) {
        let name_end = text.find(['(', '=']).unwrap_or(text.len());
        let path = text.get(..name_end).unwrap_or_default();
        let name = path.rsplit(['.', ':']).next().unwrap_or(path);
        match language {
            Language::Rust => {
                self.is_test |= matches!(
                    name,
                    "test"
                        | "rstest"
                        | "test_case"
                        | "case"
                        | "wasm_bindgen_test"
                        | "quickcheck"
                        | "gtest"
                        | "test_log"
                );
                let is_ignored = name == "ignore" || text == "cfg(any())" || text == "cfg(false)";
                let sometimes = name == "cfg_attr" && text.contains(",ignore");
                if is_ignored {
                    self.skipped = Some(Mark::Skipped);
                } else if sometimes {
                    self.skipped.get_or_insert(Mark::SkippedSometimes);
                } else if name == "should_panic" {
                    self.skipped.get_or_insert(Mark::MayFail);
                }
            }
            Language::Java | Language::Python | Language::JavaScript | Language::Go => {
                self.is_test |= matches!(
                    name,
                    "Test" | "ParameterizedTest" | "RepeatedTest" | "TestFactory" | "Property"
                );
                if matches!(name, "Disabled" | "Ignore" | "Ignored") {
                    self.skipped = Some(Mark::Skipped);
                } else if name.starts_with("DisabledIf")
                    || name.starts_with("DisabledOn")
                    || name.starts_with("EnabledIf")
                {
                    self.skipped.get_or_insert(Mark::SkippedSometimes);
                }
            }
        }
    }

    fn mark(&self) -> Mark {
        self.skipped.unwrap_or(Mark::Runs)
    }
}

/// What stands in `#[…]`, or after `@` with its brackets.
fn annotation(code: &Code<'_>, at: usize, language: Language) -> Option<Range<usize>> {
    if language == Language::Rust {
        let open = (code.byte(at)? == b'#' && code.byte(at + 1)? == b'[').then_some(at + 1)?;
        let close = code.closing(open)?;
        return Some(open + 1..close);
    }
    let name = (code.byte(at)? == b'@').then(|| code.next_word(at + 1, at + 2))??;
    let mut end = name.end;
    while code.byte(end) == Some(b'.') {
        end = code.next_word(end + 1, end + 2)?.end;
    }
    if code.byte(end) == Some(b'(') {
        end = code.closing(end)? + 1;
    }
    Some(at + 1..end)
}

enum Declared {
    Function(Range<usize>),
    Group(Range<usize>),
}

/// The name of the function or class that is declared from this word on.
fn declaration(code: &Code<'_>, word: &Range<usize>, language: Language) -> Option<Declared> {
    let text = code.masked(word.clone());
    let name = |from: usize| code.next_word(from, from + 80);
    match (language, text) {
        (Language::Rust, "fn") | (Language::Java, "fun") => {
            let start = code.next_code(word.end)?;
            // Kotlin writes sentences in backticks, which are no words.
            if code.byte(start) == Some(b'`') {
                let end = code.find(b"`", start + 1..start + 300)?;
                return Some(Declared::Function(start + 1..end));
            }
            name(word.end).map(Declared::Function)
        }
        (Language::Rust, "mod") | (Language::Java, "class" | "interface") => {
            name(word.end).map(Declared::Group)
        }
        // In Java a function is a name before brackets, after its type.
        (Language::Java, _) if code.byte(word.end) == Some(b'(') => {
            Some(Declared::Function(word.clone()))
        }
        _ => None,
    }
}

/// From the name to the end of the block.
fn body(code: &Code<'_>, from: usize) -> Range<usize> {
    let mut at = from;
    // A signature that is longer is none. The limit keeps a file of names without bodies from being read again for each.
    while let Some(next) = code.find(b"([{;", at..(from + SIGNATURE_BYTES)) {
        match code.byte(next) {
            Some(b'{') => return next..code.closing(next).unwrap_or(next),
            Some(b';') => return next..next,
            _ => at = code.closing(next).unwrap_or(next) + 1,
        }
    }
    from..from
}
