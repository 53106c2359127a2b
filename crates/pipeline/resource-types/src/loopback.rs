//! A word of help for people whose server listens on loopback: a step has a loopback of its own.

use std::io::{self, Write};

const HINT: &str = "In a step, loopback is the step itself and not the machine that Airside runs on. Give an address of the \
    machine, or, for steps on this machine, start Airside with --local-network machine";

/// The last bytes of a program's output that are kept, which is a few lines.
const KEPT: usize = 4096;

/// The hint, if what was said is that nothing listens on loopback.
pub(crate) fn hint(said: &str) -> Option<&'static str> {
    let refused = said.contains("Connection refused");
    let loopback = ["127.0.0.1", "localhost", "::1"];
    (refused && loopback.iter().any(|name| said.contains(name))).then_some(HINT)
}

/// A log that remembers the last of what was written to it.
pub(crate) struct Remembering<'a> {
    log: &'a mut dyn Write,
    last: Vec<u8>,
}

impl<'a> Remembering<'a> {
    pub(crate) fn new(log: &'a mut dyn Write) -> Self {
        Self {
            log,
            last: Vec::new(),
        }
    }

    pub(crate) fn last(&self) -> String {
        String::from_utf8_lossy(&self.last).into_owned()
    }
}

impl Write for Remembering<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.log.write(bytes)?;
        self.last.extend_from_slice(&bytes[..written]);
        let over = self.last.len().saturating_sub(KEPT);
        self.last.drain(..over);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.log.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_on_loopback_gets_the_hint() {
        for (said, helped) in [
            ("127.0.0.1:5000: Connection refused (os error 111)", true),
            (
                "fatal: unable to connect to localhost:\nlocalhost[0: 127.0.0.1]: errno=Connection refused",
                true,
            ),
            ("10.0.0.7:5000: Connection refused", false),
            ("127.0.0.1:5000: the server closed the connection", false),
        ] {
            assert_eq!(hint(said).is_some(), helped, "{said}");
        }
    }

    #[test]
    fn the_last_lines_are_remembered() {
        let mut log = Vec::new();
        let mut remembering = Remembering::new(&mut log);
        remembering.write_all(&vec![b'x'; 3 * KEPT]).unwrap();
        remembering.write_all(b"the end").unwrap();
        assert!(remembering.last().ends_with("xthe end"));
        assert_eq!(remembering.last().len(), KEPT);
        assert_eq!(log.len(), 3 * KEPT + 7);
    }
}
