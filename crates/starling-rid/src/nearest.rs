//! The nearest name to a mistyped one.

/// The candidate closest to `wanted`, if one is close enough to be meant.
pub(crate) fn nearest<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    let limit = (wanted.chars().count() / 3).max(2);
    candidates
        .into_iter()
        .map(|c| (strsim::levenshtein(&wanted, &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= limit)
        .min_by_key(|(d, _)| *d)
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_only_what_is_near() {
        let names = ["connect.address", "callbacks.io"];
        assert_eq!(nearest("conect.adress", names), Some("connect.address"));
        assert_eq!(nearest("Connect.Address", names), Some("connect.address"));
        assert_eq!(nearest("zzz", names), None);
    }
}
