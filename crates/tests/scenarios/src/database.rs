//! The database under a server: its own file, or a Postgres that lives as long as the test program.

use airside_store::{DatabaseUrl, testing::TestDatabase};

use crate::{Server, ServerOptions};

#[derive(Clone, Copy, Debug)]
pub enum Database {
    Sqlite,
    Postgres,
}

impl Database {
    /// A server on a fresh database of this kind.
    pub fn server(self, options: ServerOptions) -> Server {
        match self {
            Self::Sqlite => options.start(),
            Self::Postgres => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let database = runtime.block_on(TestDatabase::postgres());
                let DatabaseUrl::Postgres(url) = &database.url else {
                    panic!("a Postgres is found by its URL");
                };
                options.args(["--database-url", url]).start()
            }
        }
    }
}

/// A Postgres that no other test uses, to be stopped and started again under a server.
pub struct OwnPostgres {
    database: TestDatabase,
    runtime: tokio::runtime::Runtime,
}

impl OwnPostgres {
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        Self {
            database: TestDatabase::own_postgres(),
            runtime,
        }
    }

    /// A server on it.
    pub fn server(&self, options: ServerOptions) -> Server {
        let DatabaseUrl::Postgres(url) = &self.database.url else {
            panic!("a Postgres is found by its URL");
        };
        options.args(["--database-url", url]).start()
    }

    pub fn stop(&self) {
        self.runtime.block_on(self.database.stop_server());
    }

    pub fn resume(&self) {
        self.runtime.block_on(self.database.start_server());
    }
}
