//! Conclusions from pods that were sent to look at a node. Sending them is tested on a real
//! cluster.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::*;
use crate::pod::tests::target;

fn probe(ids: Ids) -> Probe {
    Probe {
        ids,
        overlay: Overlay::Works,
    }
}

fn pod(state: &serde_json::Value) -> Pod {
    let pod = json!({
        "spec": {"nodeName": "n1", "containers": []},
        "status": {"phase": "Pending", "containerStatuses": [{
            "name": "step", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
        }]},
    });
    serde_json::from_value(pod).unwrap()
}

#[test]
fn how_it_came_back() {
    let answer = serde_json::to_string(&probe(Ids::Own(65_536))).unwrap();
    for (state, expected) in [
        (
            json!({"terminated": {"exitCode": 0, "message": answer}}),
            Sent::Back(probe(Ids::Own(65_536)), "n1".to_owned()),
        ),
        (
            json!({"terminated": {"exitCode": 1, "message": "no json"}}),
            Sent::Lost("the container exited with code 1: no json".to_owned()),
        ),
        (
            json!({"waiting": {"reason": "CreateContainerError", "message": "no image volumes"}}),
            Sent::Lost("the container cannot start: no image volumes".to_owned()),
        ),
        (
            json!({"waiting": {"reason": "ContainerCreating"}}),
            Sent::Waiting(String::new()),
        ),
        (json!({"running": {}}), Sent::Waiting(String::new())),
    ] {
        assert_eq!(read(&pod(&state)), expected, "{state}");
    }
}

#[test]
fn only_a_missing_user_namespace_keeps_steps_away() {
    let back = |ids| Sent::Back(probe(ids), "n1".to_owned());
    let lost = Sent::Lost("the container cannot start: no image volumes".to_owned());
    let waiting = Sent::Waiting(String::new());
    for (sent, settings, expected) in [
        (back(Ids::Own(65_536)), "", None),
        (back(Ids::Shared), "host_users: true", None),
        (
            back(Ids::Shared),
            "",
            Some((true, "node n1 gives pods no user namespace")),
        ),
        (
            lost,
            "",
            Some((
                false,
                "did not run: the container cannot start: no image volumes",
            )),
        ),
        (waiting, "", Some((false, "has not run for 60 s"))),
    ] {
        let lacks = judge(&sent, &target(settings));
        let Some((keeps_away, words)) = expected else {
            assert_eq!(lacks, [], "{sent:?}");
            continue;
        };
        assert!(lacks[0].why.contains(words), "{sent:?}: {lacks:?}");
        let away = lacks[0].shapes.contains(&Shape::Plain);
        assert_eq!(away, keeps_away, "{sent:?}");
    }
}

#[test]
fn what_a_node_has_in_words() {
    let found = Probe {
        ids: Ids::Own(65_536),
        overlay: Overlay::Refused("Operation not permitted".to_owned()),
    };
    let expected = "pods have user namespaces with 65536 ids, overlay file systems do not work in them \
                    (Operation not permitted)";
    assert_eq!(words(&found), expected);
}
