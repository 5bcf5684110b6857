//! Programs that fetch a page: with a proxy, without one, with their own idea of certificates.

use std::path::Path;

use tests::internet::{Arrival, House, Internet, Said};
use unsupported::supported;

const ALLOWED: &str = "docs.example.com";
const REFUSED: &str = "evil.example.com";

/// One way to fetch a page. `PAGE` in the script is where from; it prints what it got, or fails.
struct Client {
    name: &'static str,
    /// What must be on this machine.
    needs: &'static str,
    script: &'static str,
    /// What it says when it may not: with a proxy it is told so; without one, the name is not known inside.
    told: &'static str,
}

/// What is unset for programs that are to know of no proxy.
const NO_PROXY: &str =
    "unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NODE_USE_ENV_PROXY;";

const CLIENTS: [Client; 14] = [
    Client { name: "curl", needs: "/usr/bin/curl", script: "curl -sS PAGE", told: "403" },
    Client { name: "curl without a proxy", needs: "/usr/bin/curl", script: "curl -sS --noproxy '*' PAGE", told: "Could not resolve host" },
    Client { name: "curl over SOCKS", needs: "/usr/bin/curl", script: "curl -sS --proxy socks5h://127.0.0.1:1080 PAGE", told: "(2)" },
    Client { name: "wget", needs: "/usr/bin/wget", script: "wget -nv -O - PAGE", told: "Forbidden" },
    Client { name: "wget without a proxy", needs: "/usr/bin/wget", script: "wget -nv --no-proxy -O - PAGE", told: "unable to resolve" },
    Client {
        name: "Node fetch, which knows no proxy",
        needs: "/usr/bin/node",
        script: "NO_PROXY_ENV node -e \"fetch('PAGE').then(r => r.text()).then(console.log).catch(e => { console.error(e); process.exit(1) })\"",
        told: "ENOTFOUND",
    },
    Client {
        name: "Node https",
        needs: "/usr/bin/node",
        script: "node -e \"require('https').get('PAGE', r => r.pipe(process.stdout)).on('error', e => { console.error(e); process.exit(1) })\"",
        told: "ENOTFOUND",
    },
    Client {
        name: "Python requests",
        needs: "/usr/lib/python3/dist-packages/requests/__init__.py",
        script: "/usr/bin/python3 -c \"import requests; print(requests.get('PAGE').text)\"",
        told: "403",
    },
    Client {
        name: "Python urllib",
        needs: "/usr/bin/python3",
        script: "/usr/bin/python3 -c \"import urllib.request as u; print(u.urlopen('PAGE').read().decode())\"",
        told: "403",
    },
    Client {
        name: "Python urllib without a proxy",
        needs: "/usr/bin/python3",
        script: "NO_PROXY_ENV /usr/bin/python3 -c \"
import urllib.request as u
print(u.urlopen('PAGE').read().decode())\"",
        told: "not known",
    },
    Client {
        name: "Java HttpClient",
        needs: "/usr/bin/javac",
        script: "cat > Get.java <<'END'
import java.net.URI; import java.net.ProxySelector; import java.net.http.*;
class Get { public static void main(String[] a) throws Exception {
  var client = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();
  System.out.println(client.send(HttpRequest.newBuilder(URI.create(\\\"PAGE\\\")).build(), HttpResponse.BodyHandlers.ofString()).body());
} }
END
java Get.java",
        told: "403",
    },
    Client {
        name: "Java URLConnection",
        needs: "/usr/bin/javac",
        script: "cat > Old.java <<'END'
class Old { public static void main(String[] a) throws Exception {
  System.out.println(new String(new java.net.URL(\\\"PAGE\\\").openStream().readAllBytes()));
} }
END
java Old.java",
        told: "403",
    },
    Client {
        name: "Java without a proxy",
        needs: "/usr/bin/javac",
        script: "export JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStore=/.lamp/certificates.jks
cat > Bare.java <<'END'
class Bare { public static void main(String[] a) throws Exception {
  var client = java.net.http.HttpClient.newHttpClient();
  System.out.println(client.send(java.net.http.HttpRequest.newBuilder(java.net.URI.create(\\\"PAGE\\\")).build(), java.net.http.HttpResponse.BodyHandlers.ofString()).body());
} }
END
java Bare.java",
        told: "UnresolvedAddress",
    },
    Client {
        name: "Go net/http",
        needs: "/usr/bin/go",
        script: "cat > get.go <<'END'
package main
import (\"fmt\"; \"io\"; \"net/http\"; \"os\")
func main() { r, e := http.Get(\"PAGE\"); if e != nil { fmt.Println(e); os.Exit(1) }; b, _ := io.ReadAll(r.Body); fmt.Println(string(b)) }
END
GOCACHE=/tmp/go go run get.go",
        told: "Forbidden",
    },
];

fn begin(internet: &Internet) -> House<'_> {
    let policy = format!("version: 1\negress:\n  implement: {{ allow: [{ALLOWED}] }}\n");
    let house = House::start(internet, &policy);
    house.sandbox("dev", &["--allow", ALLOWED]);
    house
}

fn fetch(house: &House<'_>, sandbox: &str, client: &Client, host: &str) -> Said {
    let script = client.script.replace("NO_PROXY_ENV", NO_PROXY).replace("\\\"", "\"");
    let script = script.replace("PAGE", &format!("https://{host}/page"));
    house.shell(sandbox, &format!("cd /workspace; {script}"))
}

#[test]
fn every_program_reaches_what_it_may_and_is_told_what_it_may_not() {
    let internet = supported!(Internet::build());
    let house = begin(&internet);
    internet.site(ALLOWED, |request| {
        tests::internet::ok(&format!(
            "the page for {}",
            request.header("user-agent").unwrap_or("-")
        ))
    });
    let mut tried = 0;
    for client in &CLIENTS {
        let name = client.name;
        if !Path::new(client.needs).exists() {
            unsupported::part(name, &format!("there is no {}", client.needs));
            continue;
        }
        let mark = internet.mark();
        let said = fetch(&house, "dev", client, ALLOWED);
        assert!(said.succeeded() && said.out.contains("the page for "), "{name}: {said}");
        let arrived = internet.since(mark);
        let is_request = |arrival: &&Arrival| arrival.request().is_some();
        assert_eq!(arrived.iter().filter(is_request).count(), 1, "{name}: {arrived:?}");

        let mark = internet.mark();
        let said = fetch(&house, "dev", client, REFUSED);
        assert!(!said.succeeded() && said.all().contains(client.told), "{name}: {said}");
        assert_eq!(internet.since(mark), [], "{name}: nothing leaves");
        tried += 1;
    }
    println!("{tried} of {} clients", CLIENTS.len());
    assert!(tried >= 5, "curl and Python are everywhere");
}

#[test]
fn the_way_out_is_the_same_on_every_tier() {
    let internet = supported!(Internet::build());
    let house = begin(&internet);
    let small =
        ["curl", "curl without a proxy", "Node fetch, which knows no proxy", "Python urllib"];
    for tier in ["verified", "standard", "untrusted"] {
        if !house.tiers().contains(tier) {
            unsupported::part(&format!("the tier `{tier}`"), house.tiers());
            continue;
        }
        house.sandbox(tier, &["--tier", tier, "--allow", ALLOWED]);
        for client in CLIENTS.iter().filter(|it| small.contains(&it.name)) {
            if !Path::new(client.needs).exists() {
                unsupported::part(client.name, &format!("there is no {}", client.needs));
                continue;
            }
            let said = fetch(&house, tier, client, ALLOWED);
            assert!(
                said.succeeded() && said.out.contains("arrived"),
                "{tier} {}: {said}",
                client.name
            );
            let said = fetch(&house, tier, client, REFUSED);
            assert!(
                !said.succeeded() && said.all().contains(client.told),
                "{tier} {}: {said}",
                client.name
            );
        }
        println!("{tier}: {} programs", small.len());
    }
}
