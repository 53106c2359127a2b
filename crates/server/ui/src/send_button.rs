//! Buttons that send a request to the API.

use askama::Template;

/// A button that sends one request, as `page.js` reads it from the markup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Template)]
#[template(path = "send_button.html")]
pub struct SendButton {
    text: String,
    icon: &'static str,
    class: &'static str,
    method: &'static str,
    url: String,
    parts: &'static str,
    body: Option<String>,
    confirm: Option<String>,
    goto: Option<&'static str>,
    refusal: Option<String>,
    is_small: bool,
    state: Option<(&'static str, &'static str)>,
    moves: &'static str,
    ask: Option<(&'static str, String, String)>,
}

impl SendButton {
    /// Makes a button with a text and an icon.
    pub fn new(method: &'static str, url: String, text: &str, icon: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            icon,
            class: "btn",
            method,
            url,
            ..Self::default()
        }
    }

    /// Makes a button that is an icon alone; its text is for readers.
    pub fn small(method: &'static str, url: String, text: &str, icon: &'static str) -> Self {
        Self {
            is_small: true,
            class: "icon-btn icon-btn-24",
            ..Self::new(method, url, text, icon)
        }
    }

    /// Sets the classes.
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }

    /// Sets the ids of the parts that change with the request.
    pub fn parts(self, parts: &'static str) -> Self {
        Self { parts, ..self }
    }

    /// Sets the body, as JSON.
    pub fn body(self, body: String) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    /// Sets the question to ask first.
    pub fn confirm(self, question: String) -> Self {
        Self {
            confirm: Some(question),
            ..self
        }
    }

    /// Sets the page to go to after the request.
    pub fn goto(self, goto: &'static str) -> Self {
        Self {
            goto: Some(goto),
            ..self
        }
    }

    /// Sets the reason for which the button is disabled.
    pub fn refused(self, reason: String) -> Self {
        Self {
            refusal: Some(reason),
            ..self
        }
    }

    /// Sets an attribute that tells readers the state, such as `aria-pressed`.
    pub fn state(self, name: &'static str, value: &'static str) -> Self {
        Self {
            state: Some((name, value)),
            ..self
        }
    }

    /// Makes `lists.js` fill the body with the order of the rows after a move `up` or `down`.
    pub fn moves(self, direction: &'static str) -> Self {
        Self {
            moves: direction,
            ..self
        }
    }

    /// Makes the page ask for a text first, which becomes this field of the body.
    pub fn ask(self, field: &'static str, question: String, value: String) -> Self {
        Self {
            ask: Some((field, question, value)),
            ..self
        }
    }
}
