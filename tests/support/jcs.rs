//! The JSON Canonicalization Scheme (RFC 8785), written here a second time: the crate's own is what the tests judge.

use serde_json::Value;

/// The canonical text of a value.
pub fn jcs(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => out.push_str(&number(n.as_f64().expect("a JSON number is a double"))),
        Value::String(s) => string(s, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().collect();
            names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
            out.push('{');
            for (at, name) in names.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                string(name, out);
                out.push(':');
                write(&map[name], out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// ECMAScript's Number::toString: the shortest digits that read back, with an exponent outside 1e-6 … 1e21.
fn number(value: f64) -> String {
    assert!(value.is_finite(), "JSON has no infinity");
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", value.abs());
    // Of two texts of as many digits and equally far away, the even one: what exact formatting gives.
    let places = shortest
        .find('e')
        .expect("{:e} has an exponent")
        .saturating_sub(2);
    let exact = format!("{:.places$e}", value.abs());
    let scientific = if exact.parse() == Ok(value.abs()) {
        exact
    } else {
        shortest
    };
    let (mantissa, exponent) = scientific.split_once('e').expect("{:e} has an exponent");
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    // The value is 0.digits × 10^point.
    let point = exponent.parse::<i32>().expect("an integer") + 1;
    let count = i32::try_from(digits.len()).expect("at most 17 digits");
    let body = if count <= point && point <= 21 {
        digits + &"0".repeat((point - count) as usize)
    } else if 0 < point && point <= 21 {
        format!(
            "{}.{}",
            &digits[..point as usize],
            &digits[point as usize..]
        )
    } else if -6 < point && point <= 0 {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let e = point - 1;
        let exponent = format!("e{}{}", if e < 0 { '-' } else { '+' }, e.abs());
        if count == 1 {
            digits + &exponent
        } else {
            format!("{}.{}{exponent}", &digits[..1], &digits[1..])
        }
    };
    format!("{sign}{body}")
}
