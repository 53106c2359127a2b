//! Checks of names that users give, so that a mistake is reported before the API server refuses it.

/// Returns true if a namespace, a Secret or a claim can have this name.
pub fn is_object_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(plain)
}

/// Returns true if a text has only characters that names of images, paths and addresses have.
pub fn is_image_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._/:@".contains(&b);
    !text.is_empty() && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects() {
        assert!(is_object_name("airside-images"));
        for bad in ["", "A", "a: b", "a.b", &"a".repeat(64)] {
            assert!(!is_object_name(bad), "{bad}");
        }
    }

    #[test]
    fn names_of_images() {
        assert!(is_image_name("ci.example.com:5000/airside:1"));
        assert!(is_image_name(crate::DEFAULT_IMAGE));
        for bad in ["", "a b", "a\nb", "a\""] {
            assert!(!is_image_name(bad), "{bad}");
        }
    }
}
