//! Templates that an operator wrote.

use std::path::Path;

use super::*;

fn load(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Templates, TemplateError>) {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs_err::write(directory.path().join(name), text).unwrap();
    }
    let loaded = Templates::load(Some(directory.path()));
    (directory, loaded)
}

/// What is wrong, without where this test put it.
fn wrong(files: &[(&str, &str)]) -> String {
    let (directory, loaded) = load(files);
    loaded.unwrap_err().to_string().replace(directory.path().to_str().unwrap(), "PROMPTS")
}

#[test]
fn ours_stand_up_to_a_rehearsal() {
    rehearsal::all(&Templates::builtin().unwrap()).unwrap();
    assert!(Templates::load(None).is_ok());
}

#[test]
fn an_operators_template_takes_the_place_of_ours() {
    let ours = "# Phase: plan\nBe brief.\n{{ context }}\n{{ schema }} {{ mark }}\n";
    let (_directory, loaded) = load(&[("plan.md", ours), (".hidden", "{{")]);
    let templates = loaded.unwrap();
    let brief = rich();
    let told = templates.prompt(Mode::Plan, &brief, &pack(&brief, &facts())).unwrap();
    assert!(told.starts_with("# Phase: plan\nBe brief.\n## The request\n"), "{told}");
    let research = templates.prompt(Mode::Research, &brief, &pack(&brief, &facts())).unwrap();
    assert_eq!(research, prompt(Mode::Research, &brief, &facts()));
}

#[test]
fn an_operators_words_of_repair_are_used() {
    let (_directory, loaded) =
        load(&[("repair.md", "Once more:{% for it in faults %} {{ it }}{% endfor %}\n")]);
    let faults = crate::answer::read_plain(Mode::Plan, "[]").unwrap_err();
    insta::assert_snapshot!(loaded.unwrap().repair(Mode::Plan, &faults).unwrap(), @"Once more: the answer is not an object: it must be an object with one key, `plan` or `question`");
}

#[test]
fn a_mistake_is_told_with_its_file_and_its_line() {
    let told = [
        wrong(&[("plan.md", "one\n\n{{ contest }}\n")]),
        wrong(&[("plan.md", "{% if plan %}\n{{ conditions.first.name }}\n{% endif %}\n")]),
        wrong(&[("context.md", "{% for it in repositories %}\n- {{ it.path }}\n{% endfor %}")]),
        wrong(&[("review.md", "one\n{% if plan %}\n")]),
        wrong(&[("review.md", "one\ntwo {{ plan | shout }}\n")]),
        wrong(&[("review.md", "{% include 'plan.md' %}")]),
        wrong(&[("review.md", "{% extends '/etc/passwd' %}")]),
        wrong(&[("repair.md", "{{ context }}")]),
        wrong(&[("research.md", "{{ faults }}")]),
        wrong(&[("plans.md", "x")]),
        wrong(&[("README.md", "x")]),
    ];
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_cannot_be_read_is_told() {
    let missing = Templates::load(Some(Path::new("/nonexistent/prompts"))).unwrap_err().to_string();
    assert!(missing.starts_with("`/nonexistent/prompts` cannot be read: "), "{missing}");
    let directory = tempfile::tempdir().unwrap();
    fs_err::write(directory.path().join("plan.md"), [0xff, 0xfe]).unwrap();
    assert!(matches!(Templates::load(Some(directory.path())), Err(TemplateError::Unread { .. })));
    let large = wrong(&[("plan.md", &"x".repeat(300_000))]);
    assert!(large.ends_with("it has 300000 bytes, and 262144 are allowed"), "{large}");
}

#[test]
fn values_are_never_read_as_templates() {
    let text = "{{ mark }} {% if true %}yes{% endif %} {# gone #} <b>&amp;</b>";
    let brief = Brief {
        request: text.to_owned(),
        quotes: words(&[text]),
        guidance: words(&[text]),
        feedback: words(&[text]),
        ..Brief::default()
    };
    let told = prompt(Mode::Plan, &brief, &[]);
    assert_eq!(told.matches(text).count(), 4, "{told}");
}
