//! A connection through an HTTP proxy, on the standard streams: what ssh starts to reach its server
//! where a source has an `https_tunnel`. The settings come in a file, since they hold a password.

use std::{
    fs,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpStream},
    os::fd::AsFd,
    path::Path,
    thread,
};

use base64::{Engine, prelude::BASE64_STANDARD};

/// Largest head that is read: more than any answer to CONNECT.
const MAX_ANSWER: u64 = 64 << 10;

/// Connects to `host` and `port` through the proxy that the file names, and copies until both are
/// done.
pub(crate) fn main(file: &Path, host: &str, port: &str) -> io::Result<()> {
    let settings = fs::read_to_string(file)?;
    let mut lines = settings.lines();
    let proxy = lines.next().unwrap_or_default();
    let stream = TcpStream::connect(proxy)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    greet(
        &stream,
        &mut reader,
        &format!("{host}:{port}"),
        lines.next(),
    )?;
    let up = stream.try_clone()?;
    // Past the standard library's lock, which the caller may hold.
    let mut stdin = fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
    thread::spawn(move || {
        let mut up = up;
        let _ = io::copy(&mut stdin, &mut up);
        let _ = up.shutdown(Shutdown::Write);
    });
    let mut stdout = io::stdout().lock();
    let mut buffer = [0; 16 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(()),
            count => {
                stdout.write_all(&buffer[..count])?;
                stdout.flush()?;
            }
        }
    }
}

fn greet(
    mut stream: impl Write,
    reader: &mut impl BufRead,
    target: &str,
    user: Option<&str>,
) -> io::Result<()> {
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
    if let Some(user) = user {
        let encoded = BASE64_STANDARD.encode(user);
        head += &format!("Proxy-Authorization: Basic {encoded}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    let mut answer = reader.take(MAX_ANSWER);
    let mut status = String::new();
    answer.read_line(&mut status)?;
    loop {
        let mut line = String::new();
        if answer.read_line(&mut line)? <= 2 {
            break;
        }
    }
    match status.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(io::Error::other(format!(
            "the proxy does not connect to {target}: {}",
            status.trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_asked_with_the_user_and_may_refuse() {
        let ok = "HTTP/1.1 200 OK\r\nX: y\r\n\r\nSSH-2.0";
        let (mut sent, mut reader) = (Vec::new(), BufReader::new(ok.as_bytes()));
        greet(&mut sent, &mut reader, "h:22", Some("u:p")).unwrap();
        let sent = String::from_utf8(sent).unwrap();
        assert!(sent.starts_with("CONNECT h:22 HTTP/1.1\r\n"), "{sent}");
        assert!(sent.contains("Authorization: Basic dTpw\r\n"), "{sent}");
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "SSH-2.0");

        let mut reader = BufReader::new(&b"HTTP/1.1 407 Who?\r\n\r\n"[..]);
        let error = greet(Vec::new(), &mut reader, "h:22", None).unwrap_err();
        assert!(error.to_string().contains("407"), "{error}");
    }
}
