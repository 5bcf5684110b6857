//! The way out, as somebody inside tries it.

use tests::internet::{Arrival, House, Internet};

const POLICY: &str = "
version: 1
egress:
  implement:
    allow: [ok.test]
";

/// The controls of everything else here: what leaves the house is seen, whoever sends it, and so is what is refused.
#[test]
fn the_toy_internet_sees_what_leaves_the_house() {
    let internet = match Internet::build() {
        Ok(internet) => internet,
        Err(why) => return println!("unsupported: the toy internet: {why}"),
    };
    let house = House::start(&internet, POLICY);
    house.sandbox("try", &["--tier", "verified", "--allow", "ok.test"]);
    let curl = |url| house.run("try", &["curl", "-sS", "--max-time", "9", url]);

    let mark = internet.mark();
    assert_eq!(curl("https://ok.test/x").out, "arrived");
    let seen = internet.since(mark);
    assert!(seen.iter().any(|arrival| arrival.query() == Some("ok.test")), "{seen:?}");
    let asked: Vec<_> = seen.iter().filter_map(Arrival::request).collect();
    assert_eq!((asked.len(), asked[0].target.as_str(), asked[0].host()), (1, "/x", "ok.test"));

    let mark = (internet.mark(), house.audit().len());
    assert!(curl("https://evil.test/").err.contains("403"));
    assert_eq!(internet.since(mark.0), []);
    let refused = house.audited(mark.1, 1, |record| record.host() == "evil.test");
    assert_eq!((refused.len(), refused[0].code()), (1, "not_allowed"));

    // Beside the server, the same goes through.
    let curled = internet.in_house("curl").args(["-sS", "https://evil.test/"]).output().unwrap();
    assert_eq!(curled.stdout, b"arrived");
    assert!(internet.since(mark.0).iter().any(|arrival| arrival.query() == Some("evil.test")));
}
