//! The tags of a repository, page by page. Pages that were read before and have not changed are not
//! sent again.

use airside_blocking_http::{Address, Request};

use super::{MAX_DOCUMENT, Registry, document};
use crate::Failure;

/// Registries cut pages at round numbers, whatever they are asked for.
const ROUND: usize = 10;

/// All tags, and the validator with which the registry answers that they have not changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagList(Vec<Page>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    address: Address,
    mark: Option<String>,
    tags: Vec<String>,
    /// Address of the next page.
    next: Option<Address>,
}

impl TagList {
    pub fn into_tags(self) -> Vec<String> {
        self.0.into_iter().flat_map(|page| page.tags).collect()
    }

    /// The page as it was, if the registry may be asked whether it still is. Some make the mark of
    /// the tags alone: a full page that was the last has the same one once there are more, and says
    /// nothing of the next page.
    fn known(&self, address: &Address) -> Option<(&Page, &str)> {
        let page = self.0.iter().find(|page| page.address == *address)?;
        let mark = page.mark.as_deref()?;
        let first = self.0.first().map_or(0, |first| first.tags.len());
        let is_full = match self.0.len() {
            1 => page.tags.len().is_multiple_of(ROUND),
            _ => page.tags.len() >= first,
        };
        (page.next.is_some() || !is_full).then_some((page, mark))
    }
}

impl Registry {
    /// All of them; none of a repository that is not there.
    pub(crate) fn tags(&self) -> Result<Vec<String>, Failure> {
        Ok(self.tag_list(&TagList::default())?.into_tags())
    }

    /// Lists the tags again, where `before` is the last answer.
    pub(crate) fn tag_list(&self, before: &TagList) -> Result<TagList, Failure> {
        let mut pages: Vec<Page> = Vec::new();
        let mut next = Some(self.url("tags/list?n=1000")?);
        while let Some(address) = next.take() {
            // A registry that leads back to an earlier page has listed everything.
            if pages.iter().any(|page| page.address == address) {
                break;
            }
            let known = before.known(&address);
            let mut request = Request::get(address.clone());
            if let Some((_, mark)) = known {
                request = request.header("If-None-Match", mark);
            }
            let response = self.send(request)?;
            let page = match (response.status, known) {
                (404, _) => break,
                (304, Some((page, _))) => {
                    self.client.done(response);
                    page.clone()
                }
                _ => {
                    let what = format!("the tags of {}", self.repository);
                    let response = response
                        .success("GET")
                        .map_err(|error| self.explain(error, &what))?;
                    let mark = response.header("etag").map(str::to_owned);
                    let link = response.header("link").and_then(next_page);
                    let next = link.map(|link| address.join(link)).transpose()?;
                    let told: Told = document::parse(&response.bytes(MAX_DOCUMENT)?, &what)?;
                    Page {
                        address,
                        mark,
                        tags: told.tags.unwrap_or_default(),
                        next,
                    }
                }
            };
            next.clone_from(&page.next);
            pages.push(page);
        }
        Ok(TagList(pages))
    }
}

#[derive(serde::Deserialize)]
struct Told {
    tags: Option<Vec<String>>,
}

/// `<address>; rel="next"`.
fn next_page(link: &str) -> Option<&str> {
    let (address, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(at: usize) -> Address {
        Address::parse(&format!("https://r.example/{at}")).unwrap()
    }

    fn page(at: usize, tags: usize, is_last: bool) -> Page {
        Page {
            address: address(at),
            mark: Some("m".to_owned()),
            tags: vec!["t".to_owned(); tags],
            next: (!is_last).then(|| address(at + 1)),
        }
    }

    #[test]
    fn a_last_page_that_is_full_is_read_again() {
        for (sizes, expected) in [
            (&[7][..], &[true][..]),
            (&[0], &[false]),
            (&[100], &[false]),
            (&[100, 100, 7], &[true, true, true]),
            (&[100, 10], &[true, true]),
            (&[3, 3], &[true, false]),
            (&[3, 4], &[true, false]),
        ] {
            let last = sizes.len() - 1;
            let pages = sizes.iter().enumerate();
            let list = TagList(
                pages
                    .map(|(at, size)| page(at, *size, at == last))
                    .collect(),
            );
            let asked: Vec<bool> = (0..sizes.len())
                .map(|at| list.known(&address(at)).is_some())
                .collect();
            assert_eq!(asked, expected, "{sizes:?}");
        }
    }

    #[test]
    fn a_registry_that_gives_no_mark_is_asked_as_before() {
        let list = TagList(vec![Page {
            mark: None,
            ..page(0, 7, true)
        }]);
        assert_eq!(list.known(&address(0)), None);
        assert_eq!(list.known(&address(1)), None);
    }

    #[test]
    fn where_the_next_page_is() {
        assert_eq!(
            next_page("</v2/a/tags/list?last=b>; rel=\"next\""),
            Some("/v2/a/tags/list?last=b")
        );
        for other in ["", "</x>; rel=\"prev\"", "/x; rel=next"] {
            assert_eq!(next_page(other), None, "{other}");
        }
    }
}
