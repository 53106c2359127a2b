//! Databases for tests: a fresh SQLite file, or a fresh database on a Postgres of this process's
//! own.
//!
//! The Postgres cluster is started on first use and removed when the test process ends, however it
//! ends: a shell that holds the cluster waits for the pipe to this process to close.

#![allow(clippy::panic, reason = "a test that cannot go on fails")]

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, OnceLock},
};

use sqlx::{Connection, PgConnection, SqliteConnection};

use crate::{DatabaseTimeout, DatabaseUrl, Sealer, Store};

/// A database that goes when this is dropped.
pub struct TestDatabase {
    pub url: DatabaseUrl,
    dir: tempfile::TempDir,
    /// The server, if no other test uses it.
    own: Option<Arc<Cluster>>,
}

impl TestDatabase {
    pub fn sqlite() -> Self {
        let dir = tempfile::tempdir().expect("a temporary folder");
        Self::sqlite_in(dir)
    }

    /// Makes a SQLite database in a folder that is given.
    pub fn sqlite_in(dir: tempfile::TempDir) -> Self {
        let url = DatabaseUrl::Sqlite(dir.path().join("db"));
        Self {
            url,
            dir,
            own: None,
        }
    }

    pub async fn postgres() -> Self {
        let cluster = cluster();
        let dir = tempfile::tempdir().expect("a temporary folder");
        let name = format!("t{}", hex::encode(rand::random::<[u8; 6]>()));
        cluster.run(&format!("CREATE DATABASE {name}")).await;
        let url = DatabaseUrl::Postgres(cluster.url(&name));
        Self {
            url,
            dir,
            own: None,
        }
    }

    /// Creates a database on a Postgres that no other test uses, so that it can be stopped.
    pub fn own_postgres() -> Self {
        let cluster = Cluster::start();
        Self {
            url: DatabaseUrl::Postgres(cluster.url("postgres")),
            dir: tempfile::tempdir().expect("a temporary folder"),
            own: Some(Arc::new(cluster)),
        }
    }

    /// Stops the server of [`TestDatabase::own_postgres`], as for maintenance.
    pub async fn stop_server(&self) {
        self.order("stop").await;
    }

    pub async fn start_server(&self) {
        self.order("start").await;
    }

    async fn order(&self, order: &'static str) {
        let own = self.own.clone().expect("a server of our own");
        let obeyed = airside_tasks::blocking("Postgres of a test", move || own.order(order));
        obeyed.await.expect("Postgres obeys");
    }

    /// A folder of the test's own.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub async fn open(&self) -> Store {
        self.open_with(Sealer::new(&[0; 32]).expect("32 bytes"))
            .await
    }

    pub async fn open_with(&self, sealer: Sealer) -> Store {
        Store::open(&self.url, sealer)
            .await
            .expect("the database opens")
    }

    pub async fn open_patiently(&self, patience: DatabaseTimeout) -> Store {
        let sealer = Sealer::new(&[0; 32]).expect("32 bytes");
        Store::open_patiently(&self.url, sealer, patience)
            .await
            .expect("the database opens")
    }

    /// Ends every connection to this database, as a server that restarts does.
    pub async fn cut_connections(&self) {
        if let DatabaseUrl::Postgres(url) = &self.url {
            let name = url.split(['/', '?']).nth(3).expect("a name of a database");
            let statement = format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            );
            cluster().run(&statement).await;
        }
    }

    /// Refuses all connections (and ends those that are open), or accepts them again.
    pub async fn set_reachable(&self, reachable: bool) {
        if let DatabaseUrl::Postgres(url) = &self.url {
            let name = url.split(['/', '?']).nth(3).expect("a name of a database");
            let statement = format!("ALTER DATABASE {name} ALLOW_CONNECTIONS {reachable}");
            cluster().run(&statement).await;
        }
        if !reachable {
            self.cut_connections().await;
        }
    }
}

/// The lock of another program that writes to the file.
pub struct FileLock(#[allow(dead_code, reason = "kept for as long as it lives")] SqliteConnection);

impl TestDatabase {
    /// Locks a SQLite file for writing, as another program would.
    pub async fn lock_file(&self) -> FileLock {
        let DatabaseUrl::Sqlite(path) = &self.url else {
            panic!("only a file can be locked");
        };
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
        let mut connection = SqliteConnection::connect_with(&options)
            .await
            .expect("the file opens");
        sqlx::raw_sql("BEGIN IMMEDIATE")
            .execute(&mut connection)
            .await
            .expect("the file is free");
        FileLock(connection)
    }
}

mod measure;

/// Returns true if any row refers to the volume.
pub async fn is_known(store: &Store, volume: &airside_model::VolumeId) -> bool {
    let unknown = store.unknown_volumes(std::slice::from_ref(volume)).await;
    unknown.expect("the database answers").is_empty()
}

/// Runs each test function on either database.
#[macro_export]
macro_rules! on_both_databases {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::testing::TestDatabase::sqlite()).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name($crate::testing::TestDatabase::postgres().await).await;
            })*
        }
    };
}

struct Cluster {
    socket: PathBuf,
    /// Pipes to the process that holds the cluster: when they close, the cluster ends.
    held: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

/// Says where the server is once it answers, then does what each line of its input says (`stop`,
/// `start`); lives until its input ends.
const HOLD: &str = r#"
set -eu
trap : INT TERM HUP
dir=$(mktemp -d --suffix=-airside-postgres)
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$dir"' EXIT
server=
start() {
  "$1/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c fsync=off \
    -c synchronous_commit=off -c full_page_writes=off -c max_connections=400 >>"$dir/log" 2>&1 &
  server=$!
  until "$1/pg_isready" -q -h "$dir"; do
    kill -0 "$server" || { cat "$dir/log" >&2; exit 1; }
    sleep 0.05
  done
}
stop() {
  kill -INT "$server"
  wait "$server" || true
}
"$1/initdb" -D "$dir/data" -U airside -A trust -E UTF8 --locale=C --no-sync >"$dir/log" 2>&1
start "$1"
echo "$dir"
while read -r order; do
  "$order" "$1"
  echo "$order"
done
kill -QUIT "$server"
"#;

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

impl Cluster {
    fn start() -> Self {
        let programs = programs();
        let mut command = if is_root() {
            // Postgres refuses to run as root.
            let mut command = Command::new("setpriv");
            command.args([
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "sh",
            ]);
            command
        } else {
            Command::new("sh")
        };
        #[allow(
            clippy::zombie_processes,
            reason = "it outlives this process, to clean up after it"
        )]
        let mut child = command
            .args(["-c", HOLD, "sh"])
            .arg(programs)
            .current_dir("/tmp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let held = child.stdin.take().expect("a pipe");
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut socket = String::new();
        said.read_line(&mut socket).expect("the shell speaks");
        let socket = PathBuf::from(socket.trim());
        assert!(socket.is_dir(), "Postgres did not start");
        Cluster {
            socket,
            held: Mutex::new((held, said)),
        }
    }

    /// Stops or starts the server, and waits until that is done.
    fn order(&self, order: &str) {
        let mut held = self.held.lock().expect("the shell lives");
        writeln!(held.0, "{order}").expect("the shell listens");
        let mut done = String::new();
        held.1.read_line(&mut done).expect("the shell speaks");
        assert_eq!(done.trim(), order, "Postgres did not obey");
    }

    fn url(&self, database: &str) -> String {
        let socket = self.socket.display().to_string().replace('/', "%2F");
        format!("postgres://airside@localhost/{database}?host={socket}")
    }

    async fn run(&self, statement: &str) {
        let mut connection = PgConnection::connect(&self.url("postgres"))
            .await
            .expect("Postgres answers");
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .expect("Postgres obeys");
    }
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self")
        .map(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
        .unwrap_or(false)
}

/// The newest installed version's folder of programs.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort();
    found
        .pop()
        .expect("Postgres is installed under /usr/lib/postgresql (`make setup` does that)")
}
