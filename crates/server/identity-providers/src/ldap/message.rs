//! Messages to a directory and its responses: of LDAP, binding, searching and StartTLS.

use super::{
    SearchDepth,
    ber::{BOOLEAN, ENUMERATED, INTEGER, Reader, SEQUENCE, SET, joined, number, tagged, text},
    entry::LdapEntry,
    filter::Filter,
};

const BIND: u8 = 0x60;
const BIND_RESPONSE: u8 = 0x61;
const UNBIND: u8 = 0x42;
const SEARCH: u8 = 0x63;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_DONE: u8 = 0x65;
const SEARCH_REFERENCE: u8 = 0x73;
const EXTENDED: u8 = 0x77;
const EXTENDED_RESPONSE: u8 = 0x78;
/// Simple authentication, and the name of an extended request.
const FIRST: u8 = 0x80;
const START_TLS: &str = "1.3.6.1.4.1.1466.20037";

pub(crate) fn bind(dn: &str, password: &str) -> Vec<u8> {
    let version = number(INTEGER, 3);
    joined(
        BIND,
        &[version, text(dn), tagged(FIRST, password.as_bytes())],
    )
}

pub(crate) fn search(
    base: &str,
    reach: SearchDepth,
    filter: &Filter,
    attributes: &[&str],
) -> Vec<u8> {
    let scope = match reach {
        SearchDepth::OneLevel => 1,
        SearchDepth::Subtree => 2,
    };
    let attributes: Vec<Vec<u8>> = attributes.iter().map(|name| text(name)).collect();
    let parts = [
        text(base),
        number(ENUMERATED, scope),
        number(ENUMERATED, 0), // aliases stay aliases
        number(INTEGER, 0),    // the directory's own limit of entries
        number(INTEGER, 0),    // and of time; ours is elsewhere
        tagged(BOOLEAN, &[0]), // values, not their types alone
        filter.0.clone(),
        joined(SEQUENCE, &attributes),
    ];
    joined(SEARCH, &parts)
}

pub(crate) fn start_tls() -> Vec<u8> {
    joined(EXTENDED, &[tagged(FIRST, START_TLS.as_bytes())])
}

pub(crate) fn unbind() -> Vec<u8> {
    tagged(UNBIND, &[])
}

pub(crate) fn wrap(id: u32, operation: &[u8]) -> Vec<u8> {
    joined(SEQUENCE, &[number(INTEGER, id), operation.to_vec()])
}

/// The result that a directory sends at the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) code: u32,
    pub(crate) words: String,
}

#[derive(Debug)]
pub(crate) enum LdapAnswer {
    Done(Outcome),
    Entry(LdapEntry),
    /// Somewhere else to look, which we do not.
    Reference,
}

/// The answer to our message, from what stands inside the frame; `None` if it is anything else.
pub(crate) fn read(message: &[u8], id: u32) -> Option<LdapAnswer> {
    let mut parts = Reader(message);
    if parts.number(INTEGER)? != id {
        return None;
    }
    let (tag, content) = parts.next()?;
    let mut content = Reader(content);
    match tag {
        BIND_RESPONSE | SEARCH_DONE | EXTENDED_RESPONSE => {
            let code = content.number(ENUMERATED)?;
            let _matched = content.text()?;
            let words = content.text()?.to_owned();
            Some(LdapAnswer::Done(Outcome { code, words }))
        }
        SEARCH_ENTRY => entry(content).map(LdapAnswer::Entry),
        SEARCH_REFERENCE => Some(LdapAnswer::Reference),
        _ => None,
    }
}

fn entry(mut content: Reader<'_>) -> Option<LdapEntry> {
    let dn = content.text()?.to_owned();
    let mut attributes = Vec::new();
    let mut list = Reader(content.expect(SEQUENCE)?);
    while !list.is_empty() {
        let mut attribute = Reader(list.expect(SEQUENCE)?);
        let name = attribute.text()?.to_owned();
        let mut set = Reader(attribute.expect(SET)?);
        let mut values = Vec::new();
        while !set.is_empty() {
            // A value that is not text is left out: no user has such a name.
            let value = set.expect(super::ber::OCTETS)?;
            values.extend(String::from_utf8(value.to_vec()).ok());
        }
        attributes.push((name, values));
    }
    Some(LdapEntry { dn, attributes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Vec<u8> {
        let values = joined(SET, &[text("ann"), tagged(4, &[0xff])]);
        let attributes = joined(SEQUENCE, &[joined(SEQUENCE, &[text("uid"), values])]);
        let entry = joined(SEARCH_ENTRY, &[text("uid=ann"), attributes]);
        [number(INTEGER, 7), entry].concat()
    }

    #[test]
    fn entries_and_outcomes_are_read() {
        let Some(LdapAnswer::Entry(entry)) = read(&found(), 7) else {
            panic!("no entry");
        };
        assert_eq!((&*entry.dn, entry.first("UID")), ("uid=ann", Some("ann")));
        assert_eq!(entry.values("uid").len(), 1);
        let done = joined(
            BIND_RESPONSE,
            &[number(ENUMERATED, 49), text(""), text("no")],
        );
        let message = [number(INTEGER, 7), done].concat();
        let Some(LdapAnswer::Done(outcome)) = read(&message, 7) else {
            panic!("no outcome");
        };
        assert_eq!((outcome.code, &*outcome.words), (49, "no"));
        assert!(read(&message, 8).is_none(), "another message's");
    }

    #[test]
    fn nonsense_is_none_wherever_it_stands() {
        let good = found();
        for end in 0..good.len() {
            assert!(read(&good[..end], 7).is_none(), "cut at {end}");
        }
        for index in 0..good.len() {
            for bit in 0..8 {
                let mut bytes = good.clone();
                bytes[index] ^= 1 << bit;
                let _ = read(&bytes, 7);
            }
        }
    }
}
