//! Who makes the API's refusals. A room says what is the case in types of its own; the door alone turns that into a code, a sentence and a hint.

use crate::tree::{File, assert_none, files_with};

/// Where a refusal may be made: at the door, and where its shape is.
const MAKERS: &[&str] = &["crates/gateway/", "crates/wire/"];

#[test]
fn only_the_door_makes_problems() {
    let shipped = files_with("rs").into_iter().filter(is_shipped);
    let others = shipped.filter(|file| !MAKERS.iter().any(|maker| file.path.starts_with(maker)));
    let wrong: Vec<String> = others.flat_map(|file| made(&file)).collect();
    assert_none("return a typed error; `gateway` makes a `Problem` of it", &wrong);
}

#[test]
fn a_problem_that_is_made_elsewhere_is_found() {
    let file =
        |text: &str| File { path: "crates/server/src/a.rs".to_owned(), text: text.to_owned() };
    let import = "use wire::{\n    client::Client,\n    error::{Code, Problem},\n};\n";
    for body in ["Problem::new(Code::Busy, \"\")", "let told = Problem { code, ..old };"] {
        assert_eq!(made(&file(&format!("{import}{body}"))).len(), 1, "{body}");
        assert!(made(&file(&format!("struct Problem;\n{body}"))).is_empty(), "another one's");
        assert!(made(&file(&format!("{import}#[cfg(test)]\n{body}"))).is_empty(), "in a test");
    }
    assert_eq!(made(&file("wire::error::Problem::new(code, text)")).len(), 1);
    for look in ["let Problem { code, .. } = told;", "fn refused(problem: Problem) {"] {
        assert!(made(&file(&format!("{import}{look}"))).is_empty(), "{look}");
    }
}

fn is_shipped(file: &File) -> bool {
    let in_source = file.path.starts_with("crates/") && file.path.contains("/src/");
    in_source && !file.path.ends_with("tests.rs") && !file.path.contains("/tests/")
}

/// The lines before its tests on which a file makes one.
fn made(file: &File) -> Vec<String> {
    if !names_problem(&file.text) {
        return Vec::new();
    }
    let shipped = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    let lines = shipped.enumerate().filter(|(_, line)| makes(line));
    lines.map(|(number, line)| format!("{}:{}: {}", file.path, number + 1, line.trim())).collect()
}

/// Whether `Problem` is the API's in this file.
fn names_problem(text: &str) -> bool {
    let imports = text.split("use wire::").skip(1).filter_map(|rest| rest.split(';').next());
    text.contains("wire::error::Problem") || imports.into_iter().any(|it| it.contains("Problem"))
}

fn makes(line: &str) -> bool {
    let looks = ["let Problem {", "-> Problem {", "for Problem {", "impl Problem {"];
    let is_literal = line.contains("Problem {") && !looks.iter().any(|look| line.contains(look));
    line.contains("Problem::new(") || is_literal
}
