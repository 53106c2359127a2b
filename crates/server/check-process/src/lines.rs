//! Lines of a stream that need not end.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// Maximum length of a line; the rest is read and left out.
pub(crate) const MAX_LINE_BYTES: usize = 8 << 10;

/// Returns the next line, or as much of it as [`MAX_LINE_BYTES`] allows. None at the end of the
/// stream. Bytes that are not text are replaced.
pub(crate) async fn next_line(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<String>> {
    let (mut line, mut is_begun) = (Vec::new(), false);
    loop {
        let read = from.fill_buf().await?;
        if read.is_empty() {
            return Ok(is_begun.then(|| text(&line)));
        }
        is_begun = true;
        let end = read.iter().position(|byte| *byte == b'\n');
        let piece = &read[..end.unwrap_or(read.len())];
        let room = MAX_LINE_BYTES.saturating_sub(line.len());
        line.extend_from_slice(&piece[..piece.len().min(room)]);
        let used = end.map_or(read.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(Some(text(&line)));
        }
    }
}

fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, BufReader};

    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one() {
        let mut from = &b"one\n\ntwo\xff\nlast"[..];
        for line in ["one", "", "two\u{fffd}", "last"] {
            assert_eq!(next_line(&mut from).await.unwrap().as_deref(), Some(line));
        }
        assert_eq!(next_line(&mut from).await.unwrap(), None);
    }

    #[tokio::test]
    async fn hostile_lines_without_end_take_no_memory() {
        let endless = tokio::io::repeat(b'x').take(64 << 20);
        let mut from = BufReader::new(endless.chain(&b"\nnext\n"[..]));
        let line = next_line(&mut from).await.unwrap().unwrap();
        assert_eq!(line.len(), MAX_LINE_BYTES);
        assert!(line.capacity() <= 2 * MAX_LINE_BYTES, "{}", line.capacity());
        assert_eq!(next_line(&mut from).await.unwrap().as_deref(), Some("next"));
    }
}
