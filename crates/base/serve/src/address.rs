//! Addresses on which servers listen, as options give them.

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
};

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "an address is written IP:PORT or NAME:PORT, for example 127.0.0.1:8080, [::1]:8080 or localhost:8080"
    )]
    Form,
    #[error("the name `{name}` has no address: {error}")]
    Name { name: String, error: io::Error },
}

/// Reads an address to listen on. A name is looked up once, and has one address: its first of IPv4,
/// or else its first. A server listens on one address, and `localhost` is then the one that people
/// and programs mean by `127.0.0.1`.
pub fn listen_address(text: &str) -> Result<SocketAddr, AddressError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (name, port) = text.rsplit_once(':').ok_or(AddressError::Form)?;
    let port: u16 = port.parse().map_err(|_| AddressError::Form)?;
    if name.is_empty() || name.contains([':', '[', ']', '/', ' ']) {
        return Err(AddressError::Form);
    }
    let failed = |error| AddressError::Name {
        name: name.to_owned(),
        error,
    };
    let found: Vec<SocketAddr> = (name, port).to_socket_addrs().map_err(failed)?.collect();
    preferred(&found).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))
}

fn preferred(found: &[SocketAddr]) -> Option<SocketAddr> {
    let mut of_ipv4 = found.iter().filter(|address| address.is_ipv4());
    of_ipv4.next().or_else(|| found.first()).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_names_are_read() {
        for (text, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("[::1]:0", "[::1]:0"),
            ("localhost:8080", "127.0.0.1:8080"),
        ] {
            let address = listen_address(text).unwrap();
            assert_eq!(address.to_string(), expected);
        }
        for text in [
            "",
            "8080",
            ":8080",
            "here",
            "::1:8080x",
            "a b:1",
            "host:99999",
            "http://a:1",
        ] {
            let error = listen_address(text).unwrap_err();
            assert!(matches!(error, AddressError::Form), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_name_has_its_first_address_of_ipv4() {
        let [six, four, other] = ["[::1]:1", "127.0.0.1:1", "127.0.0.2:1"];
        let parsed = |all: &[&str]| -> Vec<SocketAddr> {
            all.iter().map(|text| text.parse().unwrap()).collect()
        };
        assert_eq!(preferred(&parsed(&[six, four, other])), four.parse().ok());
        assert_eq!(preferred(&parsed(&[six])), six.parse().ok());
        assert_eq!(preferred(&[]), None);
    }
}
