//! The `local-hash-128` engine: a text becomes 128 numbers, with no model and the same bits on every machine.
//!
//! The text is lower-cased by Unicode's full mapping and cut into tokens, the runs of `[a-z0-9]`. The SHA-1 of a
//! token picks one of 128 places (its first four bytes, big-endian, modulo 128) and a sign (the lowest bit of its
//! fifth byte: `+1` when set), and that one is added there. The sums are then divided by their Euclidean norm.
//!
//! Floating point enters only at the end: sums and the squared norm are integers, so each component is one square
//! root, one division and one rounding to `f32`, all of which IEEE 754 fixes to the bit. A text without a token has
//! no direction; its vector is all zeros, and a cosine search never returns it.

use std::collections::HashMap;

use sha1::{Digest as _, Sha1};

/// The engine's id, as cartridges declare it.
pub const ENGINE: &str = "local-hash-128";

/// Components of a vector.
pub const DIM: usize = 128;

/// Bytes of a token whose place is remembered; longer ones hardly repeat.
const REMEMBERED_BYTES: usize = 32;

/// Tokens that are remembered at the most: a few megabytes.
const REMEMBERED: usize = 1 << 16;

/// The text's vector: of length 1, or all zeros when the text has no `[a-z0-9]`. Time is linear in the text.
pub fn embed(text: &str) -> [f32; DIM] {
    Embedder::default().embed(text)
}

/// The engine for many texts: it remembers where tokens go, since most words come again and hashing is the main cost.
#[derive(Debug, Default)]
pub struct Embedder {
    /// Place and sign by token. Only looked up, never walked, so its order cannot show.
    known: HashMap<Vec<u8>, (usize, i64)>,
}

impl Embedder {
    /// As the function [`embed`].
    pub fn embed(&mut self, text: &str) -> [f32; DIM] {
        let mut sums = [0_i64; DIM];
        let mut token = Vec::new();
        for letter in text.chars() {
            if letter.is_ascii() {
                self.letter(letter.to_ascii_lowercase(), &mut token, &mut sums);
                continue;
            }
            // Case mappings that depend on a letter's neighbours (the final sigma) never give an ASCII letter, so
            // mapping letter by letter finds the same tokens as mapping the whole text.
            for lower in letter.to_lowercase() {
                self.letter(lower, &mut token, &mut sums);
            }
        }
        self.count(&mut token, &mut sums);

        let square: u128 = sums
            .iter()
            .map(|sum| u128::from(sum.unsigned_abs()).pow(2))
            .sum();
        if square == 0 {
            return [0.0; DIM];
        }
        let norm = (square as f64).sqrt();
        sums.map(|sum| (sum as f64 / norm) as f32)
    }

    /// Takes the next letter of the lower-cased text.
    fn letter(&mut self, letter: char, token: &mut Vec<u8>, sums: &mut [i64; DIM]) {
        match u8::try_from(letter) {
            Ok(byte @ (b'a'..=b'z' | b'0'..=b'9')) => token.push(byte),
            _ => self.count(token, sums),
        }
    }

    /// Adds a finished token to the sums and empties it.
    fn count(&mut self, token: &mut Vec<u8>, sums: &mut [i64; DIM]) {
        if token.is_empty() {
            return;
        }
        let (place, sign) = match self.known.get(token.as_slice()) {
            Some(known) => *known,
            None => {
                let found = place(token);
                if token.len() <= REMEMBERED_BYTES && self.known.len() < REMEMBERED {
                    self.known.insert(token.clone(), found);
                }
                found
            }
        };
        if let Some(sum) = sums.get_mut(place) {
            *sum += sign;
        }
        token.clear();
    }
}

/// Where a token is added, and what.
fn place(token: &[u8]) -> (usize, i64) {
    let [a, b, c, d, sign, ..] = <[u8; 20]>::from(Sha1::digest(token));
    let place = u32::from_be_bytes([a, b, c, d]) as usize % DIM;
    (place, if sign & 1 == 1 { 1 } else { -1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of an independent implementation: the places that are not zero, and the bits there.
    #[test]
    fn published_values() {
        for (text, expected) in [
            ("", &[][..]),
            ("…—!", &[]),
            ("a", &[(55, 0xbf80_0000_u32)]),
            (
                "Hello, hello world",
                &[(29, 0xbf64_f92e), (51, 0xbee4_f92e)],
            ),
            // U+212A KELVIN SIGN is a `k`.
            ("\u{212a}ELVIN kelvin", &[(81, 0x3f80_0000)]),
            // U+0130 becomes `i` and a combining dot, which ends the token.
            ("\u{130}stanbul", &[(21, 0xbf35_04f3), (81, 0x3f35_04f3)]),
            (
                "Retry with backoff\n\nRetry the 3rd time, then stop; 10 ms, 20 ms, 40 ms.",
                &[
                    (15, 0xbe6a_ebf5),
                    (17, 0x3e6a_ebf5),
                    (23, 0xbf30_30f8),
                    (25, 0xbe6a_ebf5),
                    (31, 0xbe6a_ebf5),
                    (35, 0x3e6a_ebf5),
                    (46, 0xbe6a_ebf5),
                    (52, 0xbe6a_ebf5),
                    (87, 0x3e6a_ebf5),
                    (88, 0x3e6a_ebf5),
                    (90, 0xbe6a_ebf5),
                ],
            ),
        ] {
            let found: Vec<(usize, u32)> = embed(text)
                .iter()
                .enumerate()
                .map(|(at, component)| (at, component.to_bits()))
                .filter(|(_, bits)| *bits != 0)
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    /// What was embedded before does not show, past the limits of memory either.
    #[test]
    fn remembering_changes_nothing() {
        let mut engine = Embedder::default();
        let many: String = (0..REMEMBERED + 10).map(|n| format!("w{n} ")).collect();
        let long = "x".repeat(REMEMBERED_BYTES + 1);
        for text in [
            "a b a",
            &many,
            &long,
            "Hello, hello world",
            &many,
            "",
            &long,
        ] {
            assert_eq!(engine.embed(text), embed(text));
        }
        assert_eq!(engine.known.len(), REMEMBERED);
    }
}
