//! Writes HTML in which a foreign text cannot become markup: markup comes from the program's own text (`&'static str`),
//! and everything else goes through [`Html::text`] or an attribute's value, which escape it.

use crate::report::escape;
use crate::schema::is_url;

/// A piece of HTML that is well escaped.
#[derive(Debug, Default)]
pub struct Html(String);

/// An attribute's name, and its value, which may be foreign.
pub type Attribute<'a> = (&'static str, &'a str);

impl Html {
    /// The program's own markup.
    pub fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// A text, on one line: line ends, controls, and what hides or reorders text are shown as `\u{…}`.
    pub fn text(&mut self, text: &str) -> &mut Self {
        push(&mut self.0, text);
        self
    }

    /// A foreign text whose direction stays its own.
    pub fn foreign(&mut self, text: &str) -> &mut Self {
        self.raw("<bdi>").text(text).raw("</bdi>")
    }

    /// A foreign text of several lines.
    pub fn lines(&mut self, text: &str) -> &mut Self {
        for (n, line) in text.lines().enumerate() {
            if n > 0 {
                self.raw("<br>");
            }
            self.text(line);
        }
        self
    }

    /// A start tag.
    pub fn open(&mut self, tag: &'static str, attributes: &[Attribute<'_>]) -> &mut Self {
        self.raw("<").raw(tag);
        for (name, value) in attributes {
            self.raw(" ").raw(name).raw("=\"").text(value).raw("\"");
        }
        self.raw(">")
    }

    /// An end tag.
    pub fn close(&mut self, tag: &'static str) -> &mut Self {
        self.raw("</").raw(tag).raw(">")
    }

    /// An element that holds a text.
    pub fn element(
        &mut self,
        tag: &'static str,
        attributes: &[Attribute<'_>],
        text: &str,
    ) -> &mut Self {
        self.open(tag, attributes).text(text).close(tag)
    }

    /// A link to somewhere else, if the text is a web address; otherwise the text alone.
    pub fn outside(&mut self, url: &str) -> &mut Self {
        if !is_web_address(url) {
            return self.foreign(url);
        }
        self.open(
            "a",
            &[
                ("href", url),
                ("rel", "external nofollow noopener noreferrer"),
            ],
        )
        .foreign(url)
        .close("a")
    }

    /// Another piece.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// The bytes of the file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

fn push(out: &mut String, text: &str) {
    for c in escape(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

/// `http` or `https`, and nothing in it that is not what it looks like.
fn is_web_address(url: &str) -> bool {
    url.len() <= 2048
        && is_url(url, &["https://", "http://"])
        && !url.contains(['\\', '"', '<', '>'])
        && escape(url) == url
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn html(write: impl FnOnce(&mut Html)) -> String {
        let mut html = Html::default();
        write(&mut html);
        String::from_utf8(html.into_bytes()).unwrap()
    }

    #[test]
    fn text_stays_text() {
        for (text, expected) in [
            (
                "</script><img src=x onerror=\"a\">",
                "&lt;/script&gt;&lt;img src=x onerror=&quot;a&quot;&gt;",
            ),
            ("a & 'b'", "a &amp; &#39;b&#39;"),
            ("\u{1b}[31m\n\u{202e}\0", "\\u{1b}[31m\\u{a}\\u{202e}\\u{0}"),
            ("Größe 大", "Größe 大"),
        ] {
            assert_eq!(
                html(|h| {
                    h.text(text);
                }),
                expected
            );
            assert_eq!(
                html(|h| {
                    h.open("p", &[("title", text)]);
                }),
                format!("<p title=\"{expected}\">")
            );
        }
        assert_eq!(
            html(|h| {
                h.lines("<a>\r\nb");
            }),
            "&lt;a&gt;<br>b"
        );
    }

    #[test]
    fn only_web_addresses_are_links() {
        for url in [
            "https://example.com/a?b=1&c#d",
            "http://example.com",
            "https://例え.jp/",
        ] {
            assert!(
                html(|h| {
                    h.outside(url);
                })
                .starts_with("<a href=\"h"),
                "{url}"
            )
        }
        let long = format!("https://example.com/{}", "a".repeat(2048));
        for url in [
            "javascript:alert(1)",
            "java\nscript:alert(1)",
            " https://example.com",
            "https://exa mple.com",
            "https://example.com/\u{202e}moc",
            "data:text/html,x",
            "//example.com",
            "https:example.com",
            "https:\\\\example.com",
            long.as_str(),
        ] {
            assert!(
                html(|h| {
                    h.outside(url);
                })
                .starts_with("<bdi>"),
                "{url}"
            );
        }
    }
}
