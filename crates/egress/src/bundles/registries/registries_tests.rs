//! What each package manager answers, and what it means. The hosts are made up.

use super::*;

fn told(ecosystem: Ecosystem, answers: &Answers) -> String {
    let found = places(ecosystem, answers);
    let places = found.places.iter().map(ToString::to_string);
    places
        .chain(found.problems.iter().map(|it| format!("problem: {it}")))
        .collect::<Vec<_>>()
        .join("\n")
}

fn answers(commands: &[(&[&str], &str)], files: &[&str], variables: &[(&str, &str)]) -> Answers {
    let owned = |text: &&str| (*text).to_owned();
    Answers {
        commands: commands.iter().map(|(words, text)| (words.join(" "), owned(text))).collect(),
        files: files.iter().map(owned).collect(),
        variables: variables.iter().map(|(name, text)| (owned(name), owned(text))).collect(),
    }
}

#[test]
fn npm_has_a_registry_and_scopes_may_have_others() {
    let npmrc = "; a comment\nregistry=https://npm.example.com/repository/all/\n\
        @acme:registry = \"https://acme.example.com\"\n//acme.example.com/:_authToken=${TOKEN}\n\
        @x:registry=${REGISTRY}\nstrict-ssl=true\n";
    let answers = answers(
        &[(sources(Ecosystem::Npm).commands[0], "https://default.example.com/\n")],
        &[npmrc],
        &[],
    );
    insta::assert_snapshot!(told(Ecosystem::Npm, &answers), @r"
    https://acme.example.com/
    https://default.example.com/
    https://npm.example.com/repository/all/
    problem: .npmrc: @x:registry: `${REGISTRY}` is not a place: it begins with neither `https://` nor `http://`; write it as `https://host/path`
    ");
}

#[test]
fn the_files_of_pips_default_are_on_another_host_and_those_of_a_mirror_beside_it() {
    let [default, listed] = sources(Ecosystem::Pypi).commands else { panic!("two") };
    let said = (*default, "https://index.example.com/simple\nfiles.example.com\n");
    let plain =
        answers(&[said, (*listed, ":env:.find-links='/opt/wheels'\nglobal.cert='/x'")], &[], &[]);
    insta::assert_snapshot!(told(Ecosystem::Pypi, &plain), @r"
    https://files.example.com/
    https://index.example.com/
    ");
    let conf =
        "[global]\nindex-url = https://u:p@mirror.example.com/pypi/simple/\nextra-index-url =\n";
    let mirrored = answers(
        &[said],
        &[conf],
        &[("PIP_EXTRA_INDEX_URL", "https://more.example.com/simple http://10.0.0.1/simple")],
    );
    insta::assert_snapshot!(told(Ecosystem::Pypi, &mirrored), @r"
    https://mirror.example.com/pypi/
    https://more.example.com/
    problem: PIP_EXTRA_INDEX_URL: `http://10.0.0.1/simple` is not a place: `10.0.0.1` is an address; rules name hosts; write it as `https://host/path`
    ");
}

#[test]
fn cargo_names_its_index_when_it_cannot_reach_it() {
    let complaint = "    Updating index\nerror: download of config.json failed\n\nCaused by:\n  failed to download from \
        `https://index.example.com/config.json`\n\nCaused by:\n  [7] Could not connect\n";
    let config = "[source.crates-io]\nreplace-with = 'corp'\n[source.corp]\nregistry = \"sparse+https://corp.example.com/index/\"\n\
        [net]\ngit-fetch-with-cli = true\n";
    let downloads = r#"{"dl":"https://static.example.com/crates/{crate}/{version}/download","api":"https://api.example.com"}"#;
    let answers = answers(
        &[(sources(Ecosystem::Crates).complaints[0], complaint)],
        &[config, downloads, "{\"dl\":"],
        &[],
    );
    insta::assert_snapshot!(told(Ecosystem::Crates, &answers), @r"
    https://corp.example.com/index/
    https://index.example.com/
    https://static.example.com/crates/
    problem: config.json of the index: EOF while parsing a value at line 1 column 6
    ");
    let found = places(Ecosystem::Crates, &Answers { files: Vec::new(), ..answers });
    assert_eq!(follow(Ecosystem::Crates, &found), ["https://index.example.com/config.json"]);
}

#[test]
fn go_has_proxies_and_a_database_of_checksums() {
    let [proxy, sums] = sources(Ecosystem::Go).commands else { panic!("two") };
    let usual = answers(
        &[
            (*proxy, "https://proxy.example.com|https://b.example.com/go,direct\n"),
            (*sums, "sum.example.com\n"),
        ],
        &[],
        &[],
    );
    insta::assert_snapshot!(told(Ecosystem::Go, &usual), @r"
    https://b.example.com/go/
    https://proxy.example.com/
    https://sum.example.com/
    ");
    let own = answers(
        &[],
        &[],
        &[("GOPROXY", "off"), ("GOSUMDB", "sum.example.com+abc+key https://sums.example.com/x")],
    );
    insta::assert_snapshot!(told(Ecosystem::Go, &own), @"https://sums.example.com/x/");
}

#[test]
fn maven_has_repositories_and_mirrors_of_them() {
    let settings = "<?xml version=\"1.0\"?><settings><!-- <mirror><url>https://no.example.com</url></mirror> -->\
        <mirrors><mirror><id>m</id><url>https://mirror.example.com/maven2</url></mirror>\
        <mirror><url>http://0.0.0.0/</url></mirror></mirrors>\
        <profiles><profile><repositories><repository><releases/><url> https://repo.example.com/ </url></repository></repositories>\
        <url>https://not-one.example.com</url></profile></profiles></settings>";
    insta::assert_snapshot!(told(Ecosystem::Maven, &answers(&[], &[settings, "<url>", "<a", "</x></x>"], &[])), @r"
    https://mirror.example.com/maven2/
    https://repo.example.com/
    ");
}

#[test]
fn debian_has_lines_and_stanzas() {
    let lines = "# deb http://no.example.com x main\ndeb [signed-by=/k arch=amd64] http://a.example.com/debian stable main # x\n\
        deb-src https://b.example.com/ stable main\ndeb cdrom:[x]/ stable main\n";
    let stanzas = "Types: deb\nURIs: http://c.example.com/debian\n  http://d.example.com/debian\nSuites: stable\n\n\
        Enabled: no\nTypes: deb\nURIs: http://off.example.com/\n";
    insta::assert_snapshot!(told(Ecosystem::Debian, &answers(&[], &[lines, stanzas], &[])), @r"
    http://a.example.com/debian/
    http://c.example.com/debian/
    http://d.example.com/debian/
    https://b.example.com/
    ");
}

#[test]
fn the_platform_teams_word_replaces_what_was_found() {
    let place: Endpoint = "https://found.example.com/x".parse().unwrap();
    let found = RegistryHosts::new([
        (Ecosystem::Npm, BTreeSet::from([place.clone()])),
        (Ecosystem::Pypi, BTreeSet::from([place])),
    ]);
    let said = BTreeMap::from([(Ecosystem::Npm, vec!["npm.example.com".parse().unwrap()])]);
    let hosts = found.overridden(&said);
    let all = |it: Ecosystem| hosts.of(it).map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(all(Ecosystem::Npm), ["https://npm.example.com/"]);
    assert_eq!(all(Ecosystem::Pypi), ["https://found.example.com/x/"]);
}
