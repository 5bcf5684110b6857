//! Tokens are put together here, so that whoever searches this repository for secrets finds none.

use proptest::prelude::*;

use super::*;

/// Looks random, and is not.
fn random(length: usize) -> String {
    "q7Zk2XvB9mWc4TjR8nLd5YhF1sGp6Ka3Eu0".chars().cycle().take(length).collect()
}

fn kinds(text: &str) -> Vec<Kind> {
    find(text.as_bytes()).into_iter().map(|found| found.kind).collect()
}

#[test]
fn tokens_of_services_are_found_and_refused() {
    let upper = random(35).to_uppercase();
    let hexadecimal: String = "0123456789abcdef".chars().cycle().take(64).collect();
    for (token, service) in [
        (format!("AKIA{}", &upper[..16]), "AWS"),
        (format!("{}{}", "ghp_", random(36)), "GitHub"),
        (format!("github_{}{}", "pat_", random(60)), "GitHub"),
        (format!("{}{}", "glpat-", random(20)), "GitLab"),
        (format!("{}{}", "xoxb-", random(30)), "Slack"),
        (format!("{}{}", "sk-ant-", random(60)), "Anthropic"),
        (format!("sk_{}{}", "live_", random(24)), "Stripe"),
        (format!("{}{}", "AIza", random(35)), "Google"),
        (format!("{}{}", "npm_", random(36)), "npm"),
        (format!("dop_{}{hexadecimal}", "v1_"), "DigitalOcean"),
    ] {
        for text in [token.clone(), format!("a\nlet key = \"{token}\";\n"), format!("({token})")] {
            assert_eq!(kinds(&text), [Kind::Token(service)], "{service}: {text}");
        }
    }
    let text = format!("one\ntwo {}{}", "ghp_", random(36));
    assert_eq!(find(text.as_bytes())[0].line, 2);
    assert_eq!(Kind::Token("AWS").certainty(), Certainty::Known);
}

#[test]
fn private_keys_are_found_and_code_about_them_is_not() {
    let key = format!("-----BEGIN RSA {} KEY-----\n{}\n", "PRIVATE", random(300));
    assert_eq!(kinds(&key), [Kind::PrivateKey]);
    assert_eq!(kinds(&format!("if line == \"-----BEGIN {} KEY-----\" {{ }}", "PRIVATE")), []);
    assert_eq!(kinds(&format!("-----BEGIN PUBLIC KEY-----\n{}\n", random(300))), []);
}

#[test]
fn what_only_looks_like_a_secret_is_flagged() {
    assert_eq!(kinds(&format!("api_key = \"{}\"", random(32))), [Kind::RandomValue]);
    assert_eq!(kinds(&format!("\"password\": \"{}\"", random(24))), [Kind::RandomValue]);
    assert_eq!(kinds(&format!("db: postgres://me:{}@db/x", random(12))), [Kind::PasswordInAddress]);
    let signed = format!("eyJ{}.eyJ{}.{}", random(30), random(60), random(43));
    assert_eq!(kinds(&format!("Bearer {signed}")), [Kind::SignedToken]);
    assert_eq!(Kind::RandomValue.certainty(), Certainty::Likely);
}

#[test]
fn examples_and_ordinary_code_are_left_alone() {
    for text in [
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        format!("{}{}", "ghp_", "x".repeat(36)),
        "password = read_password_from_the_environment_variable()".to_owned(),
        "let secret = config.get(\"a\");".to_owned(),
        "https://example.com/a:b@c".to_owned(),
        "postgres://user:$PASSWORD@db/x".to_owned(),
        "postgres://postgres:postgres@localhost/x".to_owned(),
        format!("my{}{}", "ghp_", random(36)),
        format!("AKIA{}", random(40).to_uppercase()),
        "use crate::secret::SecretValue;".to_owned(),
    ] {
        assert_eq!(kinds(&text), [], "{text}");
    }
}

#[test]
fn what_stood_there_before_is_not_told_again() {
    let old = format!("a\n{}{}\n", "ghp_", random(36));
    let moved = format!("b\nb\nb\n{old}");
    assert_eq!(find_new(Some(old.as_bytes()), moved.as_bytes()), []);
    let more = format!("{moved}{}{}\n", "glpat-", random(20));
    assert_eq!(find_new(Some(old.as_bytes()), more.as_bytes()).len(), 1);
    assert_eq!(find_new(None, old.as_bytes()).len(), 1);
}

/// With work for each that grows with the text, this would take very long.
#[test]
fn what_repeats_itself_does_not_take_longer_and_longer() {
    let beginnings =
        ["-----BEGIN ", "eyJ", "-eyJ", "eyJ.eyJ", "glpat-", "-glpat-", "secret=", "://a:b", "AKIA"];
    for beginning in beginnings {
        let _ = find(beginning.repeat((256 << 10) / beginning.len()).as_bytes());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_searched(bytes: Vec<u8>) {
        for found in find(&bytes) {
            prop_assert!(bytes.get(found.range).is_some());
        }
    }

    #[test]
    fn a_token_is_found_between_any_words(before in "[a-z ]{0,40} ", after in "[ \n\"].{0,40}") {
        let token = format!("{}{}", "ghp_", random(36));
        let text = format!("{before}{token}{after}");
        prop_assert!(kinds(&text).contains(&Kind::Token("GitHub")));
    }
}
