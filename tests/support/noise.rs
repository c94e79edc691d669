//! Deterministic noise in the alphabets that keys, digests and pictures are written in.

/// Numbers that are the same on every run (xorshift64*).
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// `length` characters of an alphabet.
    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length)
            .map(|_| letters[(self.next() >> 33) as usize % letters.len()])
            .collect()
    }

    /// Replaces each `«kind:length»` by noise of that kind.
    pub fn fill(&mut self, template: &str) -> String {
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const DIGITS: &str = "0123456789";
        let mut out = String::new();
        let mut rest = template;
        while let Some((head, tail)) = rest.split_once('«') {
            out.push_str(head);
            let (inner, tail) = tail.split_once('»').expect("a closing sign");
            let (kind, length) = inner.split_once(':').expect("kind:length");
            let alphabet = match kind {
                "hex" => "0123456789abcdef".to_owned(),
                "HEX" => "0123456789ABCDEF".to_owned(),
                "num" => DIGITS.to_owned(),
                "al" => [LOWER, UPPER].concat(),
                "an" => [LOWER, UPPER, DIGITS].concat(),
                "b32" => [UPPER, "234567"].concat(),
                "base36" => [LOWER, DIGITS].concat(),
                "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
                "b64" => [LOWER, UPPER, DIGITS, "+/"].concat(),
                "url" => [LOWER, UPPER, DIGITS, "_-"].concat(),
                other => panic!("no alphabet {other}"),
            };
            let length = length.parse().expect("a length");
            let mut noise = self.text(&alphabet, length);
            // A token ends with a letter, so that a word boundary follows.
            if noise.ends_with(['-', '_', '+', '/']) {
                noise.pop();
                noise.push('Z');
            }
            if kind == "an" && length >= 8 && !noise.bytes().any(|b| b.is_ascii_digit()) {
                noise.pop();
                noise.push('7');
            }
            out.push_str(&noise);
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}
