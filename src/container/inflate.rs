//! Raw Deflate into a buffer of a known size: not a byte more comes out, and not a byte may be left over.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// Memory to inflate in.
pub(super) type State = DecompressorOxide;

/// Bytes of the first output buffer; it grows only with what really comes out.
const FIRST_BUFFER: usize = 64 << 10;

/// Inflates `stored` to exactly `size` bytes; `state` is memory to work in, whatever it was used for. Memory is bound by what comes out, not by what is claimed.
pub(super) fn exactly(state: &mut State, stored: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let size = usize::try_from(size).map_err(|_| format!("it claims {size} bytes"))?;
    state.init();
    let mut out = vec![0; size.min(FIRST_BUFFER)];
    let (mut read, mut written) = (0, 0);
    loop {
        let input = stored.get(read..).unwrap_or_default();
        let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
        let (status, took, gave) = decompress(state, input, &mut out, written, flags);
        read += took;
        written += gave;
        match status {
            TINFLStatus::Done if written < size => {
                return Err(format!(
                    "expected {size} bytes, found {written} when inflated"
                ));
            }
            TINFLStatus::Done if read < stored.len() => {
                return Err(format!(
                    "{} bytes follow the end of the compressed data",
                    stored.len() - read
                ));
            }
            TINFLStatus::Done => {
                out.truncate(written);
                return Ok(out);
            }
            TINFLStatus::HasMoreOutput if out.len() < size => {
                out.resize((out.len() * 2).min(size), 0);
            }
            TINFLStatus::HasMoreOutput => {
                return Err(format!("expected {size} bytes, found more when inflated"));
            }
            _ => {
                return Err("it is neither stored (sz = length of data) nor raw Deflate".to_owned());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn exact_or_refused() {
        let data: Vec<u8> = (0..300_000_u32)
            .flat_map(|n| (n / 7).to_le_bytes())
            .collect();
        let packed = miniz_oxide::deflate::compress_to_vec(&data, 6);
        let size = data.len() as u64;
        assert_eq!(exactly(&mut State::default(), &packed, size).unwrap(), data);
        assert!(exactly(&mut State::default(), &packed, size - 1).is_err());
        assert!(exactly(&mut State::default(), &packed, size + 1).is_err());
        assert!(exactly(&mut State::default(), &packed, 0).is_err());
        assert!(exactly(&mut State::default(), &packed, 1 << 40).is_err());
        assert!(exactly(&mut State::default(), packed.split_last().unwrap().1, size).is_err());
        assert!(
            exactly(
                &mut State::default(),
                &[packed.as_slice(), b"x"].concat(),
                size
            )
            .is_err()
        );
        assert!(exactly(&mut State::default(), b"", 1).is_err());
        let bomb = miniz_oxide::deflate::compress_to_vec(&vec![0; 64 << 20], 9);
        assert!(exactly(&mut State::default(), &bomb, 10).is_err());
        let empty = miniz_oxide::deflate::compress_to_vec(b"", 9);
        assert_eq!(exactly(&mut State::default(), &empty, 0).unwrap(), b"");
    }
}
