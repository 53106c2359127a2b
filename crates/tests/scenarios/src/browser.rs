//! A web browser with just enough to log in: cookies, redirects, one form.

use std::collections::BTreeMap;

use crate::Server;

#[derive(Default)]
pub struct Browser {
    cookies: BTreeMap<String, String>,
}

/// A page: where the browser came to be, and what it shows.
pub struct Page {
    pub path: String,
    pub text: String,
}

impl Browser {
    /// Opens a page, wherever on the server it leads.
    pub fn open(&mut self, server: &Server, path: &str) -> Page {
        self.follow(server, "GET", path, "")
    }

    /// Fills in the form of a login page and sends it: the page that comes of it.
    pub fn log_in(&mut self, server: &Server, page: &Page, user: &str, password: &str) -> Page {
        let action = attribute(&page.text, "<form", "action").expect("the page has a form");
        let state = attribute(&page.text, "type=\"hidden\" name=\"state\"", "value");
        let state = state.expect("the form knows where the login began");
        let form = format!("login={user}&password={password}&state={state}");
        self.follow(server, "POST", &action, &form)
    }

    fn follow(&mut self, server: &Server, method: &str, path: &str, form: &str) -> Page {
        let (mut method, mut path, mut form) = (method, path.to_owned(), form);
        for _ in 0..10 {
            let (head, text) = self.send(server, method, &path, form);
            let Some(onwards) = header(&head, "location").next() else {
                return Page { path, text };
            };
            path = onwards.trim_start_matches(&server.url()).to_owned();
            (method, form) = ("GET", "");
        }
        panic!("redirected in circles, at last to {path}");
    }

    fn send(&mut self, server: &Server, method: &str, path: &str, form: &str) -> (String, String) {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let headers = [
            ("Cookie", cookies.join("; ")),
            (
                "Content-Type",
                "application/x-www-form-urlencoded".to_owned(),
            ),
        ];
        let headers = headers
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let (head, text) = server.http_whole(method, path, &headers, form);
        for line in header(&head, "set-cookie") {
            let cookie = line.split(';').next().unwrap_or_default();
            let (name, value) = cookie.split_once('=').expect("a cookie has a value");
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
        (head, text)
    }
}

fn header<'a>(head: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

/// The attribute of the first element that holds `words`.
fn attribute(page: &str, words: &str, name: &str) -> Option<String> {
    let element = page
        .split('<')
        .find(|each| format!("<{each}").contains(words))?;
    let value = element.split(&format!("{name}=\"")).nth(1)?;
    Some(value.split('"').next()?.replace("&amp;", "&"))
}
