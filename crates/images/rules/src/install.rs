//! What may be written into the manifests of those that act by the rules here: nothing comes into YAML unchecked.

/// Whether a namespace, a secret or a claim can be called so.
pub fn is_object_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(plain)
}

/// Whether it is made of what names of images, paths and addresses are made of, and harmless wherever it is put.
pub fn is_plain_word(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b);
    !text.is_empty() && text.bytes().all(plain)
}

/// The ConfigMap with certificates of the user's own authority, which all parts mount that ask registries.
pub const TRUST_CONFIG_MAP: &str = "airside-images-trust";
/// Where they are mounted.
const TRUST_FOLDER: &str = "/etc/airside/trust";
/// What they are there.
pub const TRUST_FILE: &str = "/etc/airside/trust/ca.crt";

/// Under `volumeMounts:` of a container and `volumes:` of its pod, as lines that follow others.
pub fn trust_mount() -> String {
    format!(
        "
        - name: trust
          mountPath: {TRUST_FOLDER}
          readOnly: true"
    )
}

pub fn trust_volume() -> String {
    format!(
        "
      - name: trust
        configMap:
          name: {TRUST_CONFIG_MAP}"
    )
}
