//! Makes authorities and certificates. When, is decided elsewhere.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// Clocks of clients that are behind ours by less find certificates valid.
const BACKDATED: SignedDuration = SignedDuration::from_mins(10);

#[derive(Debug, thiserror::Error)]
#[error("no certificate can be made")]
pub struct IssueError(#[from] rcgen::Error);

/// A certificate and its key, as PEM.
pub(crate) struct Issued {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Makes a new authority. Its name has the time in it: a client that looks for an authority by name
/// would confuse two of one name.
pub(crate) fn authority(
    called: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Issued, IssueError> {
    let key = KeyPair::generate()?;
    let mut params = authority_params(&format!("{called} {now}"))?;
    valid(&mut params, now, until);
    Ok(Issued {
        certificate: params.self_signed(&key)?.pem(),
        key: key.serialize_pem(),
    })
}

/// A certificate of the authority with this name and key.
pub(crate) fn leaf(
    names: &[String],
    authority_name: &str,
    authority_key: &str,
    now: Timestamp,
    until: Timestamp,
) -> Result<Issued, IssueError> {
    let key = KeyPair::generate()?;
    let issuer = Issuer::new(
        authority_params(authority_name)?,
        KeyPair::from_pem(authority_key)?,
    );
    let mut params = CertificateParams::new(names.to_vec())?;
    let name = names.first().map_or("airside", String::as_str);
    // The longest that a common name may be; clients look at the others.
    let common: String = name.chars().take(64).collect();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    valid(&mut params, now, until);
    Ok(Issued {
        certificate: params.signed_by(&key, &issuer)?.pem(),
        key: key.serialize_pem(),
    })
}

fn authority_params(name: &str) -> Result<CertificateParams, IssueError> {
    let mut params = CertificateParams::new(Vec::<String>::new())?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(params)
}

fn valid(params: &mut CertificateParams, now: Timestamp, until: Timestamp) {
    // Timestamps end with the year 9999, which certificates can hold.
    let since = |at: Timestamp| Duration::from_secs(u64::try_from(at.as_second()).unwrap_or(0));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since(now - BACKDATED);
    params.not_after = epoch + since(until);
}
