//! The real fly against this API, where `AIRSIDE_FLY` says where it is.

use std::{path::PathBuf, process::Stdio};

use crate::support::{PIPELINE, Server};
use airside_store::testing::TestDatabase;
use tokio::process::Command;

airside_store::on_both_databases!(fly_manages_teams_and_pipelines);

struct Fly {
    program: PathBuf,
    home: tempfile::TempDir,
}

impl Fly {
    /// Runs a command; its exit code and all that it wrote.
    async fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = Command::new(&self.program)
            .args(["-t", "t"])
            .args(arguments)
            .env("HOME", self.home.path())
            .env("FAKE_FLY_VERSION", "8.3.0")
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8(text).unwrap();
        (output.status.code().unwrap_or(-1), text)
    }

    async fn ok(&self, command: &str) -> String {
        let arguments: Vec<&str> = command.split(' ').collect();
        let (code, text) = self.run(&arguments).await;
        assert_eq!(code, 0, "fly {command}: {text}");
        text
    }
}

async fn fly_manages_teams_and_pipelines(database: TestDatabase) {
    let Some(program) = std::env::var_os("AIRSIDE_FLY") else {
        return;
    };
    let server = Server::start_on(database).await;
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("p.yml"), PIPELINE).unwrap();
    let fly = Fly {
        program: program.into(),
        home,
    };
    let url = format!("http://{}", server.address);
    fly.ok(&format!("login -c {url} -u ann -p pw")).await;
    fly.ok("status").await;
    assert!(fly.ok("userinfo").await.contains("ann"));

    fly.ok("set-team -n crew --local-user bob --non-interactive")
        .await;
    assert!(fly.ok("teams").await.contains("crew"));
    assert!(fly.ok("get-team -n crew").await.contains("local:bob"));
    fly.ok("rename-team -o crew -n gang").await;
    let (code, text) = fly
        .run(&["destroy-team", "-n", "gang", "--non-interactive"])
        .await;
    assert_eq!(code, 0, "{text}");

    for name in ["p", "q"] {
        fly.ok(&format!("set-pipeline -n -p {name} -c p.yml")).await;
    }
    fly.ok("set-pipeline -n -p i -c p.yml -i branch=main -i n.m=1")
        .await;
    let same = fly
        .ok("set-pipeline -n -p i -c p.yml -i branch=main -i n.m=1")
        .await;
    assert!(same.contains("no changes to apply"), "{same}");
    let listed = fly.ok("pipelines").await;
    assert!(listed.contains("i/branch:main,n.m:1"), "{listed}");
    fly.ok("get-pipeline -p i/branch:main,n.m:1").await;
    fly.ok("order-pipelines -p q -p p").await;
    let listed = fly.ok("pipelines").await;
    assert!(listed.find("q  ") < listed.find("p  "), "{listed}");
    for command in [
        "unpause-pipeline -p q",
        "pause-pipeline -p q",
        "expose-pipeline -p q",
        "hide-pipeline -p q",
        "pause-job -j q/hello",
        "unpause-job -j q/hello",
        "rename-pipeline -o q -n z",
        "archive-pipeline -n -p z",
        "destroy-pipeline -n -p z",
        "unpause-pipeline -p i/branch:main,n.m:1",
        "destroy-pipeline -n -p i/branch:main,n.m:1",
        "checklist -p p",
        "jobs -p p",
        "resources -p p",
        "set-wall -m hello --ttl 1h",
        "get-wall",
        "clear-wall",
        "active-users",
        "get-components",
        "health",
        "logout",
    ] {
        fly.ok(command).await;
    }
    let (code, _) = fly.run(&["status"]).await;
    assert_ne!(code, 0, "logged out");
}
