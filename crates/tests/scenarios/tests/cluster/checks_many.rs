//! A thousand resources of two teams on one target cost two pods. Needs a cluster: see `make
//! test-cluster-all`.

use crate::support::{
    Namespace,
    checks::{end, last_checked, many, pods_created, set, wait_for_checks},
};
use airside_scenarios::Environment;

#[test]
fn a_thousand_resources_of_two_teams_cost_two_pods() {
    if !Environment::get().real_fly_or_skip() {
        return;
    }
    let Some(namespace) = Namespace::offered() else {
        return;
    };
    let server = namespace.server_with_args("", &["--resource-checking-interval", "15s"]);
    let fly = server.fly();
    set(&fly, &many(499));
    wait_for_checks(&fly, &[], None);
    let all = last_checked(&fly);
    assert_eq!(all.len(), 1000);
    wait_for_checks(&fly, &[], Some(&all));
    assert_eq!(pods_created(&namespace), 2);
    end(&fly, &namespace);
}
