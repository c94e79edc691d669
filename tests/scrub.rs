//! The scrub gate: what looks like a secret is caught where it stands and never shown; what does not, passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr
)]

mod support;

use std::collections::BTreeSet;

use acx_registry::author::scrub::{Hit, Scrubber, rules};
use support::noise::Noise;

/// What blocks an export of this file.
fn hits(name: &str, text: &[u8]) -> Vec<Hit> {
    let mut scrubber = Scrubber::default();
    scrubber.file(name, text);
    scrubber.finish().unwrap().0
}

/// One secret in its surroundings. Secrets are put together at run time, so that no scanner finds one here.
struct Case {
    rule: &'static str,
    before: &'static str,
    /// The secret itself.
    secret: String,
    after: &'static str,
}

fn secrets() -> Vec<Case> {
    let mut noise = Noise::new(41);
    let mut cases = Vec::new();
    let mut add = |rule: &'static str,
                   before: &'static str,
                   prefix: &[&str],
                   rest: &str,
                   after: &'static str| {
        cases.push(Case {
            rule,
            before,
            secret: format!("{}{}", prefix.concat(), noise.fill(rest)),
            after,
        });
    };
    add(
        "private-key",
        "Keep it:\n",
        &["-----BEGIN RSA ", "PRIVATE KEY-----"],
        "",
        "\nMIIE\n",
    );
    add(
        "private-key",
        "key = \"\"\"",
        &["-----BEGIN PGP ", "PRIVATE KEY BLOCK-----"],
        "",
        "\n",
    );
    add(
        "private-key",
        "",
        &["-----BEGIN ", "PRIVATE KEY-----"],
        "",
        "\\nMC4CAQAwBQYDK2VwBCIEIA==",
    );
    add(
        "putty-key",
        "",
        &["PuTTY-User-", "Key-File-3: ssh-ed25519"],
        "",
        "\nEncryption: none\n",
    );
    add(
        "age-key",
        "# created: 2026\n",
        &["AGE-SECRET-", "KEY-1"],
        "«bech:58»",
        "\n",
    );
    add(
        "aws-access-key",
        "aws_access_key_id = ",
        &["AK", "IA"],
        "«b32:16»",
        "\n",
    );
    add(
        "aws-access-key",
        "{\"AccessKeyId\": \"",
        &["AS", "IA"],
        "«b32:16»",
        "\"}",
    );
    add("alibaba-access-key", "id: ", &["LT", "AI"], "«an:20»", "\n");
    add(
        "anthropic-key",
        "export ANTHROPIC_API_KEY=",
        &["sk-", "ant-api03-"],
        "«url:93»AA",
        "\n",
    );
    add(
        "openai-key",
        "openai.api_key = '",
        &["sk-", "proj-"],
        "«an:40»T3BlbkFJ«an:40»",
        "'\n",
    );
    add(
        "github-token",
        "git clone https://x-access-token@github.com # ",
        &["gh", "p_"],
        "«an:36»",
        "\n",
    );
    add(
        "github-token",
        "GITHUB_TOKEN=",
        &["gh", "s_"],
        "«an:36»",
        "\n",
    );
    add(
        "github-token",
        "token: ",
        &["github_", "pat_"],
        "«an:82»",
        "\n",
    );
    add(
        "gitlab-token",
        "PRIVATE-TOKEN: ",
        &["gl", "pat-"],
        "«an:20»",
        "\n",
    );
    add(
        "gitlab-token",
        "runner ",
        &["gl", "rt-"],
        "«an:20»",
        " registered\n",
    );
    add(
        "slack-token",
        "SLACK=",
        &["xo", "xb-"],
        "«num:12»-«num:12»-«an:24»",
        "\n",
    );
    add(
        "slack-token",
        "",
        &["xo", "xp-"],
        "«num:12»-«num:12»-«num:12»-«hex:32»",
        "\n",
    );
    add(
        "slack-token",
        "app level: ",
        &["xa", "pp-"],
        "1-A«num:10»-«num:12»-«hex:64»",
        "\n",
    );
    add(
        "slack-webhook",
        "curl -d x https://hooks.slack.com/services/",
        &[],
        "T«num:9»A/B«num:9»B/«an:24»",
        "\n",
    );
    add(
        "discord-webhook",
        "https://discord.com/api/webhooks/123456789012345678/",
        &[],
        "«url:68»",
        "\n",
    );
    add(
        "google-key",
        "https://maps.example/api/js?key=",
        &["AI", "za"],
        "«url:35»",
        "&callback=go",
    );
    add(
        "google-oauth-secret",
        "\"client_secret\":\"",
        &["GOC", "SPX-"],
        "«an:28»",
        "\"",
    );
    add(
        "google-oauth-token",
        "Bearer ",
        &["ya", "29."],
        "«url:60»",
        "\n",
    );
    add(
        "azure-client-secret",
        "secret ",
        &["aB1", "8Q~"],
        "«an:34»",
        "\n",
    );
    add(
        "azure-storage-key",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=",
        &[],
        "«b64:86»==",
        ";EndpointSuffix=core.windows.net",
    );
    add(
        "azure-sas",
        "https://a.blob.core.windows.net/c?sv=2024-01-01&sig=",
        &[],
        "«an:44»%3D",
        "\n",
    );
    add(
        "digitalocean-token",
        "do: ",
        &["dop", "_v1_"],
        "«hex:64»",
        "\n",
    );
    add(
        "cloudflare-key",
        "cf: ",
        &["v1", ".0-"],
        "«hex:24»-«hex:146»",
        "\n",
    );
    add(
        "stripe-key",
        "stripe.api_key = \"",
        &["sk_", "live_"],
        "«an:24»",
        "\"\n",
    );
    add(
        "stripe-key",
        "STRIPE_WEBHOOK=",
        &["wh", "sec_"],
        "«an:32»",
        "\n",
    );
    add("square-token", "sq: ", &["sq0", "atp-"], "«an:22»", "\n");
    add("shopify-token", "shop: ", &["shp", "at_"], "«hex:32»", "\n");
    add(
        "npm-token",
        "//registry.example/:_authToken=",
        &["np", "m_"],
        "«an:36»",
        "\n",
    );
    add(
        "pypi-token",
        "twine: ",
        &["pypi-", "AgEIcHlwaS5vcmc"],
        "«url:70»",
        "\n",
    );
    add(
        "crates-token",
        "cargo login ",
        &["ci", "o"],
        "«an:32»",
        "\n",
    );
    add(
        "rubygems-token",
        "gem: ",
        &["rubyg", "ems_"],
        "«hex:48»",
        "\n",
    );
    add("nuget-key", "nuget: ", &["o", "y2"], "«base36:43»", "\n");
    add(
        "docker-token",
        "docker login -p ",
        &["dckr", "_pat_"],
        "«an:27»",
        "\n",
    );
    add(
        "artifactory-token",
        "jfrog: ",
        &["AK", "Cp"],
        "«an:69»",
        "\n",
    );
    add(
        "huggingface-token",
        "login(\"",
        &["h", "f_"],
        "«al:34»",
        "\")\n",
    );
    add(
        "replicate-token",
        "REPLICATE=",
        &["r", "8_"],
        "«an:37»",
        "\n",
    );
    add("groq-key", "GROQ=", &["gs", "k_"], "«an:52»", "\n");
    add("xai-key", "XAI=", &["xa", "i-"], "«an:80»", "\n");
    add("perplexity-key", "PPLX=", &["pp", "lx-"], "«an:48»", "\n");
    add(
        "sendgrid-key",
        "sendgrid ",
        &["S", "G."],
        "«an:22».«an:43»",
        "\n",
    );
    add("mailgun-key", "mailgun ", &["ke", "y-"], "«hex:32»", "\n");
    add("mailchimp-key", "chimp ", &[], "«hex:32»-us12", "\n");
    add("twilio-key", "twilio ", &["S", "K"], "«hex:32»", "\n");
    add(
        "telegram-token",
        "bot ",
        &["71234", "56789:AA"],
        "«an:33»",
        "\n",
    );
    add(
        "discord-token",
        "client.login('",
        &["M"],
        "«an:23».«an:6».«an:38»",
        "')\n",
    );
    add(
        "vault-token",
        "vault login ",
        &["hv", "s."],
        "«an:40»",
        "\n",
    );
    add(
        "terraform-token",
        "credentials ",
        &[],
        "«an:14».atlasv1.«an:60»",
        "\n",
    );
    add("heroku-key", "heroku ", &["HRKU", "-AA"], "«an:58»", "\n");
    add("databricks-token", "dbx ", &["da", "pi"], "«hex:32»", "\n");
    add(
        "grafana-token",
        "grafana ",
        &["gl", "sa_"],
        "«an:32»_«hex:8»",
        "\n",
    );
    add("newrelic-key", "nr ", &["NR", "AK-"], "«base36:27»", "\n");
    add("sentry-token", "sentry ", &["sntr", "ys_"], "«an:60»", "\n");
    add("linear-key", "linear ", &["lin_", "api_"], "«an:40»", "\n");
    add("notion-token", "notion ", &["nt", "n_"], "«an:46»", "\n");
    add("figma-token", "figma ", &["fig", "d_"], "«an:40»", "\n");
    add(
        "airtable-token",
        "airtable ",
        &["pa", "t"],
        "«an:14».«hex:64»",
        "\n",
    );
    add(
        "atlassian-token",
        "jira ",
        &["ATA", "TT3"],
        "«an:186»",
        "\n",
    );
    add(
        "postman-key",
        "postman ",
        &["PM", "AK-"],
        "«hex:24»-«hex:34»",
        "\n",
    );
    add(
        "planetscale-token",
        "ps ",
        &["pscale", "_tkn_"],
        "«an:43»",
        "\n",
    );
    add(
        "supabase-token",
        "supabase ",
        &["sb", "p_"],
        "«hex:40»",
        "\n",
    );
    add(
        "doppler-token",
        "doppler ",
        &["dp.", "pt."],
        "«an:43»",
        "\n",
    );
    add(
        "onepassword-token",
        "op ",
        &["ops_", "eyJ"],
        "«an:250»",
        "\n",
    );
    add("fly-token", "fly ", &["fo", "1_"], "«an:43»", "\n");
    add(
        "jwt",
        "Cookie: session=",
        &["ey", "J"],
        "hbGciOiJIUzI1NiJ9.eyJ«an:40».«url:43»",
        "; Path=/",
    );
    add(
        "uri-credentials",
        "DATABASE_URL=postgres://svc_app:",
        &[],
        "«an:9»",
        "@db.internal:5432/app\n",
    );
    add(
        "uri-credentials",
        "amqp://mq:",
        &[],
        "«an:8»!",
        "@10.0.0.7/vhost\n",
    );
    add(
        "uri-credentials",
        "redis://:",
        &[],
        "«an:20»",
        "@cache:6379/0\n",
    );
    add(
        "auth-header",
        "curl -H \"Authorization: Bearer ",
        &[],
        "«an:40»",
        "\" https://api.internal/v1\n",
    );
    add(
        "auth-header",
        "Authorization: Basic ",
        &[],
        "«an:30»==",
        "\n",
    );
    add("auth-header", "'x-api-key': '", &[], "«an:32»", "'\n");
    add(
        "secret-assignment",
        "DB_PASSWORD=",
        &[],
        "«al:6»«num:3»!",
        "\n",
    );
    add(
        "secret-assignment",
        "password: \"",
        &[],
        "«al:5»«num:4»",
        "\"\n",
    );
    add(
        "secret-assignment",
        "{\"clientSecret\": \"",
        &[],
        "«an:18»",
        "\"}",
    );
    add(
        "secret-assignment",
        "const API_KEY = '",
        &[],
        "«an:20»",
        "';\n",
    );
    add("secret-assignment", "  auth_token: ", &[], "«an:22»", "\n");
    add(
        "secret-assignment",
        "mysql --password ",
        &[],
        "«al:6»«num:4»",
        " -h db\n",
    );
    add(
        "secret-assignment",
        "os.environ[\"SIGNING_KEY\"] = \"",
        &[],
        "«an:23»",
        "\"\n",
    );
    add("hex-token", "use this one: ", &[], "«hex:32»", "\n");
    add("hex-token", "0000: ", &[], "«HEX:64»", " .\n");
    add("hex-token", "wallet ", &["0x"], "«hex:64»", "\n");
    add(
        "random-token",
        "the old one was ",
        &[],
        "«an:32»",
        " until May\n",
    );
    add("random-token", "blob: ", &[], "«b64:64»", "\n");
    add("random-token", "|", &[], "«al:48»", "|\n");
    cases
}

#[test]
fn every_kind_of_secret_is_caught_where_it_stands_and_never_shown() {
    let cases = secrets();
    let mut missed = Vec::new();
    for case in &cases {
        let text = format!(
            "# Notes\n\nÜber uns.\n{}{}{}",
            case.before, case.secret, case.after
        );
        let at = text.find(&case.secret).unwrap();
        let found = hits("skills/a/references/notes.md", text.as_bytes());
        let right = found
            .iter()
            .any(|hit| hit.rule == case.rule && hit.offset == at && hit.field.is_empty());
        if !right || found.len() != 1 {
            missed.push(format!("{} in {text:?} at {at}: {found:#?}", case.rule));
        }
        for hit in &found {
            // The public prefix at the most: what is left would not help anybody.
            let shown: String = hit.to_string();
            let tail = &case.secret[case.secret.len() - case.secret.len() / 2..];
            assert!(case.secret.len() < 8 || !shown.contains(tail), "{shown}");
        }
    }
    assert!(
        missed.is_empty(),
        "{} of {} missed:\n{}",
        missed.len(),
        cases.len(),
        missed.join("\n")
    );
    let covered: BTreeSet<&str> = cases.iter().map(|case| case.rule).collect();
    let elsewhere = ["repository-name", "opaque-file"];
    for (rule, _) in rules().filter(|(rule, _)| !elsewhere.contains(rule)) {
        assert!(covered.contains(rule), "no secret of the rule {rule}");
    }
    assert!(cases.len() >= 40, "{}", cases.len());
    println!(
        "scrub gate: {} of {} secrets caught",
        cases.len(),
        cases.len()
    );
}

/// The harmless texts: a file's name, then the text, up to the next name. `«hex:40»` stands for so much noise.
fn harmless() -> Vec<(String, String)> {
    let mut noise = Noise::new(7);
    include_str!("support/harmless.txt")
        .split("\n%%%% ")
        .skip(1)
        .map(|part| {
            let (name, text) = part.split_once('\n').expect("a name and a text");
            (name.trim().to_owned(), noise.fill(text))
        })
        .collect()
}

#[test]
fn harmless_texts_pass() {
    let texts = harmless();
    let mut wrong = Vec::new();
    for (name, text) in &texts {
        let found = hits(name, text.as_bytes());
        if !found.is_empty() {
            wrong.push(format!("{name}: {text:?}: {found:#?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        texts.len(),
        wrong.join("\n")
    );
    assert!(texts.len() >= 200, "{}", texts.len());
    println!(
        "scrub gate: {} of {} harmless texts passed",
        texts.len(),
        texts.len()
    );
}

/// Noise seldom reads like words: how much of it is seen as what it is, by kind.
#[test]
fn random_tokens_are_told_from_identifiers() {
    let mut noise = Noise::new(99);
    for (kind, least) in [
        ("an:32", 97),
        ("an:40", 98),
        ("b64:40", 98),
        ("url:43", 98),
        ("b64:64", 99),
        ("al:48", 98),
        ("hex:32", 99),
        ("hex:64", 99),
    ] {
        let rounds = 1_000;
        let caught = (0..rounds)
            .filter(|_| {
                let text = format!("it was {} then\n", noise.fill(&format!("«{kind}»")));
                !hits("notes.md", text.as_bytes()).is_empty()
            })
            .count();
        println!("scrub gate: {caught} of {rounds} of the kind {kind} caught");
        assert!(
            caught * 100 >= rounds * least,
            "{kind}: {caught} of {rounds}"
        );
    }
}

/// Looks through a folder of one's own: `ACX_SCRUB=DIR cargo test --test scrub -- --ignored --nocapture`.
#[test]
#[ignore = "reads the folder that ACX_SCRUB names"]
fn measure() {
    let folder = std::env::var_os("ACX_SCRUB").expect("ACX_SCRUB names a folder");
    let (mut files, mut bytes) = (0, 0);
    let start = std::time::Instant::now();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.unwrap();
        let Ok(data) = std::fs::read(entry.path()) else {
            continue;
        };
        files += 1;
        bytes += data.len();
        let name = entry.file_name().to_string_lossy().into_owned();
        for hit in hits(&name, &data) {
            let end = (hit.offset + 90).min(data.len());
            let from = hit.offset.saturating_sub(40);
            println!(
                "{} {name}:{} {:?}",
                hit.rule,
                hit.offset,
                String::from_utf8_lossy(&data[from..end])
            );
        }
    }
    println!("{files} files, {bytes} bytes, {:?}", start.elapsed());
}
