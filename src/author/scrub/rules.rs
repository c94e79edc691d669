//! What credentials look like: one line a kind.
//!
//! The forms are facts about the services' tokens, gathered from the gitleaks rule set (its default configuration of
//! 2025, MIT licence) and stated anew for an engine whose time is linear in the text. A rule runs only where one of
//! its keywords is.

/// One form of secret.
pub struct Rule {
    /// The rule's stable id.
    pub id: &'static str,
    /// What it is, as a noun phrase.
    pub what: &'static str,
    /// A rule is tried only in a text that has one of these, in lower case, whatever the text's case is.
    pub(super) keywords: &'static [&'static str],
    /// The form. The group `s`, or else the whole match, is the secret.
    pub(super) pattern: &'static str,
    /// Bytes of the secret that are its public prefix and may be shown.
    pub(super) shown: usize,
}

const fn rule(
    id: &'static str,
    what: &'static str,
    keywords: &'static [&'static str],
    pattern: &'static str,
    shown: usize,
) -> Rule {
    Rule {
        id,
        what,
        keywords,
        pattern,
        shown,
    }
}

/// Forms that say by themselves what they are. An earlier rule's hit hides a later one's at the same place.
#[rustfmt::skip]
pub static FORMS: &[Rule] = &[
    rule("private-key", "a private key", &["private key"], r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----", 0),
    rule("putty-key", "a PuTTY private key", &["putty-user-key-file"], r"PuTTY-User-Key-File-\d: \S+", 19),
    rule("age-key", "an age secret key", &["age-secret-key-1"], r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}", 16),
    rule("aws-access-key", "an AWS access key id", &["akia", "asia", "abia", "acca", "a3t"], r"\b(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b", 4),
    rule("alibaba-access-key", "an Alibaba Cloud access key id", &["ltai"], r"\bLTAI[A-Za-z0-9]{20}\b", 4),
    rule("anthropic-key", "an Anthropic API key", &["sk-ant-"], r"\bsk-ant-[a-z]{2,8}\d{2}-[A-Za-z0-9_-]{60,}", 7),
    rule("openai-key", "an OpenAI API key", &["t3blbkfj"], r"\bsk-[A-Za-z0-9_-]{10,}T3BlbkFJ[A-Za-z0-9_-]{10,}", 3),
    rule("github-token", "a GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], r"(?:\bgh[pousr]_[0-9A-Za-z]{36,255}|\bgithub_pat_\w{36,255})", 4),
    rule("gitlab-token", "a GitLab token", &["glpat-", "glptt-", "gldt-", "glrt-", "gloas-", "glft-", "glimt-", "glagent-", "glsoat-", "glcbt-", "glffct-", "gr1348941"], r"\b(?:gl(?:pat|ptt|dt|rt|oas|ft|imt|agent|soat|cbt|ffct)-[0-9A-Za-z_.-]{20,}|GR1348941[\w-]{20,})", 5),
    rule("slack-token", "a Slack token", &["xoxa-", "xoxb-", "xoxe", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"], r"\b(?:xox[a-es]|xox[pr]|xapp)(?:\.xox[bp])?-[0-9A-Za-z%-]{10,}", 4),
    rule("slack-webhook", "a Slack webhook", &["hooks.slack.com"], r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9+/]{30,})", 0),
    rule("discord-webhook", "a Discord webhook", &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/\d{15,21}/(?P<s>[\w-]{50,})", 0),
    rule("google-key", "a Google API key", &["aiza"], r"\bAIza[0-9A-Za-z_-]{35}", 4),
    rule("google-oauth-secret", "a Google OAuth client secret", &["gocspx-"], r"\bGOCSPX-[0-9A-Za-z_-]{20,}", 7),
    rule("google-oauth-token", "a Google OAuth token", &["ya29."], r"\bya29\.[0-9A-Za-z_-]{30,}", 5),
    rule("azure-client-secret", "an Azure client secret", &["q~"], r"\b(?P<s>[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34})", 0),
    rule("azure-storage-key", "an Azure storage or service bus key", &["accountkey=", "sharedaccesskey="], r"(?i:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/]{40,}={0,2})", 0),
    rule("azure-sas", "an Azure shared access signature", &["sig="], r"[?&]sig=(?P<s>[A-Za-z0-9%+/]{40,}(?:%3D|=)?)", 0),
    rule("digitalocean-token", "a DigitalOcean token", &["doo_v1_", "dop_v1_", "dor_v1_"], r"\bdo[opr]_v1_[a-f0-9]{64}\b", 7),
    rule("cloudflare-key", "a Cloudflare origin key", &["v1.0-"], r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b", 5),
    rule("stripe-key", "a Stripe key", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_", "whsec_"], r"\b(?:[sr]k_(?:live|test|prod)_[0-9A-Za-z]{10,99}|whsec_[0-9A-Za-z+/=]{24,})", 8),
    rule("square-token", "a Square token", &["sq0", "eaaa"], r"\b(?:sq0[a-z]{3}-[0-9A-Za-z_-]{22,60}|EAAA[0-9A-Za-z_-]{60})\b", 4),
    rule("shopify-token", "a Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b", 6),
    rule("npm-token", "an npm token", &["npm_"], r"\bnpm_[0-9A-Za-z]{36}\b", 4),
    rule("pypi-token", "a PyPI token", &["pypi-ageicg", "pypi-ageichlwas"], r"\bpypi-AgEI[0-9A-Za-z_-]{50,}", 5),
    rule("crates-token", "a token of the Rust package registry", &["cio"], r"\bcio[0-9A-Za-z]{32}\b", 3),
    rule("rubygems-token", "a RubyGems token", &["rubygems_"], r"\brubygems_[a-f0-9]{48}\b", 9),
    rule("nuget-key", "a NuGet key", &["oy2"], r"\boy2[a-z0-9]{43}\b", 3),
    rule("docker-token", "a Docker Hub token", &["dckr_pat_", "dckr_oat_"], r"\bdckr_[po]at_[0-9A-Za-z_-]{27,}", 9),
    rule("artifactory-token", "an Artifactory token", &["akcp", "cmvmd"], r"\b(?:AKCp[0-9A-Za-z]{60,}|cmVmd[0-9A-Za-z]{59})\b", 4),
    rule("huggingface-token", "a Hugging Face token", &["hf_", "api_org_"], r"\b(?:hf_|api_org_)[A-Za-z0-9]{34,}\b", 3),
    rule("replicate-token", "a Replicate token", &["r8_"], r"\br8_[0-9A-Za-z]{37}\b", 3),
    rule("groq-key", "a Groq key", &["gsk_"], r"\bgsk_[0-9A-Za-z]{48,}\b", 4),
    rule("xai-key", "an xAI key", &["xai-"], r"\bxai-[0-9A-Za-z]{60,}\b", 4),
    rule("perplexity-key", "a Perplexity key", &["pplx-"], r"\bpplx-[0-9A-Za-z]{40,}\b", 5),
    rule("sendgrid-key", "a SendGrid key", &["sg."], r"\bSG\.[0-9A-Za-z_-]{16,32}\.[0-9A-Za-z_-]{16,64}", 3),
    rule("mailgun-key", "a Mailgun key", &["key-"], r"\bkey-[0-9a-f]{32}\b", 4),
    rule("mailchimp-key", "a Mailchimp key", &["-us"], r"\b[0-9a-f]{32}-us\d{1,2}\b", 0),
    rule("twilio-key", "a Twilio key", &["sk"], r"\bSK[0-9a-fA-F]{32}\b", 2),
    rule("telegram-token", "a Telegram bot token", &[":aa"], r"\b\d{6,12}:AA[0-9A-Za-z_-]{32,34}", 0),
    rule("discord-token", "a Discord bot token", &["."], r"\b[MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6}\.[0-9A-Za-z_-]{27,40}\b", 0),
    rule("vault-token", "a HashiCorp Vault token", &["hvs.", "hvb.", "hvr."], r"\bhv[sbr]\.[0-9A-Za-z_-]{24,}", 4),
    rule("terraform-token", "a Terraform token", &[".atlasv1."], r"\b[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{50,}", 0),
    rule("heroku-key", "a Heroku key", &["hrku-aa"], r"\bHRKU-AA[0-9A-Za-z_-]{50,}", 7),
    rule("databricks-token", "a Databricks token", &["dapi"], r"\bdapi[a-f0-9]{32}(?:-\d)?\b", 4),
    rule("grafana-token", "a Grafana token", &["glsa_", "glc_"], r"\b(?:glsa_[0-9A-Za-z]{32}_[A-Fa-f0-9]{8}|glc_[0-9A-Za-z+/]{32,400}={0,3})", 4),
    rule("newrelic-key", "a New Relic key", &["nrak-", "nriq-", "nrjs-", "nrii-"], r"\bNR(?:AK|IQ|JS|II)-[0-9A-Za-z_-]{19,36}", 5),
    rule("sentry-token", "a Sentry token", &["sntrys_", "sntryu_"], r"\bsntry[su]_[0-9A-Za-z+/=_]{40,}", 7),
    rule("linear-key", "a Linear key", &["lin_api_", "lin_oauth_"], r"\blin_(?:api|oauth)_[0-9A-Za-z]{40,64}\b", 8),
    rule("notion-token", "a Notion token", &["ntn_", "secret_"], r"\b(?:ntn_[0-9A-Za-z]{40,}|secret_[0-9A-Za-z]{43})\b", 4),
    rule("figma-token", "a Figma token", &["figd_"], r"\bfigd_[0-9A-Za-z_-]{38,}", 5),
    rule("airtable-token", "an Airtable token", &["pat"], r"\bpat[0-9A-Za-z]{14}\.[a-f0-9]{64}\b", 3),
    rule("atlassian-token", "an Atlassian token", &["atatt3", "atctt3"], r"\bAT[AC]TT3[0-9A-Za-z_=-]{60,}", 6),
    rule("postman-key", "a Postman key", &["pmak-"], r"\bPMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}\b", 5),
    rule("planetscale-token", "a PlanetScale token", &["pscale_"], r"\bpscale_(?:tkn|pw|oauth)_[0-9A-Za-z_.=-]{32,64}", 7),
    rule("supabase-token", "a Supabase token", &["sbp_", "sb_secret_"], r"\b(?:sbp_[a-f0-9]{40}|sb_secret_[0-9A-Za-z_-]{30,})", 4),
    rule("doppler-token", "a Doppler token", &["dp."], r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[0-9A-Za-z._-]{40,}", 6),
    rule("onepassword-token", "a 1Password token", &["ops_eyj"], r"\bops_eyJ[0-9A-Za-z+/]{100,}={0,3}", 4),
    rule("fly-token", "a Fly.io token", &["flyv1 ", "fo1_"], r"\b(?:FlyV1 fm\d[a-z]_[0-9A-Za-z+/=,_-]{60,}|fo1_[\w-]{43})", 4),
    rule("jwt", "a JSON Web Token", &["ey"], r"\bey[0-9A-Za-z_-]{10,}\.ey[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}", 2),
    rule("uri-credentials", "a password in a URI", &["://"], r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@'<>`?#\x22]{0,128}:(?P<s>[^\s/@'<>`\x22]{3,128})@[A-Za-z0-9\[]", 0),
    rule("auth-header", "credentials in a request header", &["basic", "bearer", "x-api-key", "authorization"], r"(?i)\b(?:authorization|x-api-key|proxy-authorization)['\x22]?\s{0,3}[:=,]\s{0,3}['\x22]?(?:(?:basic|bearer|token)\s{1,3})?(?P<s>[A-Za-z0-9+/=_.~-]{16,})", 0),
];

/// The id of the rule for assignments to a name that says "secret".
pub const ASSIGNMENT: &str = "secret-assignment";
/// The id of the rule for long hexadecimal tokens.
pub const HEX: &str = "hex-token";
/// The id of the rule for tokens that look random.
pub const RANDOM: &str = "random-token";
/// The id of the rule for names of repositories.
pub const REPOSITORY: &str = "repository-name";
/// The id of the rule for files that are secrets by their names.
pub const FILE_NAME: &str = "secret-file";
/// The id of the rule for what cannot be looked into.
pub const OPAQUE: &str = "opaque-file";
/// The id of the warning about folders of one user.
pub const HOME: &str = "home-path";

/// Every rule that blocks an export, with what it finds.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rest = [
        (ASSIGNMENT, "a value for a name that says \"secret\""),
        (
            HEX,
            "a long hexadecimal token that nothing names as a digest",
        ),
        (RANDOM, "a long token that looks random"),
        (
            REPOSITORY,
            "the name of a repository that a record was learned in",
        ),
        (FILE_NAME, "a file that is a secret by its name"),
        (OPAQUE, "a file that cannot be looked into"),
    ];
    FORMS.iter().map(|rule| (rule.id, rule.what)).chain(rest)
}
