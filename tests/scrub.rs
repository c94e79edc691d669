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

use acx_registry::attest::PrivateKey;
use acx_registry::author::scrub::{Hit, Scrubber, rules};
use acx_registry::author::{ExportError, ExportOptions, Exported, Package, export};
use acx_registry::model::{PublisherId, Timestamp};
use support::noise::Noise;
use support::package::Folder;

/// The README tells the figures.
fn readme_says(words: &str) {
    let readme = include_str!("../README.md").replace('\n', " ");
    assert!(readme.contains(words), "README.md: expected {words:?}");
}

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
    add(
        "secret-assignment",
        "password = \"",
        &[],
        "hun«al:1»ter«num:1»",
        "\"\n",
    );
    add(
        "secret-assignment",
        "SECRET_KEY_BASE=",
        &[],
        "«hex:16»q«num:8»Z",
        "\n",
    );
    add(
        "secret-assignment",
        "DB_PASSWORD_PROD: ",
        &[],
        "«al:8»«num:3»",
        "\n",
    );
    add(
        "secret-assignment",
        "<password>",
        &[],
        "«al:6»«num:2»!",
        "</password>\n",
    );
    add(
        "secret-assignment",
        "Server=db;User Id=sa;Password=",
        &[],
        "«al:5»«num:3»!",
        ";Encrypt=true\n",
    );
    add("secret-assignment", "_authToken=", &[], "«an:24»", "\n");
    add(
        "secret-assignment",
        "stringData:\n  api-token: \"",
        &[],
        "«an:16»",
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
    let elsewhere = ["repository-name", "opaque-file", "secret-file"];
    for (rule, _) in rules().filter(|(rule, _)| !elsewhere.contains(rule)) {
        assert!(covered.contains(rule), "no secret of the rule {rule}");
    }
    assert!(cases.len() >= 40, "{}", cases.len());
    readme_says(&format!("{0} of {0} secrets are caught", cases.len()));
    println!(
        "scrub gate: {} of {} secrets caught",
        cases.len(),
        cases.len()
    );
}

#[test]
fn its_rules_are_none_of_the_gates() {
    for (rule, _) in rules() {
        assert!(acx_registry::check::rule(rule).is_none(), "{rule}");
    }
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
    readme_says(&format!("{0} of {0} harmless texts pass", texts.len()));
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

/// A package with one more file, or with a changed one.
fn export_of(edit: impl FnOnce(&mut Folder)) -> Result<Exported, ExportError> {
    let mut folder = Folder::whole();
    edit(&mut folder);
    let key = PrivateKey::from_seed(&[7; 32]).unwrap();
    let now = Timestamp::try_from("2026-09-01T00:00:00Z").unwrap();
    let publisher = PublisherId::try_from("io.github.ridgeworks").unwrap();
    export(
        &Package::of_files(folder.0),
        &ExportOptions {
            publisher: &publisher,
            key: &key,
            now: &now,
            id: None,
            version: None,
            include_field_learned: false,
            salt: None,
        },
    )
}

fn secrets_of(edit: impl FnOnce(&mut Folder)) -> Vec<(String, String, usize, &'static str)> {
    match export_of(edit) {
        Err(ExportError::Secrets(hits)) => hits
            .into_iter()
            .map(|h| (h.file, h.field, h.offset, h.rule))
            .collect(),
        other => panic!("{other:?}"),
    }
}

fn token() -> String {
    format!("{}{}", ["gh", "p_"].concat(), Noise::new(5).fill("«an:36»"))
}

fn at(
    file: &str,
    field: &str,
    offset: usize,
    rule: &'static str,
) -> (String, String, usize, &'static str) {
    (file.to_owned(), field.to_owned(), offset, rule)
}

#[test]
fn every_part_of_a_package_is_looked_through() {
    let token = token();
    let rule = "github-token";
    assert_eq!(
        secrets_of(|f| drop(f.0.insert("STYLE.md".into(), format!("x {token}\n").into()))),
        [at("STYLE.md", "", 2, rule)]
    );
    assert_eq!(
        secrets_of(|f| drop(f.0.insert(
            "skills/pipelines/assets/a.bin".into(),
            [b"\xff\xfe\x00"[1..].to_vec(), token.clone().into()].concat()
        ))),
        [at("skills/pipelines/assets/a.bin", "", 2, rule)]
    );
    for (field, offset) in [("title", 0), ("summary", 3), ("sourceType", 0), ("id", 0)] {
        let found = secrets_of(|f| {
            f.edit("memory-records.json", |r| {
                r[1][field] = format!("{}{token}", &"ab "[..offset]).into()
            });
        });
        // Where the place itself is named by the secret, its name is hidden as well.
        let id = if field == "id" {
            "‹40 bytes hidden›"
        } else {
            "m1"
        };
        assert!(
            found.contains(&at(
                "memory-records.json",
                &format!("{id}/{field}"),
                offset,
                rule
            )),
            "{found:?}"
        );
    }
    assert_eq!(
        secrets_of(|f| {
            f.edit("memory-records.json", |r| {
                r[1]["tags"][1] = token.clone().into()
            });
        }),
        [at("memory-records.json", "m1/tags/1", 0, rule)]
    );
    for (field, key) in [
        ("name", "acx.agent_name"),
        ("model", "acx.model"),
        ("description", "acx.description"),
    ] {
        let found = secrets_of(|f| {
            f.edit("manifest.json", |m| {
                m["artifactId"] = "ada".into();
                m[field] = format!("key {token}").into();
            });
        });
        assert_eq!(found, [at("manifest.json", key, 4, rule)], "{field}");
    }
    assert_eq!(
        secrets_of(|f| {
            f.edit("manifest.json", |m| {
                m["originInstanceId"] = token.clone().into()
            });
        }),
        [at("manifest.json", "originInstanceId", 0, rule)]
    );
    let mut harness = support::documents::harness();
    harness["env"] = serde_json::json!({"GITHUB": token});
    let text = serde_json::to_vec_pretty(&harness).unwrap();
    let offset = String::from_utf8(text.clone())
        .unwrap()
        .find(&token)
        .unwrap();
    assert_eq!(
        secrets_of(|f| {
            f.put("harness-requirements.json", text);
        }),
        [at("harness-requirements.json", "", offset, rule)]
    );
    // A file that is a secret by its name, whatever is in it.
    let name = "skills/pipelines/assets/deploy.key.pem";
    assert_eq!(
        secrets_of(|f| {
            f.put(name, "x");
        }),
        [at(name, "file name", 24, "secret-file")]
    );
    // A name of a file is published, too.
    let name = format!("skills/pipelines/assets/{token}");
    assert_eq!(
        secrets_of(|f| {
            f.put(&name, "x");
        }),
        [at(
            "skills/pipelines/assets/‹40 bytes hidden›",
            "file name",
            24,
            rule
        )]
    );
}

#[test]
fn text_in_an_old_encoding_is_text() {
    let token = Noise::new(6).fill("«an:32»");
    let mut text = b"Gr\xfc\xdfe: ".to_vec();
    let offset = text.len();
    text.extend(token.as_bytes());
    let found = hits("a.txt", &text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].rule, found[0].offset), ("random-token", offset));
    // Data that is no text is full of such tokens.
    text.push(0);
    assert!(hits("a.bin", &text).is_empty());
}

#[test]
fn names_of_repositories_are_told_nowhere() {
    let found = secrets_of(|f| {
        f.put("STYLE.md", "As in Ridgeworks/Lakehouse-Prod, see there.\n");
        f.edit("memory-records.json", |r| {
            r[0]["summary"] = "Seen in ridgeworks/lakehouse-prod.".into()
        });
    });
    assert_eq!(
        found,
        [
            at("STYLE.md", "", 6, "repository-name"),
            at("memory-records.json", "m2/summary", 8, "repository-name"),
        ]
    );
    // A label that looks like one, of a record that is exported.
    let found = secrets_of(|f| {
        f.edit("memory-records.json", |r| {
            r[1]["projectLabel"] = "acme/pay".into();
            r[1]["summary"] = "acme/payments is another, acme/pay is meant".into();
        });
    });
    assert_eq!(
        found,
        [at(
            "memory-records.json",
            "m1/summary",
            26,
            "repository-name"
        )]
    );
    // However the repository is named there: as an address, as its owner and name, as a label.
    let found = secrets_of(|f| {
        f.edit("memory-records.json", |r| {
            r[2]["repoId"] = "git@git.example.org:Ridge/Lake.git".into();
            r[2]["projectLabel"] = "lake-prod".into();
        });
        f.put(
            "STYLE.md",
            "a https://git.example.org/ridge/lake b\nridge/lake, lake-prod\nlake is a word\n",
        );
    });
    assert_eq!(
        found,
        [
            at("STYLE.md", "", 10, "repository-name"),
            at("STYLE.md", "", 39, "repository-name"),
            at("STYLE.md", "", 51, "repository-name"),
        ]
    );
    // A plain word may be a word.
    let exported = export_of(|f| {
        f.edit("memory-records.json", |r| {
            r[2]["repoId"] = "backfill".into()
        });
    })
    .unwrap();
    assert!(
        exported.notes.iter().any(|n| n.contains("repository-name")),
        "{:?}",
        exported.notes
    );
}

#[test]
fn what_cannot_be_looked_into_is_stopped() {
    for (head, what) in [
        (&b"PK\x03\x04rest"[..], "ZIP"),
        (b"\x1f\x8b\x08", "gzip"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\xff\xfea\0", "UTF-16"),
    ] {
        match export_of(|f| {
            f.put("skills/pipelines/assets/x", head);
        }) {
            Err(ExportError::Secrets(hits)) => {
                assert_eq!((hits.len(), hits[0].rule), (1, "opaque-file"));
                assert!(hits[0].sample.contains(what), "{hits:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn folders_of_one_user_are_a_warning() {
    let exported = export_of(|f| {
        f.put(
            "STYLE.md",
            "Keep it in /home/ada.ridge/notes or C:\\Users\\ada\\notes, not in /home/user/notes.\n",
        );
    })
    .unwrap();
    let found: Vec<&String> = exported
        .notes
        .iter()
        .filter(|n| n.contains("home-path"))
        .collect();
    assert_eq!(found.len(), 2, "{:?}", exported.notes);
    assert!(
        found[0].contains("STYLE.md, byte 11") && !found[0].contains("ada.ridge"),
        "{found:?}"
    );
}

#[test]
fn an_allowance_needs_a_rule_a_file_a_reason_and_something_to_allow() {
    let token = token();
    let text = format!("x {token}\n");
    let allow = |toml: &str| {
        let toml = toml.to_owned();
        export_of(|f| {
            f.put("STYLE.md", text.clone())
                .put("scrub-allow.toml", toml);
        })
    };
    let good = "[[allow]]\nrule = \"github-token\"\nfile = \"STYLE.md\"\nreason = \"A revoked token, kept as an example.\"\n";
    let exported = allow(good).unwrap();
    assert!(
        exported
            .notes
            .iter()
            .any(|n| n.contains("1 hits") && n.contains("scrub-allow.toml")),
        "{:?}",
        exported.notes
    );
    assert!(
        exported
            .files
            .iter()
            .all(|(name, _)| !name.contains("scrub-allow"))
    );
    let sampled = format!("{good}sample = \"ghp_‹36 bytes hidden›\"\n");
    assert!(allow(&sampled).is_ok());
    for (toml, field, says) in [
        (
            good.replace("github-token", "github-tokens"),
            "/allow/0/rule",
            "is \"github-token\" meant?",
        ),
        (
            good.replace("STYLE.md", "SKILLS.md"),
            "/allow/0/file",
            "allows nothing",
        ),
        (
            good.replace("A revoked token, kept as an example.", "ok"),
            "/allow/0/reason",
            "10 to 1000",
        ),
        (
            format!("{good}sample = \"ghp_‹35 bytes hidden›\"\n"),
            "/allow/0/file",
            "allows nothing",
        ),
        (
            format!("{good}{}", good.replace("STYLE.md", "IDENTITY.md")),
            "/allow/1/file",
            "allows nothing",
        ),
        (
            good.replace("reason", "because"),
            "",
            "expected [[allow]] tables",
        ),
        ("allow = 1".to_owned(), "", "expected [[allow]] tables"),
    ] {
        match allow(&toml) {
            Err(ExportError::Package(problems)) => {
                assert_eq!(problems.len(), 1, "{problems:?}");
                assert_eq!(
                    (problems[0].file.as_str(), problems[0].field.as_str()),
                    ("scrub-allow.toml", field)
                );
                assert!(problems[0].message.contains(says), "{problems:?}");
            }
            other => panic!("{toml}: {other:?}"),
        }
    }
    // Without secrets an allowance waits for the next one, so it is an error too.
    match export_of(|f| {
        f.put("scrub-allow.toml", good);
    }) {
        Err(ExportError::Package(problems)) => {
            assert!(problems[0].message.contains("allows nothing"))
        }
        other => panic!("{other:?}"),
    }
    // No allowance lets a key through that the gate refuses.
    let pem = format!(
        "{}\n{}\n",
        ["-----BEGIN ", "PRIVATE KEY-----"].concat(),
        Noise::new(3).fill("«b64:64»")
    );
    let all = "[[allow]]\nrule = \"private-key\"\nfile = \"STYLE.md\"\nreason = \"I want it there.\"\n\
               [[allow]]\nrule = \"random-token\"\nfile = \"STYLE.md\"\nreason = \"I want it there.\"\n";
    match export_of(|f| {
        f.put("STYLE.md", pem).put("scrub-allow.toml", all);
    }) {
        Err(ExportError::Gate(findings)) => {
            assert!(findings.iter().all(|f| f.code == "cartridge-secret"))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_hostile_text_takes_no_longer_than_its_length() {
    let start = std::time::Instant::now();
    let keys = format!("{}{} ", ["AK", "IA"].concat(), "QWERTYUIOPASDFGH");
    for text in [
        "a".repeat(1 << 20),
        "password".repeat(128 << 10),
        "token=".repeat(128 << 10),
        "-----BEGIN CERTIFICATE".repeat(32 << 10),
        "://".repeat(16 << 10),
        "eyJ.".repeat(16 << 10),
        format!("{} ", Noise::new(1).fill("«an:40»")).repeat(16 << 10),
        format!("«{}»", "é".repeat(16 << 10)),
    ] {
        let mut scrubber = Scrubber::default();
        scrubber.file("x.md", text.as_bytes());
        let _ = scrubber.finish();
    }
    // More hits than can be listed are no hits that pass.
    let mut scrubber = Scrubber::default();
    scrubber.file("x.md", keys.repeat(20_000).as_bytes());
    assert!(
        scrubber
            .finish()
            .unwrap_err()
            .message
            .contains("more than 10000 places")
    );
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
