//! The records of a pax header: `length key=value\n`, one after the other.

use crate::Error;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Pax {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub mtime: Option<u64>,
    /// The entry's data is a sparse map and not the file: we must not write it as the file.
    pub sparse: bool,
}

impl Pax {
    pub(crate) fn parse(mut data: &[u8]) -> Result<Self, Error> {
        let damaged = || Error::damaged("a pax header cannot be read");
        let mut pax = Self::default();
        while !data.is_empty() {
            let space = data
                .iter()
                .position(|byte| *byte == b' ')
                .ok_or_else(damaged)?;
            let length: usize = number(&data[..space]).ok_or_else(damaged)?;
            if length <= space + 1 || length > data.len() || data[length - 1] != b'\n' {
                return Err(damaged());
            }
            let record = &data[space + 1..length - 1];
            let equals = record
                .iter()
                .position(|byte| *byte == b'=')
                .ok_or_else(damaged)?;
            pax.set(&record[..equals], &record[equals + 1..])
                .ok_or_else(damaged)?;
            data = &data[length..];
        }
        Ok(pax)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(number(value)?),
            b"uid" => self.uid = Some(number(value)?),
            b"gid" => self.gid = Some(number(value)?),
            b"mtime" => {
                // Times before 1970 have a sign; they become 1970.
                let whole = value.split(|byte| *byte == b'.').next()?;
                self.mtime = Some(number(whole).unwrap_or(0));
            }
            _ if key.starts_with(b"GNU.sparse.") => self.sparse = true,
            _ => {}
        }
        Some(())
    }
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_and_unknown_ones_ignored() {
        let pax = Pax::parse(b"12 path=a b\n11 size=12\n21 mtime=1234.500000\n7 x=yz\n").unwrap();
        assert_eq!(pax.path.as_deref(), Some(&b"a b"[..]));
        assert_eq!(
            (pax.size, pax.mtime, pax.sparse),
            (Some(12), Some(1234), false)
        );
        assert!(Pax::parse(b"22 GNU.sparse.major=1\n").unwrap().sparse);
    }

    #[test]
    fn malformed_records_are_refused() {
        for bad in [
            "x",
            "99 path=a\n",
            "5 pat",
            "0 a=b\n",
            "6 abc\n",
            "3 \n",
            "9 size=x\n",
        ] {
            assert!(Pax::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
