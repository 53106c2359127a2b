//! Whole paths with steps as pods of a real cluster; each test says so and passes where there is
//! none.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on fails"
)]

mod administration;
mod agent;
mod checks;
mod checks_many;
mod claim;
mod control;
mod control_more;
mod crash;
mod credentials;
mod etcd;
mod faults;
mod get_image;
mod hostile;
mod image_user;
mod images;
mod inside;
mod limits;
mod nodes;
mod objects;
mod objects_tekton;
mod outage;
mod outage_links;
mod outage_nodes;
mod path;
mod registry;
mod source_to_image;
mod support;
mod targets;
mod upgrade;
