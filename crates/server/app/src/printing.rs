//! Standard output and standard error, whose readers may go away at any time.

use std::io::{self, ErrorKind, Write};

/// Prints a text to standard output. A reader that closes the pipe early, such as `head`, is no
/// error.
pub fn print(text: &str) -> io::Result<()> {
    try_print(text).map(|_| ())
}

/// Prints a text to standard output. Returns false if its reader has closed the pipe: a command
/// that would print on and on ends then.
pub fn try_print(text: &str) -> io::Result<bool> {
    print_to(&mut io::stdout().lock(), text)
}

/// Writes lines to standard error. A closed one is not an error: there is no other place to say so.
pub fn tell(lines: &str) {
    let _ = writeln!(io::stderr(), "{lines}");
}

fn print_to(out: &mut impl Write, text: &str) -> io::Result<bool> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        ended => ended.map(|()| true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_closed_pipe_is_no_mistake() {
        assert!(matches!(print_to(&mut Vec::new(), "x"), Ok(true)));
        let closed = print_to(&mut Broken(ErrorKind::BrokenPipe), "x");
        assert!(matches!(closed, Ok(false)));
        assert!(print_to(&mut Broken(ErrorKind::StorageFull), "x").is_err());
    }
}
