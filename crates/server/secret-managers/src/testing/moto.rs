//! moto, an implementation of AWS by others, which checks signatures, too. Where it is not there
//! (`dev/setup` puts it into the cache), tests say so and are skipped.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stderr, reason = "whoever runs the test is told")]

use std::{
    io::{BufRead, BufReader},
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use airside_aws::{EMPTY, Keys, Signer, xml};
use airside_blocking_http::{Address, Client, Payload, Request, Trust};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::AwsSettings;

/// The role that [`Moto::make_role`] makes.
pub const ROLE: &str = "arn:aws:iam::123456789012:role/server";

pub struct Moto {
    process: Child,
    pub url: String,
    /// Keys of a user who may do everything.
    pub keys: Keys,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, if it is there.
fn program() -> Option<PathBuf> {
    let given = std::env::var_os("AIRSIDE_MOTO").map(PathBuf::from);
    let cache = std::env::var_os("AIRSIDE_CACHE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/airside"));
    let cached = cache
        .or(home)
        .map(|cache| cache.join("moto/bin/moto_server"));
    given.or(cached).filter(|program| program.exists())
}

impl Moto {
    pub const REGION: &str = "eu-west-1";

    pub fn start() -> Option<Self> {
        Self::start_at(Ipv4Addr::LOCALHOST.into())
    }

    /// Starts it at an address that other machines reach.
    pub fn start_at(ip: IpAddr) -> Option<Self> {
        let Some(program) = program() else {
            eprintln!("moto is not there; skipped");
            return None;
        };
        let mut process = Command::new(program)
            .args(["-H", &ip.to_string(), "-p", "0"])
            // This many calls make a user; all others are signed by a user, and checked.
            .env("INITIAL_NO_AUTH_ACTION_COUNT", "3")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let start = line.find(&format!("http://{ip}:"))?;
                Some(line[start..].split_whitespace().next()?.to_owned())
            })
            .expect("moto says where it is");
        // Output that is not read would stop it.
        std::thread::spawn(move || lines.for_each(drop));
        let nobody = Keys {
            id: "x".to_owned(),
            secret: "x".to_owned(),
            token: None,
        };
        let mut moto = Self {
            process,
            url,
            keys: nobody,
        };
        moto.make_user();
        Some(moto)
    }

    fn make_user(&mut self) {
        self.iam("Action=CreateUser&UserName=u");
        let policy = document(&json!({"Effect": "Allow", "Action": "*", "Resource": "*"}));
        self.iam(&format!(
            "Action=PutUserPolicy&UserName=u&PolicyName=p&PolicyDocument={policy}"
        ));
        let made = self.iam("Action=CreateAccessKey&UserName=u");
        self.keys = Keys {
            id: xml::text(&made, "AccessKeyId").unwrap(),
            secret: xml::text(&made, "SecretAccessKey").unwrap(),
            token: None,
        };
    }

    /// Makes a role that may do these things and nothing else, for every caller that shows a token.
    /// From then on one call need not be signed, as the one that asks for the role's keys is not.
    pub fn make_role(&self, actions: &[&str]) {
        let trust = json!({"Effect": "Allow", "Action": "sts:AssumeRoleWithWebIdentity",
            "Principal": {"Federated": "*"}});
        let trust = document(&trust);
        self.iam(&format!(
            "Action=CreateRole&RoleName=server&AssumeRolePolicyDocument={trust}"
        ));
        let policy = document(&json!({"Effect": "Allow", "Action": actions, "Resource": "*"}));
        self.iam(&format!(
            "Action=PutRolePolicy&RoleName=server&PolicyName=p&PolicyDocument={policy}"
        ));
        let address = Address::parse(&format!("{}/moto-api/reset-auth", self.url)).unwrap();
        let request = Request::new("POST", address).payload(Payload::Bytes(b"1"));
        let client = Client::new(&Trust::Public).unwrap();
        client.fetch(request, 1 << 20).unwrap();
    }

    /// Makes a bucket of S3.
    pub fn make_bucket(&self, name: &str) {
        let address = Address::parse(&format!("{}/{name}", self.url)).unwrap();
        let signer = Signer {
            keys: &self.keys,
            region: "us-east-1",
            service: "s3",
        };
        let request = signer.sign(Request::new("PUT", address), EMPTY, Timestamp::now());
        let client = Client::new(&Trust::Public).unwrap();
        client.fetch(request, 1 << 20).unwrap();
    }

    /// Keeps a parameter of SSM.
    pub fn put_parameter(&self, name: &str, value: &str) {
        let body = json!({"Name": name, "Value": value, "Type": "SecureString"});
        self.put("ssm", "AmazonSSM.PutParameter", &body);
    }

    /// Keeps a secret of Secrets Manager; `more` says what is in it.
    pub fn put_secret(&self, name: &str, more: &Value) {
        let mut body = json!({"Name": name, "ClientRequestToken": "0".repeat(32)});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        self.put("secretsmanager", "secretsmanager.CreateSecret", &body);
    }

    fn iam(&self, body: &str) -> String {
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.call("iam", &headers, &format!("{body}&Version=2010-05-08"))
    }

    fn call(&self, service: &str, headers: &[(&str, &str)], body: &str) -> String {
        let client = Client::new(&Trust::Public).unwrap();
        let signer = Signer {
            keys: &self.keys,
            region: Self::REGION,
            service,
        };
        let answer = airside_aws::call(&client, &signer, &self.url, headers, body);
        String::from_utf8(answer.unwrap()).unwrap()
    }

    pub fn put(&self, service: &str, target: &str, body: &Value) {
        let headers = [
            ("X-Amz-Target", target),
            ("Content-Type", "application/x-amz-json-1.1"),
        ];
        self.call(service, &headers, &body.to_string());
    }

    pub fn settings(&self) -> AwsSettings {
        AwsSettings {
            access_key: self.keys.id.clone(),
            secret_key: self.keys.secret.clone(),
            region: Self::REGION.to_owned(),
            endpoint: Some(self.url.clone()),
            ..AwsSettings::default()
        }
    }
}

/// A policy of one statement, as a form wants it.
fn document(statement: &Value) -> String {
    let policy = json!({"Version": "2012-10-17", "Statement": [statement]});
    let bytes = policy.to_string().into_bytes();
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}
