//! A real slapd with a few users, on loopback, gone when it is dropped.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use crate::{GroupSearch, LdapConfig, LdapTls, SearchDepth, Secret, UserSearch};

const SLAPD: &str = "/usr/sbin/slapd";
const SLAPADD: &str = "/usr/sbin/slapadd";

/// Ann has groups; Bob has a name that is hard to write; two users are called `twin`.
const PEOPLE: &str = "
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: uid=ann,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: ann
cn: Ann Lee
sn: Lee
mail: ann@example.com
userPassword: ann-pw

dn: uid=b*b(\\5c),ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: b*b(\\)
cn: Bob
sn: Bob
mail: bob@example.com
userPassword: bob-pw

dn: cn=one,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: twin
cn: one
sn: Twin
userPassword: twin-pw

dn: cn=two,ou=people,dc=example,dc=com
objectClass: inetOrgPerson
uid: twin
cn: two
sn: Twin
userPassword: twin-pw

dn: cn=ops,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: ops
member: uid=ann,ou=people,dc=example,dc=com

dn: cn=bobs,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: bobs
member: uid=b*b(\\5c),ou=people,dc=example,dc=com
";

pub struct Slapd {
    process: Child,
    dir: tempfile::TempDir,
    /// The plain port, and the one with TLS.
    ports: (u16, u16),
}

impl Slapd {
    pub fn start() -> Self {
        assert!(
            Path::new(SLAPD).exists(),
            "slapd is not installed; `make setup` (or apt-get install slapd) does that"
        );
        let dir = tempfile::tempdir().unwrap();
        let (mut process, mut ports) = Self::spawn(&dir);
        // Another program may take a port between our look and slapd's.
        while !Self::answers(&mut process, ports) {
            (process, ports) = Self::spawn(&dir);
        }
        Self {
            process,
            dir,
            ports,
        }
    }

    fn spawn(dir: &tempfile::TempDir) -> (Child, (u16, u16)) {
        let path = dir.path();
        if !path.join("slapd.conf").exists() {
            Self::fill(path);
        }
        let ports = (free_port(), free_port());
        let urls = format!("ldap://127.0.0.1:{} ldaps://127.0.0.1:{}", ports.0, ports.1);
        let process = Command::new(SLAPD)
            .args(["-d", "0", "-h", &urls, "-f"])
            .arg(path.join("slapd.conf"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        (process, ports)
    }

    fn fill(path: &Path) {
        std::fs::create_dir(path.join("db")).unwrap();
        make_certificate(path);
        let dir = path.display();
        let config = format!(
            "include /etc/ldap/schema/core.schema\n\
             include /etc/ldap/schema/cosine.schema\n\
             include /etc/ldap/schema/inetorgperson.schema\n\
             modulepath /usr/lib/ldap\nmoduleload back_mdb\n\
             pidfile {dir}/pid\nTLSCertificateFile {dir}/cert.pem\nTLSCertificateKeyFile {dir}/key.pem\n\
             database mdb\nsuffix \"dc=example,dc=com\"\n\
             rootdn \"cn=reader,dc=example,dc=com\"\nrootpw reader-pw\ndirectory {dir}/db\n\
             access to attrs=userPassword by anonymous auth by * none\naccess to * by * none\n"
        );
        std::fs::write(path.join("slapd.conf"), config).unwrap();
        std::fs::write(path.join("people.ldif"), PEOPLE).unwrap();
        let added = Command::new(SLAPADD)
            .arg("-f")
            .arg(path.join("slapd.conf"))
            .arg("-l")
            .arg(path.join("people.ldif"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&added.stderr);
        assert!(added.status.success(), "slapadd: {said}");
    }

    /// Returns true if slapd came to listen; `false` if it ended instead.
    fn answers(process: &mut Child, ports: (u16, u16)) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let connects = |port| std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
            if process.try_wait().unwrap().is_some() {
                return false;
            }
            if connects(ports.0) && connects(ports.1) {
                return true;
            }
            assert!(Instant::now() < deadline, "slapd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns settings that reach it, with a reader that may search.
    pub fn config(&self, tls: LdapTls) -> LdapConfig {
        let port = match tls {
            LdapTls::Ldaps => self.ports.1,
            LdapTls::Plain | LdapTls::StartTls => self.ports.0,
        };
        LdapConfig {
            title: "LDAP".to_owned(),
            host: format!("127.0.0.1:{port}"),
            tls,
            ca: Some(std::fs::read(self.dir.path().join("cert.pem")).unwrap()),
            bind: Some((
                "cn=reader,dc=example,dc=com".to_owned(),
                Secret::new("reader-pw"),
            )),
            users: UserSearch {
                base: "ou=people,dc=example,dc=com".to_owned(),
                filter: Some("(objectClass=person)".to_owned()),
                username: "uid".to_owned(),
                reach: SearchDepth::Subtree,
                id: "uid".to_owned(),
                email: "mail".to_owned(),
                name: Some("cn".to_owned()),
            },
            groups: Some(GroupSearch {
                base: "ou=groups,dc=example,dc=com".to_owned(),
                filter: Some("(objectClass=groupOfNames)".to_owned()),
                reach: SearchDepth::OneLevel,
                user: "DN".to_owned(),
                group: "member".to_owned(),
                name: "cn".to_owned(),
            }),
            patience: Duration::from_secs(20),
        }
    }

    /// Ends it, as a directory that goes away.
    pub fn stop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Drop for Slapd {
    fn drop(&mut self) {
        self.stop();
    }
}

fn make_certificate(path: &Path) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(path.join("cert.pem"), made.cert.pem()).unwrap();
    std::fs::write(path.join("key.pem"), made.signing_key.serialize_pem()).unwrap();
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
