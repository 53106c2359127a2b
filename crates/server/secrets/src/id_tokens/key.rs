//! Keys that sign: long RSA keys and ones on a curve, as JSON Web Keys to others.

use airside_store::SigningKey;
use aws_lc_rs::{
    encoding::{AsDer as _, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::KeySize,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Error;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    #[default]
    #[serde(rename = "RS256")]
    Rsa,
    #[serde(rename = "ES256")]
    Curve,
}

impl Algorithm {
    pub(crate) const ALL: [Self; 2] = [Self::Rsa, Self::Curve];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rsa => "RS256",
            Self::Curve => "ES256",
        }
    }
}

pub(super) struct Key {
    id: String,
    pair: Pair,
}

enum Pair {
    Rsa(RsaKeyPair),
    Curve(EcdsaKeyPair),
}

impl Key {
    /// Makes one. Takes a second or so for RSA.
    pub(super) fn generate(algorithm: Algorithm) -> Result<(Self, SigningKey), Error> {
        let failed = |_| Error::Key("no key can be made");
        let private_key = match algorithm {
            Algorithm::Rsa => {
                let pair = RsaKeyPair::generate(KeySize::Rsa4096).map_err(failed)?;
                let der: Pkcs8V1Der<'_> = pair.as_der().map_err(failed)?;
                der.as_ref().to_vec()
            }
            Algorithm::Curve => {
                let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let der = EcdsaKeyPair::generate_pkcs8(signing, &SystemRandom::new());
                der.map_err(failed)?.as_ref().to_vec()
            }
        };
        let stored = SigningKey {
            id: (rand::random::<u64>() >> 1).to_string(),
            algorithm: algorithm.name().to_owned(),
            private_key,
            created_at: airside_store::now(),
        };
        Ok((Self::read(&stored)?, stored))
    }

    pub(super) fn read(stored: &SigningKey) -> Result<Self, Error> {
        let der = &stored.private_key;
        let damaged = |_| Error::Key("a stored key cannot be read");
        let pair = if stored.algorithm == Algorithm::Rsa.name() {
            Pair::Rsa(RsaKeyPair::from_pkcs8(der).map_err(damaged)?)
        } else {
            let signing = &ECDSA_P256_SHA256_FIXED_SIGNING;
            Pair::Curve(EcdsaKeyPair::from_pkcs8(signing, der).map_err(damaged)?)
        };
        Ok(Self {
            id: stored.id.clone(),
            pair,
        })
    }

    /// Returns the public part of the key.
    pub(super) fn public(&self) -> Result<Value, Error> {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        match &self.pair {
            Pair::Rsa(pair) => {
                let public = pair.public_key().as_ref();
                let [modulus, exponent] =
                    integers(public).ok_or(Error::Key("a key has no modulus"))?;
                Ok(
                    json!({"use": "sig", "kty": "RSA", "kid": self.id, "alg": "RS256",
                    "n": encode(modulus), "e": encode(exponent)}),
                )
            }
            Pair::Curve(pair) => {
                // A point without compression: a mark, then two halves.
                let point = pair.public_key().as_ref();
                let (x, y) = point
                    .get(1..65)
                    .map(|halves| halves.split_at(32))
                    .ok_or(Error::Key("a key has no point"))?;
                Ok(
                    json!({"use": "sig", "kty": "EC", "kid": self.id, "crv": "P-256", "alg": "ES256",
                    "x": encode(x), "y": encode(y)}),
                )
            }
        }
    }

    /// A token with these claims.
    pub(super) fn sign(&self, claims: &Value) -> Result<String, Error> {
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let algorithm = match &self.pair {
            Pair::Rsa(_) => Algorithm::Rsa,
            Pair::Curve(_) => Algorithm::Curve,
        };
        let header = json!({"alg": algorithm.name(), "kid": self.id});
        let text = format!(
            "{}.{}",
            encode(header.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let (random, failed) = (SystemRandom::new(), |_| Error::Key("its key does not sign"));
        let signature = match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                let signed = pair.sign(&RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature);
                signed.map_err(failed)?;
                signature
            }
            Pair::Curve(pair) => {
                let signed = pair.sign(&random, text.as_bytes()).map_err(failed)?;
                signed.as_ref().to_vec()
            }
        };
        Ok(format!("{text}.{}", encode(&signature)))
    }
}

/// The two numbers of an RSA public key: a sequence of two integers in DER, without leading zeros.
fn integers(der: &[u8]) -> Option<[&[u8]; 2]> {
    let (inside, _) = element(der, 0x30)?;
    let (modulus, rest) = element(inside, 0x02)?;
    let (exponent, _) = element(rest, 0x02)?;
    let plain = |number: &'_ [u8]| number.iter().take_while(|byte| **byte == 0).count();
    Some([&modulus[plain(modulus)..], &exponent[plain(exponent)..]])
}

/// The content of the first element, which has this tag, and what comes after it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        short @ 0..0x80 => (usize::from(short), rest),
        long => {
            let (bytes, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length = bytes.iter().try_fold(0usize, |sum, byte| {
                Some(sum.checked_mul(256)? + usize::from(*byte))
            })?;
            (length, rest)
        }
    };
    (found == tag).then_some(())?;
    rest.split_at_checked(length)
}
