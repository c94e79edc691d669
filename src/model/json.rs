//! JSON as this project reads and writes it: strict in (no repeated names, bounded depth), canonical out (RFC 8785).
//!
//! Parsers disagree on which of two equal names counts, so a document that repeats one has no single meaning and is
//! refused here, before anything looks at it.

use std::io::{self, Write};

use serde::Serialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Number, Value};

use super::{Digest, shorten};

/// A parsed JSON value.
pub type Json = Value;

/// Up to here, a double holds every integer.
const EXACT: u64 = 1 << 53;

/// Levels of nesting that are accepted.
pub const MAX_DEPTH: usize = 100;

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// Not JSON, not UTF-8, a number outside a double, or an escape that is half a surrogate pair.
    Syntax,
    /// An object repeats a name.
    RepeatedName,
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The kind of defect.
    pub kind: JsonErrorKind,
    /// In words, with line and column where known.
    pub message: String,
}

impl std::fmt::Display for JsonError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for JsonError {}

/// Parses a whole JSON text. Time and memory are linear in its length.
///
/// # Errors
/// [`JsonError`] where the text is not JSON, repeats a name in an object, or nests too deep.
pub fn parse(text: &[u8]) -> Result<Json, JsonError> {
    let mut defect = None;
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let parsed = Strict {
        depth: 0,
        defect: &mut defect,
    }
    .deserialize(&mut deserializer)
    .and_then(|value| deserializer.end().map(|()| value));
    parsed.map_err(|e| JsonError {
        kind: defect.unwrap_or(JsonErrorKind::Syntax),
        message: shorten(&e.to_string()),
    })
}

/// As [`parse`], and refuses an integer literal beyond ±(2^53−1), which a double cannot hold for certain.
///
/// # Errors
/// [`JsonError`] as there; [`JsonErrorKind::Syntax`] for such an integer.
pub fn parse_interoperable(text: &[u8]) -> Result<Json, JsonError> {
    const LARGEST: u64 = (1 << 53) - 1;
    let value = parse(text)?;
    let mut quoted = false;
    let mut bytes = text.iter().enumerate();
    let mut from = 0;
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' if quoted => {
                bytes.next();
            }
            b'"' => quoted = !quoted,
            b'0'..=b'9' if !quoted && at >= from => {
                let rest = text.get(at..).unwrap_or_default();
                let part =
                    |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
                let end = rest.iter().position(|b| !part(b)).unwrap_or(rest.len());
                from = at + end;
                let literal = rest.get(..end).unwrap_or_default();
                if literal.iter().all(u8::is_ascii_digit) {
                    let number = std::str::from_utf8(literal)
                        .ok()
                        .and_then(|digits| digits.parse::<u64>().ok());
                    if number.is_none_or(|number| number > LARGEST) {
                        return Err(JsonError {
                            kind: JsonErrorKind::Syntax,
                            message: format!("the integer at byte {at} is beyond 2^53-1"),
                        });
                    }
                }
            }
            _ => {}
        }
    }
    Ok(value)
}

/// The canonical form of a value by RFC 8785 (JCS).
///
/// Cannot fail for a value that [`parse`] gave: such a value has string names and finite numbers only.
pub fn canonical(value: &Json) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    if plain(value, &mut out) {
        out
    } else {
        serde_jcs::to_vec(value).unwrap_or_default()
    }
}

/// Writes the canonical form of a value whose names are ASCII, so that their order needs no UTF-16; `false` = it has
/// others. What nearly all documents are, in a fifth of the time of the general way.
fn plain(value: &Json, out: &mut Vec<u8>) -> bool {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(number) => {
            let exact = number.as_i64().filter(|n| n.unsigned_abs() <= EXACT);
            return match exact {
                Some(integer) => serde_json::to_writer(out, &integer).is_ok(),
                None => serde_jcs::to_writer(out, number).is_ok(),
            };
        }
        Json::String(text) => return text_in(text, out),
        Json::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                if !plain(item, out) {
                    return false;
                }
            }
            out.push(b']');
        }
        Json::Object(members) => {
            let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
            if !sorted.iter().all(|(name, _)| name.is_ascii()) {
                return false;
            }
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push(b'{');
            for (at, (name, member)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                if !text_in(name, out) {
                    return false;
                }
                out.push(b':');
                if !plain(member, out) {
                    return false;
                }
            }
            out.push(b'}');
        }
    }
    true
}

/// The canonical form of a value of any type.
pub fn canonical_of(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    serde_jcs::to_vec(value).unwrap_or_default()
}

/// The digest of [`canonical`], made of one item of a long list after the other: the text of the whole is never in
/// memory.
pub fn canonical_digest(value: &Json) -> Digest {
    match value.as_object() {
        Some(members) if members.keys().all(|name| name.is_ascii()) => {
            let mut sorted: Vec<(&String, &Json)> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            object_digest(|object| {
                for (name, member) in sorted {
                    match member {
                        Json::Array(items) => object.list(name, items.iter().map(canonical)),
                        member => object.member(name, &canonical(member)),
                    }
                }
            })
        }
        _ => Digest::of(&canonical(value)),
    }
}

/// The digest of the canonical form of an object whose members `write` gives, in the order of RFC 8785.
pub fn object_digest(write: impl FnOnce(&mut CanonicalObject<'_>)) -> Digest {
    Digest::of_parts(|feed| {
        feed(b"{");
        write(&mut CanonicalObject { feed, any: false });
        feed(b"}");
    })
}

/// An object that is hashed while its members come.
pub struct CanonicalObject<'a> {
    feed: &'a mut dyn FnMut(&[u8]),
    any: bool,
}

impl CanonicalObject<'_> {
    fn name(&mut self, name: &str) {
        let mut text = Vec::with_capacity(name.len() + 4);
        if std::mem::replace(&mut self.any, true) {
            text.push(b',');
        }
        text.extend(canonical(&Json::from(name)));
        text.push(b':');
        (self.feed)(&text);
    }

    /// A member with this canonical value.
    pub fn member(&mut self, name: &str, value: &[u8]) {
        self.name(name);
        (self.feed)(value);
    }

    /// A member that is the array of these canonical values.
    pub fn list(&mut self, name: &str, items: impl Iterator<Item = Vec<u8>>) {
        self.name(name);
        (self.feed)(b"[");
        for (at, item) in items.enumerate() {
            if at > 0 {
                (self.feed)(b",");
            }
            (self.feed)(&item);
        }
        (self.feed)(b"]");
    }
}

/// As [`canonical_of`], for types that declare their members in the order of RFC 8785 and hold texts and integers alone:
/// such a value needs no sorting.
pub fn canonical_declared(value: &(impl Serialize + ?Sized)) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, Exact);
    match value.serialize(&mut serializer) {
        Ok(()) => out,
        Err(_) => canonical_of(value),
    }
}

/// Compact JSON that fails at a number which a double may not hold.
struct Exact;

impl Exact {
    fn number<W: Write + ?Sized>(writer: &mut W, number: i64) -> io::Result<()> {
        if number.unsigned_abs() > EXACT {
            return Err(io::Error::other("a double may not hold the number"));
        }
        CompactFormatter.write_i64(writer, number)
    }
}

impl Formatter for Exact {
    fn write_i64<W: Write + ?Sized>(&mut self, writer: &mut W, number: i64) -> io::Result<()> {
        Self::number(writer, number)
    }
    fn write_u64<W: Write + ?Sized>(&mut self, writer: &mut W, number: u64) -> io::Result<()> {
        Self::number(writer, i64::try_from(number).unwrap_or(i64::MAX))
    }
    fn write_f64<W: Write + ?Sized>(&mut self, _: &mut W, _: f64) -> io::Result<()> {
        Err(io::Error::other("not an integer"))
    }
    fn write_f32<W: Write + ?Sized>(&mut self, _: &mut W, _: f32) -> io::Result<()> {
        Err(io::Error::other("not an integer"))
    }
}

/// Writes a JSON text. RFC 8785 escapes what ECMAScript does: quote, backslash and the controls, as serde_json.
fn text_in(text: &str, out: &mut Vec<u8>) -> bool {
    serde_json::to_writer(out, text).is_ok()
}

struct Strict<'a> {
    depth: usize,
    defect: &'a mut Option<JsonErrorKind>,
}

impl Strict<'_> {
    fn fail<E: serde::de::Error>(&mut self, kind: JsonErrorKind, message: String) -> E {
        *self.defect = Some(kind);
        E::custom(message)
    }

    fn inner<E: serde::de::Error>(&mut self) -> Result<usize, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.fail(
                JsonErrorKind::TooDeep,
                format!("nested deeper than {MAX_DEPTH} levels"),
            ));
        }
        Ok(self.depth + 1)
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Strict {
            depth,
            defect: self.defect,
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<Value, A::Error> {
        let depth = self.inner()?;
        let mut map = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            match map.entry(name) {
                Entry::Vacant(place) => {
                    place.insert(access.next_value_seed(Strict {
                        depth,
                        defect: self.defect,
                    })?);
                }
                Entry::Occupied(there) => {
                    let shown = shorten(there.key());
                    return Err(self.fail(
                        JsonErrorKind::RepeatedName,
                        format!("the name {shown:?} is repeated"),
                    ));
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// A value as a message shows it: short, whatever its size.
pub fn shown(value: &Json) -> String {
    let sized = |what, count: usize, item| {
        let plural = if count == 1 { "" } else { "s" };
        format!("{what} of {count} {item}{plural}")
    };
    match value {
        Json::String(text) => format!("{:?}", shorten(text)),
        Json::Array(items) => sized("an array", items.len(), "item"),
        Json::Object(members) => sized("an object", members.len(), "field"),
        Json::Null | Json::Bool(_) | Json::Number(_) => value.to_string(),
    }
}

/// The pointer to a member of the object at `at`; a very long name is shortened.
pub fn member(at: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    format!("{at}/{}", shorten(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canon(text: &str) -> String {
        let value = parse(text.as_bytes()).unwrap_or_else(|e| unreachable!("{text}: {e}"));
        String::from_utf8(canonical(&value)).unwrap_or_default()
    }

    /// RFC 8785, appendix B (numbers) by their IEEE 754 bits.
    #[test]
    fn rfc8785_numbers() {
        for (bits, expected) in [
            (0x0000_0000_0000_0000_u64, "0"),
            (0x8000_0000_0000_0000, "0"),
            (0x0000_0000_0000_0001, "5e-324"),
            (0x8000_0000_0000_0001, "-5e-324"),
            (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
            (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
            (0x4340_0000_0000_0000, "9007199254740992"),
            (0xc340_0000_0000_0000, "-9007199254740992"),
            (0x4430_0000_0000_0000, "295147905179352830000"),
            (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
            (0x44b5_2d02_c7e1_4af6, "1e+23"),
            (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
            (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
            (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
            (0x444b_1ae4_d6e2_ef50, "1e+21"),
            (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
            (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
            (0x41b3_de43_5555_5553, "333333333.3333332"),
            (0x41b3_de43_5555_5554, "333333333.33333325"),
            (0x41b3_de43_5555_5555, "333333333.3333333"),
            (0x41b3_de43_5555_5556, "333333333.3333334"),
            (0x41b3_de43_5555_5557, "333333333.33333343"),
            (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
            (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
        ] {
            let value = Value::from(f64::from_bits(bits));
            assert_eq!(
                String::from_utf8_lossy(&canonical(&value)),
                expected,
                "{bits:#x}"
            );
            // The text reads back as the same double, so canonical text is a fixed point.
            assert_eq!(canon(expected), expected);
        }
        assert_eq!(canon("9007199254740993"), "9007199254740992");
        assert_eq!(canon("-0"), "0");
        assert_eq!(canon("12.0"), "12");
        assert_eq!(canon("1.2e1"), "12");
        assert_eq!(canon("18446744073709551616"), "18446744073709552000");
    }

    /// RFC 8785, sections 3.2.2 (escapes) and 3.2.3 (order of names by UTF-16 code units).
    #[test]
    fn rfc8785_text() {
        let input = r#"{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#;
        let output = r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#;
        assert_eq!(canon(input), output);
        let order = r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#;
        let sorted = [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small Letter O With Diaeresis",
            "Euro Sign",
            "Emoji: Grinning Face",
            "Hebrew Letter Dalet With Dagesh",
        ];
        let result = canon(order);
        let places: Vec<_> = sorted.iter().map(|s| result.find(s)).collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{result}"
        );
        assert_eq!(
            canon("\"\\u0000\\u001f\\u007f\\u2028\""),
            "\"\\u0000\\u001f\u{7f}\u{2028}\""
        );
    }

    /// The short ways give what the general way gives.
    #[test]
    fn one_canonical_form() {
        use proptest::prelude::*;
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1000_i64..1000).prop_map(Value::from),
            ((1_i64 << 53) - 2..(1 << 53) + 3).prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[ -~\u{0}-\u{1f}\u{7f}\u{2028}]*".prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(4, 40, 6, |inner| {
            let name = prop_oneof![
                "[ -~\u{0}-\u{1f}]{0,4}",
                any::<String>(),
                "[\u{e000}\u{10000}a]{1,2}"
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..6)
                    .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
            ]
        });
        let same = |value: Value| {
            let expected = canonical_of(&value);
            prop_assert_eq!(canonical(&value), expected);
            Ok(())
        };
        proptest!(|(value in value)| same(value)?);
        #[derive(Serialize)]
        struct Declared(String, i64, u64);
        proptest!(|(text in any::<String>(), a in any::<i64>(), b in any::<u64>())| {
            let value = [Declared(text, a, b)];
            prop_assert_eq!(canonical_declared(&value), canonical_of(&value));
        });
    }

    #[test]
    fn refused() {
        let kind = |text: &[u8]| parse(text).err().map(|e| e.kind);
        assert_eq!(
            kind(br#"{"a":1,"b":{"c":1,"c":1}}"#),
            Some(JsonErrorKind::RepeatedName)
        );
        assert_eq!(
            kind(br#"{"a":1,"\u0061":1}"#),
            Some(JsonErrorKind::RepeatedName)
        );
        assert_eq!(kind(&vec![b'['; 5000]), Some(JsonErrorKind::TooDeep));
        let deep = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert_eq!(kind(&deep(100)), None);
        assert_eq!(kind(&deep(101)), Some(JsonErrorKind::TooDeep));
        for bad in [
            &b""[..],
            b"{",
            b"1 2",
            b"\xff",
            b"\"\\ud800\"",
            b"1e400",
            b"NaN",
            b"\xef\xbb\xbf{}",
            b"{'a':1}",
            b"[1,]",
        ] {
            assert_eq!(
                kind(bad),
                Some(JsonErrorKind::Syntax),
                "{}",
                String::from_utf8_lossy(bad)
            );
        }
    }
}
