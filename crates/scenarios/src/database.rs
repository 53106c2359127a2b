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
