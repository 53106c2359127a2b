//! Images that a pipeline names to get at what is the server's.

use std::{
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use airside_scenarios::{ServerOptions, pipelines::job};

/// Counts those who connect.
fn listen() -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            seen.fetch_add(1, Ordering::Relaxed);
            drop(stream);
        }
    });
    (port, count)
}

#[test]
fn an_image_of_ecr_gets_neither_the_servers_keys_nor_a_login() {
    let (aws, asked) = listen();
    let (evil, heard) = listen();
    let server = ServerOptions::new()
        .env("AWS_ACCESS_KEY_ID", "operators-id")
        .env("AWS_SECRET_ACCESS_KEY", "operators-secret")
        .env("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{aws}"))
        .start();
    let fly = server.fly();
    for account in [
        String::new(),
        format!(", aws_account_id: '127.0.0.1:{evil}/x'"),
    ] {
        let digest = format!("sha256:{}", "0".repeat(64));
        let task = format!(
            "  - task: work\n    config:\n      platform: linux\n      \
             image_resource: {{type: registry-image, source: {{repository: some/name, aws_region: eu-west-1{account}}}, \
             version: {{digest: '{digest}'}}}}\n      \
             run: {{path: 'true'}}\n"
        );
        fly.pipeline("p", &job(&[task]));
        let output = fly.trigger_and_watch("p/job").ended_with(2);
        assert!(output.stdout.contains("source.aws_ac"), "{output:?}");
    }
    let counts = [asked, heard].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counts, [0, 0]);
}
