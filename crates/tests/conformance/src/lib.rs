//! The rules that every runtime keeps, as one suite.
//!
//! A [`Site`] is a place where a runtime works: this machine, an agent's, a cluster. [`rules!`]
//! makes one test of each rule for a site. Everything around the runtime is real: the store, the
//! hub, the volumes, the orchestrator where a rule is about whole steps, and the static shim inside
//! the step.
//!
//! What is particular to one runtime is tested in that runtime's own crate.

#![allow(clippy::unwrap_used, clippy::panic, reason = "all of it is tests")]

mod bench;
mod cause_name;
mod patience;
mod programs;
mod refusing_registry;
pub mod rules;
mod stand;
mod step;

pub use bench::{Bench, Ground, NoProofs, Site};
pub use cause_name::CauseName;
pub use patience::{wait_until, within};
pub use programs::{kill_first_process, program, shim};
pub use refusing_registry::refused_image;

/// One test per rule. The expression gives an `Option<Arc<dyn Site>>`; without a site, a rule is
/// not tested.
#[macro_export]
macro_rules! rules {
    ($site:expr) => {
        $crate::rules! { $site =>
            placing::placing_twice_makes_one
            placing::a_new_runtime_takes_over
            placing::it_is_seen_to_start_and_to_go
            placing::destroying_twice_is_fine
            placing::other_installations_are_not_listed
            placing::labels_are_carried
            claims::another_instance_is_refused
            claims::a_revoked_placement_is_never_claimed
            causes::a_missing_image_is_the_cause
            causes::a_container_that_ends_by_itself_has_exited
            causes::a_container_that_is_destroyed_was_removed
            causes::a_step_without_room_waits_for_it
            causes::an_image_that_is_refused_is_the_cause
            causes::a_container_that_cannot_start_says_so
            causes::a_pull_is_the_cause_of_a_wait
            causes::a_container_without_memory_ran_out_of_it
            causes::a_container_that_is_killed_names_the_signal
            causes::a_container_that_is_evicted_says_so
            images::an_image_that_does_not_exist_is_named
            images::an_artifact_is_an_image
            images::an_artifact_without_a_root_is_told
            images::whoever_is_in_an_artifact_has_the_rights_of_any
            images::nobody_escapes_from_an_artifact
            processes::exit_codes_and_signals
            processes::what_cannot_be_executed_is_named
            processes::environment_and_folder
            processes::standard_input_is_written_and_closed
            processes::streams_are_separate
            processes::a_terminal_is_a_terminal
            processes::users_are_switched_to
            processes::much_output_arrives_unchanged
            volumes::inputs_are_private_copies
            volumes::outputs_become_volumes_also_of_failures
            volumes::an_output_is_the_next_steps_input
            volumes::an_input_may_be_an_output
            mounting::an_input_may_lie_in_another
            mounting::an_input_may_lie_in_an_output
            mounting::an_output_may_lie_in_an_input
            mounting::the_working_folder_may_be_an_output
            mounting::a_cache_may_lie_over_an_input
            mounting::root_finds_everything_its_own
            mounting::another_user_gets_its_mounts
            mounting::another_user_may_change_an_input_into_an_output
            limits::limits_are_exact_and_can_be_read_inside
            limits::running_out_of_memory_is_told
            limits::what_a_step_leaves_running_is_ended
            limits::a_step_may_ignore_its_input
            limits::devices_are_few
            isolation::a_root_task_does_not_escape
            isolation::root_is_nobody_outside
            isolation::ordinary_work_works
            isolation::a_user_can_become_root_inside
            isolation::a_hermetic_step_reaches_nobody
            isolation::a_hermetic_step_has_the_rights_of_any
            isolation::nobody_escapes_from_a_hermetic_step
            stopping::a_step_that_listens_ends_gently
            stopping::a_step_that_does_not_listen_is_killed
            resuming::a_step_is_followed_again_without_loss_or_repetition
        }
    };
    ($site:expr => $($module:ident :: $rule:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $rule() {
            let site: Option<std::sync::Arc<dyn $crate::Site>> = $site;
            let Some(site) = site else { return };
            let bench = $crate::Bench::new(site).await;
            $crate::rules::$module::$rule(&bench).await;
            bench.clear().await;
        }
    )*};
}
