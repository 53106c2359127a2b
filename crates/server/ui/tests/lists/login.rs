//! Pages around a login.

use airside_ui::{FlyToken, LoginForm, LoginNote, LogoutForm};

use crate::HOSTILE;

#[track_caller]
fn snapshot(name: &str, page: &str) {
    let (_, content) = page.split_once("<main").expect("it has content");
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, content);
    });
    let head = page.split_once("<svg").expect("it has symbols").0;
    assert!(!head.contains("page.js") && !page.contains("<style") && !page.contains(" style="));
}

fn form() -> LoginForm {
    LoginForm {
        state: "sealed".to_owned(),
        takes_passwords: true,
        ..LoginForm::default()
    }
}

#[test]
fn the_form_asks_for_a_name_and_a_password() {
    snapshot("login", &form().render_page());
}

#[test]
fn the_form_says_why_a_name_was_not_let_in() {
    let wrong = LoginForm {
        directory: Some("Acme".to_owned()),
        providers: vec![("oidc", "Acme <ID>".to_owned())],
        tried: Some(("ana".to_owned(), "Invalid username or password".to_owned())),
        is_for_fly: true,
        ..form()
    };
    snapshot("login_wrong", &wrong.render_page());
}

#[test]
fn providers_alone_need_no_form() {
    let providers = LoginForm {
        takes_passwords: false,
        providers: vec![("github", "GitHub".to_owned())],
        ..form()
    };
    let page = providers.render_page();
    assert!(
        page.contains("Log in with GitHub") && !page.contains("<form"),
        "{page}"
    );
}

#[test]
fn a_token_is_handed_to_fly_or_copied() {
    let send = Some("http://127.0.0.1:4711/?token=bearer%20t".to_owned());
    let page = FlyToken { token: "t", send }.render_page();
    assert_eq!(page.matches("<script").count(), 1);
    snapshot("login_fly", &page);
    let page = FlyToken {
        token: "t",
        send: None,
    }
    .render_page();
    assert_eq!(page.matches("<script").count(), 0);
    snapshot("login_token", &page);
}

#[test]
fn notes_lead_on() {
    snapshot("logout", &LogoutForm { csrf: "proof" }.render_page());
    let note = LoginNote {
        title: "Not logged in",
        text: HOSTILE,
        code: Some(HOSTILE),
        is_alert: true,
        onwards: Some(("Log in again", format!("/sky/login?redirect_uri={HOSTILE}"))),
    };
    snapshot("login_note", &note.render_page());
}

#[test]
fn hostile_names_stay_text_on_logins() {
    let page = LoginForm {
        state: HOSTILE.to_owned(),
        directory: Some(HOSTILE.to_owned()),
        providers: vec![("oidc", HOSTILE.to_owned())],
        tried: Some((HOSTILE.to_owned(), HOSTILE.to_owned())),
        ..form()
    };
    assert!(!page.render_page().contains("<script"));
    let token = FlyToken {
        token: HOSTILE,
        send: None,
    };
    assert!(!token.render_page().contains("<script"));
    assert!(
        !LogoutForm { csrf: HOSTILE }
            .render_page()
            .contains("<script")
    );
}
