//! Output of the real fly for every command that manages pipelines, teams and access: standard
//! output, standard error and exit code, kept in `../snapshots`. The snapshots hold on SQLite and
//! on Postgres.
//!
//! Where there is no real fly, each test says so and passes; `AIRSIDE_REQUIRE_REAL_FLY=1` makes it
//! fail. After a change on purpose, `INSTA_UPDATE=always` writes the snapshots anew: read the
//! difference.

mod builds;
mod checks;
mod complete;
mod fly_itself;
mod instances;
mod login;
mod pipelines;
mod round_trip;
mod server;
mod set_pipeline;
mod teams;
mod versions;
mod workers;

use airside_scenarios::{Database, Environment, Server, ServerOptions};

/// `test` owns team main; `bob` belongs nowhere until a test says so.
fn server(database: Database) -> Server {
    database.server(ServerOptions::new().args(["--user", "bob:bob"]))
}

fn run(test: fn(Database), database: Database) {
    if Environment::get().real_fly_or_skip() {
        test(database);
    }
}

macro_rules! on_both_databases {
    ($($module:ident::$name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test]
            fn $name() {
                crate::fly_snapshots::run(crate::fly_snapshots::$module::$name, airside_scenarios::Database::Sqlite);
            })*
        }
        mod postgres {
            $(#[test]
            fn $name() {
                crate::fly_snapshots::run(crate::fly_snapshots::$module::$name, airside_scenarios::Database::Postgres);
            })*
        }
    };
}

on_both_databases!(
    builds::aborting_builds,
    builds::builds_from_trigger_to_end,
    builds::executing_tasks,
    builds::what_builds_leave,
    checks::asking_for_checks,
    fly_itself::parts_of_the_server,
    fly_itself::targets_and_help,
    fly_itself::updating_fly,
    instances::instanced_pipelines,
    login::password_login,
    login::browser_login,
    pipelines::managing_pipelines,
    pipelines::listing_pipelines,
    round_trip::what_was_got_sets_nothing_new,
    server::the_server_itself,
    set_pipeline::setting_a_pipeline,
    set_pipeline::variables,
    set_pipeline::refused_pipelines,
    set_pipeline::without_a_server,
    teams::managing_teams,
    teams::a_member_of_one_team,
    versions::choosing_versions,
    versions::running_builds_again,
    workers::workers_come_and_go,
    workers::workers_of_others,
);
