//! Standard output of commands that print a text and end.

use std::io::{self, ErrorKind, Write};

/// Prints a text to standard output. A reader that closes the pipe early, such as `head`, is no
/// error.
pub fn print(text: &str) -> io::Result<()> {
    print_to(&mut io::stdout().lock(), text)
}

fn print_to(out: &mut impl Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
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
        assert!(print_to(&mut Broken(ErrorKind::BrokenPipe), "x").is_ok());
        assert!(print_to(&mut Broken(ErrorKind::StorageFull), "x").is_err());
    }
}
