//! The pages. All of them stand without a script: it only adds search, the choice of light or dark, and copying.

use super::card::{Card, WORD, cards, kind};
use super::html::Html;
use super::{CARDS, Cartridge, HISTORY, SEARCHED, Shown, Site, Versions, numbered, slug};
use crate::level::Credential;
use crate::model::{ArtifactType, Json, Trust, cut};
use crate::project::{CartridgeEntry, Proofs, TemplateEntry, VerificationState};
use crate::publish::KeySource;
use crate::report::shell_word;

/// Nothing is loaded but the site's own style, scripts and icon, nothing is sent anywhere, and no script or style may
/// stand in a page. Browsers let `'self'` match the files beside a page that was opened from a file.
const SECURITY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                        base-uri 'none'; form-action 'none'";

/// Letters of a description that are shown; nobody reads more, and an index may hold a megabyte.
pub(super) const DESCRIPTION: usize = 20_000;

/// Letters of a reason or another short text.
pub(super) const SENTENCE: usize = 2_000;

/// Items of any one list of a cartridge that are shown.
pub(super) const LISTED: usize = 200;

/// Versions that a version's page names.
const NEIGHBOURS: usize = 10;

/// Task types on a card.
const CHIPS: usize = 4;

/// A frame around what a page has of its own.
pub(super) struct Frame<'a> {
    pub site: &'a Site,
    /// The way up to the site's folder: nothing, or `../` some times.
    pub up: &'static str,
    pub title: &'a str,
    /// `list`, `registry`, or nothing of both.
    pub here: &'static str,
}

impl Frame<'_> {
    pub fn around(&self, main: Html) -> Html {
        let head = &self.site.head;
        let up = |path: &str| format!("{}{path}", self.up);
        let mut h = Html::default();
        h.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        h.open(
            "meta",
            &[
                ("http-equiv", "Content-Security-Policy"),
                ("content", SECURITY),
            ],
        );
        h.raw("\n<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
        let title = match self.title {
            "" => head.registry_id.clone(),
            title => format!("{title} · {}", head.registry_id),
        };
        h.element("title", &[], &title).raw("\n");
        h.open(
            "link",
            &[
                ("rel", "icon"),
                ("href", &up("assets/icon.svg")),
                ("type", "image/svg+xml"),
            ],
        )
        .raw("\n");
        h.open(
            "link",
            &[("rel", "stylesheet"), ("href", &up("assets/site.css"))],
        )
        .raw("\n");
        h.open("script", &[("src", &up("assets/site.js"))])
            .raw("</script>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");

        h.raw("<header class=\"top\"><div class=\"wrap\">");
        h.open("a", &[("class", "brand"), ("href", &up("index.html"))])
            .raw("<span class=\"mark\" aria-hidden=\"true\"></span>")
            .foreign(&head.registry_id)
            .raw("</a><nav aria-label=\"Site\"><ul>");
        for (name, path, label) in [
            ("list", "index.html", "Catalogue"),
            ("registry", "registry.html", "About this index"),
        ] {
            let path = up(path);
            let mut attributes = vec![("href", path.as_str())];
            if name == self.here {
                attributes.push(("aria-current", "page"));
            }
            h.raw("<li>").element("a", &attributes, label).raw("</li>");
        }
        h.raw("</ul></nav><button type=\"button\" id=\"theme\" hidden></button></div></header>\n");
        vouched(&mut h, head.source);
        h.raw("<main id=\"main\" tabindex=\"-1\" class=\"wrap\">\n");
        h.append(main);
        h.raw("\n</main>\n<footer class=\"wrap\"><p>Made from index ");
        h.text(&head.sequence.to_string())
            .raw(" of <bdi>")
            .text(&head.registry_id)
            .raw("</bdi>, signed at ");
        time(&mut h, head.signed_at.as_str());
        h.raw(". The index is signed; these pages are not. ");
        h.element(
            "a",
            &[("href", &up("registry.html#verify"))],
            "Check it yourself",
        )
        .raw(".</p></footer>\n</body>\n</html>\n");
        h
    }
}

/// Says it where nobody but the registry itself, or nobody at all, vouches for the signer.
fn vouched(h: &mut Html, source: KeySource) {
    match source {
        KeySource::Consumer => {}
        KeySource::OwnPolicy => {
            h.raw("<aside class=\"vouched\" aria-label=\"Who vouches for it\"><p><strong>Self-attested.</strong> It is the registry itself that names the key which signed this index. Compare the key id with one that you got elsewhere.</p></aside>\n");
        }
        KeySource::Nobody => {
            h.raw("<aside class=\"vouched nobody\" aria-label=\"Who vouches for it\"><p><strong>Nobody vouches for this index.</strong> It is signed, but its key was not held against any other, and anyone can sign.</p></aside>\n");
        }
    }
}

pub(super) fn time(h: &mut Html, time: &str) {
    let day = time.split('T').next().unwrap_or(time);
    h.element("time", &[("datetime", time), ("title", time)], day);
}

/// A value to be compared or copied, as code.
pub(super) fn code(h: &mut Html, text: &str) {
    h.element("code", &[], text);
}

/// A trust value, or that there is none: by colour and by word.
pub(super) fn badge(h: &mut Html, name: &str) {
    let class = format!("badge {name}");
    h.element("span", &[("class", &class)], name);
}

/// The word for how an artifact is trusted, and what it means.
fn trust(trust: Trust) -> (&'static str, &'static str) {
    match trust {
        Trust::Trusted | Trust::Local => (
            "trusted",
            "Signed, unchanged since, and by a key that this registry has on record as active and proven for this publisher.",
        ),
        Trust::Portable | Trust::Legacy | Trust::Tampered => (
            "portable",
            "Signed, and unchanged since. Nobody has proven to this registry that the key belongs to this publisher.",
        ),
    }
}

/// A page of the list; the first has the search.
pub fn list(site: &Site, n: usize) -> Html {
    let mut h = Html::default();
    let total = site.cards();
    h.raw("<div class=\"title\"><h1>Agents</h1><p>");
    let counts = site.head.counts;
    plural(&mut h, site.cartridges.len(), "cartridge", "cartridges");
    h.raw(" in ");
    plural(&mut h, counts.cartridges, "version", "versions");
    for (n, one, many) in [
        (site.workflows.len(), "workflow", "workflows"),
        (site.graphs.len(), "Agent Graph", "Agent Graphs"),
        (counts.templates, "template", "templates"),
    ] {
        if n > 0 {
            h.raw(", ");
            plural(&mut h, n, one, many);
        }
    }
    h.raw(if site.workflows.is_empty() && site.graphs.is_empty() {
        ". Every cartridge is signed and was checked by this registry.</p></div>\n"
    } else {
        ". All but templates is signed and was checked by this registry.</p></div>\n"
    });
    if n == 1 {
        let files = total.div_ceil(SEARCHED).to_string();
        let all = total.to_string();
        h.open(
            "form",
            &[
                ("id", "search"),
                ("role", "search"),
                ("data-files", &files),
                ("data-total", &all),
                ("hidden", ""),
            ],
        );
        h.raw(SEARCH);
    }
    h.raw("<div id=\"listed\">\n");
    if total == 0 {
        h.raw("<p class=\"empty\">Nothing is listed yet.</p>\n");
    } else {
        h.raw("<ul class=\"cards\">\n");
        for card in cards(site, (n - 1) * CARDS, CARDS) {
            listed(&mut h, &card);
        }
        h.raw("</ul>\n");
    }
    pager(&mut h, "page", n, site.pages());
    h.raw("</div>");
    let title = match n {
        1 => String::new(),
        n => format!("Page {n}"),
    };
    Frame {
        site,
        up: "",
        title: &title,
        here: "list",
    }
    .around(h)
}

const SEARCH: &str = r#"
<div class="field query"><label for="q">Search</label><input type="search" id="q" name="q" autocomplete="off" spellcheck="false" maxlength="200" placeholder="Name, id, task, tag, publisher"></div>
<div class="filters">
<div class="field"><label for="publisher">Publisher</label><select id="publisher" name="publisher"><option value="">Any</option></select></div>
<div class="field"><label for="task">Task</label><select id="task" name="task"><option value="">Any</option></select></div>
<div class="field"><label for="tag">Tag</label><select id="tag" name="tag"><option value="">Any</option></select></div>
<div class="field"><label for="trust">Trust</label><select id="trust" name="trust"><option value="">Any</option></select></div>
<div class="field"><label for="status">Status</label><select id="status" name="status"><option value="">Any</option></select></div>
<div class="field"><label for="kind">Kind</label><select id="kind" name="kind"><option value="">Any</option></select></div>
</div>
<div class="outcome"><p id="count" role="status" aria-live="polite"></p><button type="reset" id="clear" hidden>Clear</button></div>
</form>
<section id="found" aria-label="What was found" hidden><ul class="cards"></ul><button type="button" id="more" hidden>Show more</button></section>
"#;

pub(super) fn plural(h: &mut Html, n: usize, one: &'static str, many: &'static str) {
    h.text(&grouped(n as u64))
        .raw(" ")
        .raw(if n == 1 { one } else { many });
}

/// `12,345`
pub(super) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A card, as the script builds it too.
fn listed(h: &mut Html, card: &Card) {
    let class = format!("card {}", card.trust);
    h.raw("<li>")
        .open("article", &[("class", &class)])
        .raw("<div class=\"head\"><h2>");
    h.open("a", &[("href", &card.href)])
        .foreign(&card.name)
        .raw("</a></h2>");
    if !card.version.is_empty() {
        h.element("span", &[("class", "version")], &card.version);
    }
    h.raw("</div><p class=\"coordinate\"><bdi>")
        .text(&card.publisher)
        .raw("/<wbr>")
        .text(&card.id)
        .raw("</bdi></p><p class=\"about\"><bdi>")
        .text(&card.description)
        .raw("</bdi></p>");
    if !card.capabilities.is_empty() {
        h.raw("<ul class=\"chips\" aria-label=\"Claimed capabilities\">");
        for task in card.capabilities.iter().take(CHIPS) {
            h.raw("<li>").foreign(&cut(task, 32)).raw("</li>");
        }
        let hidden = card.capabilities.len().saturating_sub(CHIPS);
        if hidden > 0 {
            h.element("li", &[("class", "rest")], &format!("+{hidden}"));
        }
        h.raw("</ul>");
    }
    h.raw("<p class=\"foot\">");
    badge(h, card.trust);
    if card.status != "active" {
        h.raw(" ");
        badge(h, &card.status);
    }
    if card.kind != "cartridge" {
        h.raw(" ")
            .element("span", &[("class", "badge kind")], card.kind);
    }
    if !card.keyid.is_empty() {
        h.raw(" ").element(
            "code",
            &[("class", "key"), ("title", &card.keyid)],
            &short_key(&card.keyid),
        );
    }
    h.raw("</p></article></li>\n");
}

/// The beginning of a key id; the whole stands on the artifact's page.
fn short_key(keyid: &str) -> String {
    let hex = keyid.trim_start_matches("ed25519:");
    format!("key {}…", hex.chars().take(12).collect::<String>())
}

/// Links to the other pages of a list: the first, the last and those around this one.
fn pager(h: &mut Html, more: &'static str, n: usize, last: usize) {
    if last < 2 {
        return;
    }
    let href = |n: usize| numbered("index", more, n);
    h.raw("<nav class=\"pager\" aria-label=\"Pages\"><ul>");
    if n > 1 {
        h.raw("<li>")
            .element("a", &[("href", &href(n - 1)), ("rel", "prev")], "Previous")
            .raw("</li>");
    }
    let near = |page: usize| page == 1 || page == last || page.abs_diff(n) <= 2;
    let mut before = 0;
    let around = n.saturating_sub(2)..=n.saturating_add(2).min(last);
    let pages = [1].into_iter().chain(around).chain([last]);
    for page in pages.filter(|p| *p > 0 && near(*p)) {
        if page <= before {
            continue;
        }
        if page > before + 1 {
            h.raw("<li aria-hidden=\"true\">…</li>");
        }
        before = page;
        let label = format!("Page {page}");
        let href = href(page);
        let mut attributes = vec![("href", href.as_str()), ("aria-label", label.as_str())];
        if page == n {
            attributes.push(("aria-current", "page"));
        }
        h.raw("<li>")
            .element("a", &attributes, &page.to_string())
            .raw("</li>");
    }
    if n < last {
        h.raw("<li>")
            .element("a", &[("href", &href(n + 1)), ("rel", "next")], "Next")
            .raw("</li>");
    }
    h.raw("</ul></nav>\n");
}

/// The page of a cartridge: the version to take and the history, or more of the history.
pub fn cartridge(site: &Site, cartridge: &Cartridge, n: usize) -> Html {
    artifact(site, cartridge, n, |h, entry| {
        details(h, site, cartridge, entry)
    })
}

/// The page of one version of a cartridge.
pub fn version(site: &Site, cartridge: &Cartridge, entry: &CartridgeEntry) -> Html {
    one_version(site, cartridge, entry, |h| {
        details(h, site, cartridge, entry);
    })
}

/// The page of an artifact of any kind: the version to take and the history, or more of the history.
pub(super) fn artifact<E: Shown>(
    site: &Site,
    group: &Versions<E>,
    n: usize,
    details: impl FnOnce(&mut Html, &E),
) -> Html {
    let mut h = Html::default();
    let Some(entry) = group.latest() else {
        return h;
    };
    if n == 1 {
        details(&mut h, entry);
    } else {
        crumbs(&mut h, "../../", entry, Some("index.html"));
        h.raw("<h1>").foreign(&name(entry)).raw("</h1>\n");
    }
    h.raw("<section aria-labelledby=\"history\"><h2 id=\"history\">All versions</h2>\n");
    let versions = group.versions.iter();
    history(
        &mut h,
        group,
        versions.skip((n - 1) * HISTORY).take(HISTORY),
        None,
    );
    pager(&mut h, "versions", n, group.pages());
    h.raw("</section>");
    Frame {
        site,
        up: "../../",
        title: &name(entry),
        here: "",
    }
    .around(h)
}

/// The page of one version of an artifact of any kind.
pub(super) fn one_version<E: Shown>(
    site: &Site,
    group: &Versions<E>,
    entry: &E,
    details: impl FnOnce(&mut Html),
) -> Html {
    let mut h = Html::default();
    details(&mut h);
    h.raw("<section aria-labelledby=\"history\"><h2 id=\"history\">Versions</h2>\n");
    let version = entry.head().version;
    let at = group
        .versions
        .iter()
        .position(|v| v.head().version == version)
        .unwrap_or_default();
    let first = at
        .saturating_sub(NEIGHBOURS / 2)
        .min(group.versions.len().saturating_sub(NEIGHBOURS));
    let near = group.versions.iter().skip(first).take(NEIGHBOURS);
    history(&mut h, group, near, Some(entry));
    if group.versions.len() > NEIGHBOURS {
        h.raw("<p><a href=\"index.html#history\">All ")
            .text(&grouped(group.versions.len() as u64))
            .raw(" versions</a></p>");
    }
    h.raw("</section>");
    let title = format!("{} {version}", name(entry));
    Frame {
        site,
        up: "../../",
        title: &title,
        here: "",
    }
    .around(h)
}

fn name(entry: &impl Shown) -> String {
    let name = entry.name().trim();
    if name.is_empty() {
        entry.head().id.to_owned()
    } else {
        cut(name, WORD * 2)
    }
}

fn crumbs(h: &mut Html, up: &'static str, entry: &impl Shown, above: Option<&str>) {
    let head = entry.head();
    h.raw("<nav class=\"crumbs\" aria-label=\"Place\"><ol><li>");
    h.element("a", &[("href", &format!("{up}index.html"))], "Catalogue");
    h.raw("</li><li>");
    // The script reads the filter from the address; without it the whole list is shown.
    let href = format!("{up}index.html#publisher={}", head.publisher);
    h.element("a", &[("href", &href)], head.publisher);
    h.raw("</li><li>");
    match above {
        Some(href) => h.element("a", &[("href", href)], head.id),
        None => h.element("span", &[("aria-current", "page")], head.id),
    };
    h.raw("</li></ol></nav>\n");
}

fn history<'a, E: Shown + 'a>(
    h: &mut Html,
    group: &Versions<E>,
    versions: impl Iterator<Item = &'a E>,
    here: Option<&E>,
) {
    h.raw("<div class=\"scroll\" role=\"region\" aria-label=\"Table of versions\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">Version</th><th scope=\"col\">Signed</th><th scope=\"col\">Trust</th><th scope=\"col\">Status</th><th scope=\"col\">Digest</th><th scope=\"col\">Key</th></tr></thead><tbody>\n");
    let latest = group.latest().map(|entry| entry.head().version);
    let here = here.map(|entry| entry.head().version);
    for entry in versions {
        let head = entry.head();
        let href = slug::file("v", head.version);
        let mut attributes = vec![("href", href.as_str())];
        if here == Some(head.version) {
            attributes.push(("aria-current", "page"));
        }
        h.raw("<tr><th scope=\"row\">")
            .element("a", &attributes, head.version);
        if latest == Some(head.version) {
            h.raw(" <span class=\"badge latest\">latest</span>");
        }
        h.raw("</th><td>");
        time(h, entry.signed_at().as_str());
        h.raw("</td><td>");
        badge(h, trust(head.trust).0);
        h.raw("</td><td>");
        badge(h, &head.registry_status.status);
        h.raw("</td><td>");
        let digest = head.digest.to_string();
        let short: String = digest
            .trim_start_matches("sha256:")
            .chars()
            .take(12)
            .collect();
        h.element("code", &[("title", &digest)], &format!("{short}…"));
        h.raw("</td><td>");
        h.element(
            "code",
            &[("title", head.keyid.as_str())],
            short_key(head.keyid.as_str()).trim_start_matches("key "),
        );
        h.raw("</td></tr>\n");
    }
    h.raw("</tbody></table></div>\n");
}

/// What a page of any kind begins with: the title, the status, and what its publisher says of it.
pub(super) fn intro<E: Shown>(h: &mut Html, site: &Site, group: &Versions<E>, entry: &E) {
    let head = entry.head();
    crumbs(h, "../../", entry, None);
    h.raw("<div class=\"title\"><h1>")
        .foreign(&name(entry))
        .raw(" ");
    h.element("span", &[("class", "version")], head.version)
        .raw("</h1><p class=\"coordinate\"><bdi>")
        .text(head.publisher)
        .raw("/<wbr>")
        .text(head.id)
        .raw("</bdi></p><p class=\"badges\">");
    badge(h, trust(head.trust).0);
    h.raw(" ");
    badge(h, &head.registry_status.status);
    if group.kind != ArtifactType::Agent {
        h.raw(" ")
            .element("span", &[("class", "badge kind")], kind(group.kind));
    }
    if group
        .latest()
        .is_some_and(|latest| latest.head().version == head.version)
    {
        h.raw(" <span class=\"badge latest\">latest</span>");
    }
    h.raw("</p></div>\n");
    status(h, site, entry);
    older(h, group, entry);
    h.raw("<div class=\"lead\">")
        .open("p", &[("dir", "auto")])
        .lines(&cut(entry.description(), DESCRIPTION))
        .raw("</p></div>\n<div class=\"columns\"><div>\n");
}

/// Who signed it, when, and what.
pub(super) fn signature(h: &mut Html, entry: &impl Shown, more: impl FnOnce(&mut Html)) {
    let head = entry.head();
    let (word, meaning) = trust(head.trust);
    h.raw("<section aria-labelledby=\"signature\"><h2 id=\"signature\">Signature</h2><dl>\n");
    row(h, "Trust", |h| {
        badge(h, word);
        h.raw(" <span class=\"meaning\">")
            .raw(meaning)
            .raw("</span>");
    });
    row(h, "Key", |h| code(h, head.keyid.as_str()));
    row(h, "Signed at", |h| {
        let at = entry.signed_at().as_str();
        h.element("time", &[("datetime", at)], at)
            .raw(" <span class=\"meaning\">by the signer’s word</span>");
    });
    row(h, "Digest of what is signed", |h| {
        code(h, &head.digest.to_string());
    });
    row(h, "SHA-256 of the file", |h| {
        code(h, &entry.sha256().to_string());
    });
    more(h);
    h.raw("</dl></section>\n");
}

/// What there is to know of one version.
fn details(h: &mut Html, site: &Site, cartridge: &Cartridge, entry: &CartridgeEntry) {
    intro(h, site, cartridge, entry);
    capabilities(h, entry);
    if let Some(proofs) = site.proofs(entry) {
        credentials(h, &proofs);
    } else if entry.level.is_some() {
        h.raw("<p class=\"meaning\">The credentials of this level are not shown: the cartridge is not here, or the issuers’ keys at hand do not give what the index says.</p>");
    }
    commands(h, site, entry, "The cartridge is what its key signed:");
    h.raw("</div><div>\n");

    signature(h, entry, |h| {
        row(h, "Size", |h| {
            h.text(&grouped(entry.bytes)).raw(" bytes");
        });
        row(h, "Format", |h| {
            h.raw(if entry.spec_clean {
                "conforms"
            } else {
                "does not conform in all"
            });
        });
    });

    h.raw("<section aria-labelledby=\"facts\"><h2 id=\"facts\">About</h2><dl>\n");
    for (label, value) in [
        ("Role", &entry.role),
        ("Provider", &entry.provider),
        ("Model", &entry.model),
        ("Licence", &entry.license),
    ] {
        if let Some(value) = value.as_deref().filter(|v| !v.is_empty()) {
            row(h, label, |h| {
                h.foreign(&cut(value, SENTENCE));
            });
        }
    }
    if !entry.authors.is_empty() {
        row(h, "Authors", |h| {
            each(h, "plain", &entry.authors, |h, author| {
                h.foreign(&cut(&author.name, WORD * 2));
                if let Some(url) = author.url.as_deref().filter(|u| !u.is_empty()) {
                    h.raw(" ").outside(&cut(url, SENTENCE));
                }
            });
        });
    }
    if let Some(homepage) = &entry.homepage {
        row(h, "Homepage", |h| {
            h.outside(&cut(homepage, SENTENCE));
        });
    }
    if !entry.tags.is_empty() {
        row(h, "Tags", |h| {
            each(h, "chips", &entry.tags, |h, tag| {
                h.foreign(&cut(tag, WORD));
            });
        });
    }
    match &entry.memories {
        None => row(h, "Memory", |h| {
            h.raw("none in the cartridge");
        }),
        Some(memories) => {
            row(h, "Memory", |h| {
                h.text(&grouped(memories.rows))
                    .raw(if memories.rows == 1 {
                        " record, "
                    } else {
                        " records, "
                    })
                    .raw("as a Lance dataset, engine ")
                    .foreign(&cut(&memories.engine, WORD));
            });
            row(h, "Dataset", |h| code(h, &cut(&memories.path, SENTENCE)));
            row(h, "Digest of the dataset", |h| {
                code(h, &memories.digest.to_string());
            });
        }
    }
    row(h, "Level", |h| level(h, entry));
    h.raw("</dl></section>\n</div></div>\n");
}

pub(super) fn row(h: &mut Html, label: &'static str, value: impl FnOnce(&mut Html)) {
    h.raw("<div><dt>").raw(label).raw("</dt><dd>");
    value(h);
    h.raw("</dd></div>\n");
}

/// A list of foreign items, of bounded length.
pub(super) fn each<T>(
    h: &mut Html,
    class: &'static str,
    items: &[T],
    item: impl Fn(&mut Html, &T),
) {
    h.open("ul", &[("class", class)]);
    for one in items.iter().take(LISTED) {
        h.raw("<li>");
        item(h, one);
        h.raw("</li>");
    }
    let hidden = items.len().saturating_sub(LISTED);
    if hidden > 0 {
        h.element("li", &[("class", "rest")], &format!("and {hidden} more"));
    }
    h.raw("</ul>");
}

fn number(level: Option<&Json>) -> String {
    let number = level.and_then(Json::as_f64).map(|n| n.to_string());
    number.unwrap_or_default()
}

/// A level counts where it is proven; what is claimed is called a claim, with its own state.
fn level(h: &mut Html, entry: &CartridgeEntry) {
    let claim = &entry.level_claim;
    if let Some(level) = &entry.level {
        let (reached, tier) = (level.get("acxLevel"), level.get("careerTier"));
        h.raw("<span class=\"badge trusted\">proven</span> level ")
            .text(&number(reached))
            .raw(" ")
            .foreign(&cut(tier.and_then(Json::as_str).unwrap_or_default(), WORD));
        if reached == claim.acx_level.as_ref() {
            return;
        }
        h.raw("<br>");
    } else if claim.acx_level.is_none() && claim.career_tier.is_none() {
        h.raw("none proven, none claimed");
        return;
    }
    let (class, word) = match claim.verification_state {
        Some(VerificationState::Invalid) => ("badge withdrawn", "invalid"),
        Some(VerificationState::Revoked) => ("badge withdrawn", "revoked"),
        Some(VerificationState::Unresolved | VerificationState::Verified) | None => {
            ("badge claim", "unproven")
        }
    };
    h.element("span", &[("class", class)], word)
        .raw(" claims level ")
        .text(&number(claim.acx_level.as_ref()))
        .raw(" ")
        .foreign(&cut(claim.career_tier.as_deref().unwrap_or_default(), WORD));
}

/// The credentials that levels rest on, each with its own state.
fn credentials(h: &mut Html, proofs: &Proofs) {
    h.raw("<section aria-labelledby=\"credentials\"><h2 id=\"credentials\">Level credentials</h2>\n<p class=\"meaning\">Weighed by the registry’s issuer keys at the time of its index. A credential proves itself alone, and no other.</p>");
    each(h, "claims", &proofs.credentials, |h, credential| {
        let (class, word) = match credential.state {
            VerificationState::Verified => ("badge trusted", "verified"),
            VerificationState::Unresolved => ("badge claim", "unresolved"),
            VerificationState::Invalid => ("badge withdrawn", "invalid"),
            VerificationState::Revoked => ("badge withdrawn", "revoked"),
        };
        h.raw("<strong>level ")
            .text(&number(credential.claim.acx_level.as_ref()))
            .raw(" ");
        let tier = credential.claim.career_tier.as_deref();
        h.foreign(&cut(tier.unwrap_or_default(), WORD))
            .raw("</strong> ")
            .element("span", &[("class", class)], word)
            .raw("<p class=\"meaning\">")
            .foreign(&cut(&credential.reason, SENTENCE))
            .raw("</p>");
        evidence(h, credential);
    });
    h.raw("</section>\n");
}

fn evidence(h: &mut Html, credential: &Credential) {
    h.raw("<dl>\n");
    for (label, text) in [
        ("Credential", &credential.id),
        ("Issuer", &credential.issuer),
        ("Key", &credential.verification_method),
        ("Status list", &credential.status_list),
    ] {
        if let Some(text) = text {
            row(h, label, |h| code(h, &cut(text, WORD * 4)));
        }
    }
    row(h, "In the list", |h| {
        h.raw(match credential.revoked {
            Some(true) => "revoked",
            Some(false) => "not revoked",
            None => "not known",
        });
    });
    h.raw("</dl>\n");
}

/// Where the registry says that a version is not to be taken any more.
fn status(h: &mut Html, site: &Site, entry: &impl Shown) {
    let status = entry.head().registry_status;
    let says = match status.status.as_str() {
        "deprecated" => "This version is deprecated.",
        "withdrawn" => "This version is withdrawn. Do not use it.",
        "superseded" => "This version is superseded.",
        _ => return,
    };
    let class = format!("notice {}", status.status);
    h.open("div", &[("class", &class), ("role", "note")])
        .raw("<p><strong>")
        .raw(says)
        .raw("</strong>");
    if let Some(since) = &status.recorded_at {
        h.raw(" Since ");
        time(h, since);
        h.raw(".");
    }
    h.raw("</p>");
    if let Some(reason) = status.reason.as_deref().filter(|r| !r.is_empty()) {
        h.open("p", &[("dir", "auto")])
            .lines(&cut(reason, SENTENCE))
            .raw("</p>");
    }
    if let Some(successor) = &status.successor {
        let text = |name: &str| {
            let text = successor.get(name).and_then(Json::as_str);
            cut(text.unwrap_or_default(), WORD * 4)
        };
        let (publisher, id, version) = (text("publisherId"), text("id"), text("version"));
        let label = format!("{publisher}/{id} {version}");
        h.raw("<p>Successor: ");
        let kind = successor.get("artifactType").and_then(Json::as_str);
        match site.page_of(artifact_type(kind), [&publisher, &id, &version]) {
            Some(page) => {
                h.open("a", &[("href", &format!("../../{page}"))])
                    .foreign(&label)
                    .raw("</a></p>");
            }
            None => {
                h.foreign(&label).raw("</p>");
            }
        }
    }
    if let Some(advisory) = status.advisory.as_deref().filter(|a| !a.is_empty()) {
        h.raw("<p>Advisory: ")
            .outside(&cut(advisory, SENTENCE))
            .raw("</p>");
    }
    h.raw("</div>\n");
}

/// The kind that a document names; a cartridge where it names none.
pub(super) fn artifact_type(name: Option<&str>) -> ArtifactType {
    let mut kinds = ArtifactType::ALL.into_iter();
    kinds
        .find(|kind| Some(kind.as_str()) == name)
        .unwrap_or(ArtifactType::Agent)
}

/// Leads from an older version to the one to take.
fn older<E: Shown>(h: &mut Html, group: &Versions<E>, entry: &E) {
    let Some(latest) = group.latest() else {
        return;
    };
    let (head, latest) = (entry.head(), latest.head());
    if latest.version != head.version && head.registry_status.status == "active" {
        h.raw("<div class=\"notice\" role=\"note\"><p>The latest version is ");
        let href = slug::file("v", latest.version);
        h.element("a", &[("href", &href)], latest.version)
            .raw(".</p></div>\n");
    }
}

fn capabilities(h: &mut Html, entry: &CartridgeEntry) {
    h.raw("<section aria-labelledby=\"capabilities\"><h2 id=\"capabilities\">Capabilities <span class=\"badge claim\">unproven claims</span></h2>\n");
    if entry.capabilities.is_empty() {
        h.raw("<p class=\"empty\">It claims nothing.</p></section>\n");
        return;
    }
    h.raw("<p class=\"meaning\">The publisher’s own words. What is not marked as proven, nobody has proven.</p>");
    each(h, "claims", &entry.capabilities, |h, claim| {
        h.raw("<strong>").foreign(&cut(&claim.task_type, WORD * 2));
        h.raw("</strong> <span class=\"domain\">")
            .foreign(&cut(&claim.domain, WORD * 2))
            .raw("</span>");
        if claim.verified {
            h.raw(" <span class=\"badge trusted\">proven</span>");
        } else if claim.verification_state == VerificationState::Invalid {
            h.raw(" <span class=\"badge withdrawn\">invalid evidence</span>");
        } else if claim.verification_state == VerificationState::Revoked {
            h.raw(" <span class=\"badge withdrawn\">revoked evidence</span>");
        } else if claim.claimed_verified {
            h.raw(" <span class=\"badge claim\">says it is verified</span>");
        }
        if !claim.stack.is_empty() {
            each(h, "stack", &claim.stack, |h, part| {
                code(h, &cut(part, WORD * 2));
            });
        }
    });
    h.raw("</section>\n");
}

/// A command to copy; the script adds the button.
fn command(h: &mut Html, label: &'static str, command: &str) {
    h.raw("<div class=\"command\"><p>")
        .raw(label)
        .raw("</p><pre><code>")
        .text(command)
        .raw("</code></pre></div>\n");
}

pub(super) fn commands(h: &mut Html, site: &Site, entry: &impl Shown, signed: &'static str) {
    let head = entry.head();
    let path = shell_word(head.path);
    let hash = entry.sha256().to_string();
    let line = format!("{}  {}", hash.trim_start_matches("sha256:"), head.path);
    h.raw("<section aria-labelledby=\"verify\"><h2 id=\"verify\">Verify it</h2>\n<p class=\"meaning\">In a checkout of the registry, offline. Get the key id from its maintainers, not from this page: who can change a page can change what it says.</p>\n");
    command(
        h,
        "The index is the registry’s, and lists this file:",
        &format!(
            "acx verify-index --keyid {} .",
            shell_word(site.head.keyid.as_str())
        ),
    );
    command(h, signed, &format!("acx verify {path}"));
    command(
        h,
        "The file is the one that is listed:",
        &format!("echo {} | sha256sum -c", shell_word(&line)),
    );
    h.raw("</section>\n");
}

/// The page of a template.
pub fn template(site: &Site, template: &TemplateEntry) -> Html {
    let mut h = Html::default();
    let card = Card::of_template(template);
    h.raw("<nav class=\"crumbs\" aria-label=\"Place\"><ol><li><a href=\"../index.html\">Catalogue</a></li><li><span aria-current=\"page\">")
        .text(&card.id)
        .raw("</span></li></ol></nav>\n<div class=\"title\"><h1>")
        .foreign(&card.name)
        .raw("</h1><p class=\"badges\">");
    badge(&mut h, "unsigned");
    h.raw(" <span class=\"badge kind\">template</span></p></div>\n<div class=\"notice\" role=\"note\"><p>A starting point to copy. Nobody signed it; read what you take.</p></div>\n<div class=\"lead\">");
    h.open("p", &[("dir", "auto")])
        .lines(&cut(&template.description, DESCRIPTION))
        .raw("</p></div>\n<section aria-labelledby=\"facts\"><h2 id=\"facts\">About</h2><dl>\n");
    row(&mut h, "Publisher", |h| {
        h.foreign(&card.publisher);
    });
    if !card.version.is_empty() {
        row(&mut h, "Version", |h| {
            h.foreign(&card.version);
        });
    }
    row(&mut h, "Licence", |h| {
        h.foreign(&cut(&template.license, WORD * 2));
    });
    row(&mut h, "Manifest", |h| {
        code(h, &cut(&template.path, SENTENCE));
    });
    row(&mut h, "Files", |h| {
        each(h, "plain", &template.files, |h, file| {
            code(h, &cut(file, WORD * 4));
        });
    });
    h.raw("</dl></section>");
    Frame {
        site,
        up: "../",
        title: &card.name,
        here: "",
    }
    .around(h)
}

/// The page about the index.
pub fn index(site: &Site) -> Html {
    let head = &site.head;
    let mut h = Html::default();
    h.raw("<div class=\"title\"><h1>About this index</h1><p>A registry lists what it has checked in an index that it signs, <code>index.json</code>. These pages show it; the index is what counts.</p></div>\n<div class=\"columns\"><div>\n<section aria-labelledby=\"index\"><h2 id=\"index\">The signed index</h2><dl>\n");
    row(&mut h, "Registry", |h| {
        h.foreign(&head.registry_id);
    });
    row(&mut h, "Sequence", |h| {
        h.text(&head.sequence.to_string())
            .raw(" <span class=\"meaning\">one more with each change</span>");
    });
    row(&mut h, "Signer", |h| {
        code(h, head.keyid.as_str());
        h.raw(match head.source {
            KeySource::Consumer => " <span class=\"badge trusted\">held against a given key</span>",
            KeySource::OwnPolicy => " <span class=\"badge portable\">self-attested</span>",
            KeySource::Nobody => " <span class=\"badge withdrawn\">nobody vouches</span>",
        });
    });
    row(&mut h, "Signed at", |h| {
        let at = head.signed_at.as_str();
        h.element("time", &[("datetime", at)], at);
    });
    if let Some(expires) = &head.expires {
        row(&mut h, "Expires", |h| {
            h.element("time", &[("datetime", expires)], expires);
        });
    }
    row(&mut h, "Digest", |h| code(h, &head.digest.to_string()));
    row(&mut h, "Previous digest", |h| match &head.previous {
        Some(digest) => code(h, &digest.to_string()),
        None => {
            h.raw("none: it is the first");
        }
    });
    h.raw("</dl></section>\n<section aria-labelledby=\"counts\"><h2 id=\"counts\">What it lists</h2><dl>\n");
    let counts = head.counts;
    for (label, n) in [
        ("Cartridge versions", counts.cartridges),
        ("Cartridges", site.cartridges.len()),
        ("Workflows", counts.workflows),
        ("Agent Graphs", counts.agent_graphs),
        ("Templates", counts.templates),
    ] {
        row(&mut h, label, |h| {
            h.text(&grouped(n as u64));
        });
    }
    h.raw("</dl></section>\n</div><div>\n<section aria-labelledby=\"verify\"><h2 id=\"verify\">Verify it offline</h2>\n<p>Get the registry’s key id from its maintainers, by another way than this page. In a checkout of the registry:</p>\n");
    let keyid = shell_word(head.keyid.as_str());
    command(
        &mut h,
        "The signature, and every file that is present:",
        &format!("acx verify-index --keyid {keyid} ."),
    );
    command(
        &mut h,
        "The same, and no index older than this one:",
        &format!(
            "acx verify-index --keyid {keyid} --min-sequence {} .",
            head.sequence
        ),
    );
    h.raw("</section>\n<section aria-labelledby=\"words\"><h2 id=\"words\">What the words mean</h2><dl>\n");
    for known in [Trust::Trusted, Trust::Portable] {
        let (word, meaning) = trust(known);
        meaning_row(&mut h, word, meaning);
    }
    for (word, meaning) in [
        (
            "unsigned",
            "A template: a starting point to copy, which nobody signed.",
        ),
        (
            "deprecated",
            "Still there; its users are asked to look for something else.",
        ),
        (
            "superseded",
            "Another cartridge or version has taken its place.",
        ),
        (
            "withdrawn",
            "Taken back, by the publisher or the registry. Do not use it.",
        ),
    ] {
        meaning_row(&mut h, word, meaning);
    }
    h.raw("</dl></section>\n</div></div>");
    Frame {
        site,
        up: "",
        title: "About this index",
        here: "registry",
    }
    .around(h)
}

fn meaning_row(h: &mut Html, word: &'static str, meaning: &'static str) {
    h.raw("<div><dt>");
    badge(h, word);
    h.raw("</dt><dd>").raw(meaning).raw("</dd></div>\n");
}
