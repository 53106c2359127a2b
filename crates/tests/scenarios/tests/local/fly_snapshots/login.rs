//! Getting in, who one is, and getting out again.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Stdio,
};

use airside_scenarios::{Browser, Database, Output, Server, Transcript, wait_for};

pub(crate) fn password_login(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::begin(&server);
    for line in [
        "fly -t main status",
        "fly -t main login -c $URL -u test -p test",
        "fly -t main status",
        "fly targets",
        "fly --print-table-headers targets",
        "fly -t main userinfo",
        "fly -t main userinfo --json",
        "fly -t wrong login -c $URL -u test -p wrong",
        "fly -t wrong login -c $URL -u nobody -p test",
        "fly -t wrong login -c $URL -n nowhere -u test -p test",
        "fly -t wrong login -c $URL -u bob -p bob",
        "fly -t wrong login -c http://127.0.0.1:1 -u test -p test",
        "fly targets",
        "fly -t main logout",
        "fly -t main status",
        "fly -t main pipelines",
        "fly -t main set-wall -m hello",
        "fly targets",
        "fly -t main login -u test -p test",
        "fly logout --all",
        "fly -t main userinfo",
        "fly -t other status",
        "fly status",
    ] {
        session.run(line);
    }
    session.compare("password_login");
}

/// fly waits for a token while a person logs in with a browser, which hands the token over; or it
/// is pasted.
pub(crate) fn browser_login(database: Database) {
    let server = super::server(database);
    let mut session = Transcript::begin(&server);
    let token = hand_over(&server, &mut session);
    session.run("fly -t browser status");
    session.run("fly -t browser userinfo");
    session.run("fly targets");
    session
        .about("the same token pasted")
        .file("token", &format!("{token}\r"));
    session.run("cat token | fly -t pasted login -c $URL");
    session.run("fly -t pasted status");
    session
        .about("nonsense pasted")
        .file("token", "bearer nonsense\r");
    session.run("cat token | fly -t nonsense login -c $URL");
    session.compare("browser_login");
}

/// Plays the browser for a fly that waits, and gives the token as the last page shows it.
fn hand_over(server: &Server, session: &mut Transcript) -> String {
    let line = "fly -t browser login -c $URL";
    let mut fly = session
        .command(&format!("{line} > printed"))
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Its end would be that of fly.
    let _stdin = fly.stdin.take();
    let printed = || std::fs::read_to_string(session.home().join("printed")).unwrap_or_default();
    let port = wait_for("fly says where it waits", || {
        let text = printed();
        let digits = text.split("/login?fly_port=").nth(1)?.split_once('\r')?.0;
        digits.parse::<u16>().ok()
    });
    let mut browser = Browser::default();
    let form = browser.open(server, &format!("/login?fly_port={port}"));
    let page = browser.log_in(server, &form, "test", "test");
    let link = page.text.split("href=\"").nth(1).unwrap();
    let link = link.split('"').next().unwrap();
    let path = link.strip_prefix(&format!("http://127.0.0.1:{port}"));
    let mut waiting = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let path = path.expect("the page hands the token to fly");
    write!(waiting, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let _ = waiting.read_to_end(&mut Vec::new());
    let ended = fly.wait().unwrap();
    // fly leaves its prompt wherever that is, so what lies between is different each time.
    let all = printed();
    let before = all
        .split('\x1b')
        .next()
        .unwrap_or_default()
        .trim_end_matches('\n');
    let after = all.rsplit('\r').nth(1).unwrap_or_default();
    let output = Output {
        code: ended.code(),
        stdout: format!("{before}\n\n<prompt>\n{after}\n"),
        stderr: String::new(),
    };
    session.note(line, &output);
    let shown = page.text.split("<code id=\"token\">").nth(1).unwrap();
    shown.split("</code>").next().unwrap().to_owned()
}
