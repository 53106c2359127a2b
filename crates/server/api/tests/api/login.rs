//! Logging in and out as `fly` does.

use crate::support::{Server, grant};
use axum::body::Body;
use http::{Request, StatusCode};

#[tokio::test]
async fn a_password_becomes_a_token() {
    let server = Server::start().await;
    let form = "grant_type=password&username=ann&password=pw&scope=openid";
    let answer = server.ask(grant(Some("fly:Zmx5"), form.into())).await;
    let token = answer.json();
    assert_eq!(
        (&token["token_type"], &token["expires_in"]),
        (&"bearer".into(), &86400.into())
    );

    let in_form = format!("{form}&client_id=fly&client_secret=Zmx5");
    assert_eq!(
        server.ask(grant(None, in_form)).await.status,
        StatusCode::OK
    );

    let ann = token["access_token"].as_str().unwrap();
    let user = server.get(ann, "/api/v1/user").await.json();
    assert_eq!(user["user_name"], "ann");
    assert_eq!(user["is_admin"], true);
    assert_eq!(user["teams"]["main"][0], "owner");
    assert_eq!(user["display_user_id"], "ann");
    let bob = server.login("bob").await;
    let user = server.get(&bob, "/api/v1/user").await.json();
    assert_eq!(
        (&user["is_admin"], &user["teams"]),
        (&false.into(), &serde_json::json!({}))
    );

    let teams = server.get(ann, "/api/v1/teams").await.json();
    assert_eq!(teams[0]["name"], "main");
    let team = server.get(ann, "/api/v1/teams/main").await.json();
    assert_eq!(team["auth"]["owner"]["users"][0], "local:ann");
}

#[tokio::test]
async fn refusals_have_the_issuers_shape() {
    let server = Server::start().await;
    let fly = Some("fly:Zmx5");
    for (client, form, status, error) in [
        (
            fly,
            "grant_type=password&username=ann&password=no",
            401,
            "access_denied",
        ),
        (
            fly,
            "grant_type=password&username=who&password=pw",
            401,
            "access_denied",
        ),
        (fly, "grant_type=password", 401, "access_denied"),
        (
            fly,
            "grant_type=client_credentials",
            400,
            "unsupported_grant_type",
        ),
        (fly, "", 400, "unsupported_grant_type"),
        (
            None,
            "grant_type=password&username=ann&password=pw",
            401,
            "invalid_client",
        ),
        (
            Some("fly:no"),
            "grant_type=password&username=ann&password=pw",
            401,
            "invalid_client",
        ),
    ] {
        let answer = server.ask(grant(client, form.into())).await;
        assert_eq!(answer.status.as_u16(), status, "{form}");
        assert_eq!(answer.json()["error"], error, "{form}");
        assert!(answer.json()["error_description"].is_string());
    }
    let wrong = "grant_type=password&username=ann&password=no";
    let answer = server.ask(grant(fly, wrong.into())).await;
    assert_eq!(
        answer.json()["error_description"],
        "Invalid username or password"
    );
    // Some of many at once wait for their turn; the first one that is refused is enough.
    let guesses = (0..30).map(|_| Box::pin(server.ask(grant(fly, wrong.into()))));
    let mut guesses = guesses.collect::<futures::stream::FuturesUnordered<_>>();
    let refused = loop {
        let answer = futures::StreamExt::next(&mut guesses).await.unwrap();
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            break answer;
        }
    };
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    drop(guesses);

    let not_a_form = Request::post("/sky/issuer/token")
        .body(Body::from("{}"))
        .unwrap();
    assert_eq!(
        server.ask(not_a_form).await.json()["error"],
        "invalid_request"
    );
}

#[tokio::test]
async fn logging_out_ends_the_token() {
    let server = Server::start().await;
    let token = server.login("ann").await;
    let logout = |cookie: String| {
        Request::get("/sky/logout")
            .header("cookie", cookie)
            .body(Body::empty())
            .unwrap()
    };
    assert_eq!(
        server.call(None, "GET", "/sky/logout").await.status,
        StatusCode::UNAUTHORIZED
    );
    for bad in [
        "skymarshal_auth=\"bearer no\"",
        "skymarshal_auth=",
        "other=1",
    ] {
        assert_eq!(
            server.ask(logout(bad.into())).await.status,
            StatusCode::UNAUTHORIZED
        );
    }
    let answer = server
        .ask(logout(format!("a=b; skymarshal_auth=\"bearer {token}\"")))
        .await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.headers.get_all("set-cookie").iter().count(), 2);
    assert_eq!(
        server.get(&token, "/api/v1/user").await.status,
        StatusCode::UNAUTHORIZED
    );
}

/// The test's server trusts the proxy on this machine.
#[tokio::test]
async fn hostile_guesses_behind_a_proxy_lock_out_their_own_address_alone() {
    let server = Server::start().await;
    let guess = |from: &str| {
        let mut request = grant(
            Some("fly:Zmx5"),
            "grant_type=password&username=ann&password=no".into(),
        );
        let value = format!("198.51.100.7, {from}").parse().unwrap();
        request.headers_mut().insert("x-forwarded-for", value);
        request
    };
    let guesses = (0..30).map(|_| Box::pin(server.ask(guess("192.0.2.1"))));
    let mut guesses = guesses.collect::<futures::stream::FuturesUnordered<_>>();
    while let Some(answer) = futures::StreamExt::next(&mut guesses).await {
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            break;
        }
    }
    assert!(!guesses.is_empty(), "one of the guesses is refused");
    for from in ["192.0.2.2", "2001:db8::1"] {
        let answer = server.ask(guess(from)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{from}");
    }
}
