//! Against a real cluster: run with `AIRSIDE_TEST_CLUSTER=1` and `KUBECONFIG` set. The nodes must
//! hold the images `airside.local/busybox:dev` (a static busybox as `/bin/busybox`) and
//! `airside.local/shim:dev` (a program `/airside-shim`, any that stays, also as an image volume).

mod common;

use airside_model::task::ContainerLimits;
use airside_runtime::{Cause, Error, Image, Observed, PlacementSpec, Runtime, Shortage};
use airside_runtime_kubernetes::{KubeRuntime, Target};
use common::{BUSYBOX, Cluster, busybox, target, wait_for};

#[tokio::test]
async fn a_step_is_placed_once_observed_and_destroyed() {
    let Some(cluster) = Cluster::offered("life").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let mut stream = runtime.observe();
    let spec = cluster.spec(busybox(), 1);

    let uid = runtime
        .place(&spec)
        .await
        .unwrap()
        .expect("a pod has a uid");
    assert_eq!(
        runtime.place(&spec).await.unwrap().as_ref(),
        Some(&uid),
        "adopted"
    );
    let other = PlacementSpec {
        limits: ContainerLimits::default(),
        ..spec.clone()
    };
    let different = runtime.place(&other).await;
    assert!(
        matches!(different, Err(Error::Refused { .. })),
        "{different:?}"
    );

    let started = wait_for(&mut stream, &spec.handle, |it| {
        matches!(it, Observed::Started { .. })
    });
    assert!(matches!(started.await, Observed::Started { node: Some(_) }));
    let listed = runtime.list().await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (&listed[0].handle, listed[0].uid.as_ref()),
        (&spec.handle, Some(&uid))
    );

    // Held, so that it is seen leaving however soon its container ends.
    let hold = |finalizers: &str| {
        let patch = format!(r#"{{"metadata":{{"finalizers":{finalizers}}}}}"#);
        let pod = ["patch", "pod", spec.handle.as_str()];
        cluster.kubectl(&[&pod[..], &["--type=merge", "-p", &patch]].concat());
    };
    hold(r#"["test.airside.dev/hold"]"#);
    runtime.destroy(&spec.handle).await.unwrap();
    let leaving = runtime.place(&spec).await;
    assert!(
        matches!(leaving, Err(Error::Unavailable { .. })),
        "{leaving:?}"
    );
    assert!(runtime.list().await.unwrap()[0].leaving);
    hold("null");
    wait_for(&mut stream, &spec.handle, |it| {
        matches!(it, Observed::Gone { .. })
    })
    .await;
    // The container is gone before the object is; deleting twice is fine in between and after.
    runtime.destroy(&spec.handle).await.unwrap();
}

#[tokio::test]
async fn the_shim_alone_and_the_proof_of_its_pod() {
    let Some(cluster) = Cluster::offered("proof").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let native = cluster.spec(Image::Shim, 1);
    let task = cluster.spec(busybox(), 2);
    runtime.place(&native).await.unwrap();
    let uid = runtime.place(&task).await.unwrap();
    for spec in [&native, &task] {
        // A stream of its own for each: either pod may be the first.
        let started = |it: &Observed| matches!(it, Observed::Started { .. });
        wait_for(&mut runtime.observe(), &spec.handle, started).await;
    }

    let inside = ["exec", task.handle.as_str(), "--", "/bin/busybox"];
    let token = cluster.kubectl(&[&inside[..], &["cat", "/.airside/proof/token"]].concat());
    runtime
        .verify_proof(&task.handle, uid.as_deref(), &token)
        .await
        .unwrap();
    runtime
        .verify_proof(&task.handle, None, &token)
        .await
        .unwrap();
    for (handle, uid) in [(&native.handle, None), (&task.handle, Some("another"))] {
        let refused = runtime.verify_proof(handle, uid, &token).await;
        assert!(refused.is_err_and(|error| !error.is_transient()));
    }

    let environment = cluster.kubectl(&[&inside[..], &["env"]].concat());
    for line in ["AIRSIDE_HUB=127.0.0.1:1", "AIRSIDE_TOKEN=to$(ken"] {
        assert!(environment.lines().any(|it| it == line), "{environment}");
    }
    let ids = cluster.kubectl(&[&inside[..], &["cat", "/proc/self/uid_map"]].concat());
    assert!(
        !ids.split_whitespace().eq(["0", "0", "4294967295"]),
        "no user namespace: {ids}"
    );
    for spec in [&native, &task] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
}

#[tokio::test]
async fn images_that_are_not_there() {
    let Some(cluster) = Cluster::offered("image").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let mut stream = runtime.observe();
    let bad = cluster.spec(Image::registry("no/SUCH image"), 1);
    let away = cluster.spec(Image::registry("127.0.0.1:1/none:1"), 2);
    for spec in [&bad, &away] {
        runtime.place(spec).await.unwrap();
    }
    let doomed = |it: &Observed| matches!(it, Observed::Doomed { .. });
    wait_for(&mut stream, &bad.handle, doomed).await;
    let pulling = |it: &Observed| matches!(it, Observed::Pending { reason, .. } if reason.starts_with("the image cannot be pulled yet"));
    wait_for(&mut runtime.observe(), &away.handle, pulling).await;
    for spec in [&bad, &away] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
    let gone = |it: &Observed| matches!(it, Observed::Gone { .. });
    wait_for(&mut stream, &away.handle, gone).await;
}

#[tokio::test]
async fn an_image_without_our_program_is_doomed_and_a_pod_without_a_node_says_why() {
    let Some(cluster) = Cluster::offered("doomed").await else {
        return;
    };
    let runtime = &cluster.runtime;
    let mut stream = runtime.observe();
    // As a shim, busybox lacks /airside-shim.
    let broken_target = Target {
        shim_image: BUSYBOX.to_owned(),
        ..target(&cluster.kubeconfig)
    };
    let broken = KubeRuntime::connect(broken_target, cluster.installation.clone())
        .await
        .unwrap();
    let missing = cluster.spec(Image::Shim, 1);
    broken.place(&missing).await.unwrap();
    let huge = PlacementSpec {
        limits: ContainerLimits {
            cpu: Some(1 << 30),
            memory: None,
        },
        ..cluster.spec(busybox(), 2)
    };
    runtime.place(&huge).await.unwrap();

    let doomed = |it: &Observed| matches!(it, Observed::Doomed { .. });
    wait_for(&mut stream, &missing.handle, doomed).await;
    let crowded = |it: &Observed| {
        let no_room = matches!(
            it,
            Observed::Pending {
                cause: Cause::NoRoom { .. },
                ..
            }
        );
        no_room
            && matches!(it, Observed::Pending { reason, .. } if reason.starts_with("no node takes the pod yet:"))
    };
    wait_for(&mut runtime.observe(), &huge.handle, crowded).await;
    for spec in [&missing, &huge] {
        runtime.destroy(&spec.handle).await.unwrap();
    }
}

#[tokio::test]
async fn what_the_namespace_forbids() {
    let Some(cluster) = Cluster::offered("rules").await else {
        return;
    };
    let name = |rule: &str| format!("{}-{rule}", cluster.installation);
    let [strict, full, none] = ["strict", "full", "none"].map(name);
    for namespace in [&strict, &full] {
        cluster.kubectl(&["create", "namespace", namespace]);
        let account = [
            "-n",
            namespace,
            "wait",
            "--for=create",
            "serviceaccount/default",
        ];
        cluster.kubectl(&account);
    }
    let restricted = "pod-security.kubernetes.io/enforce=restricted";
    cluster.kubectl(&["label", "namespace", &strict, restricted]);
    cluster.kubectl(&["-n", &full, "create", "quota", "none", "--hard=pods=0"]);
    // The quota counts once the controller has looked at it.
    let counted = "--for=jsonpath={.status.hard.pods}=0";
    cluster.kubectl(&["-n", &full, "wait", "resourcequota/none", counted]);

    let place = async |namespace: &str| {
        let target = Target {
            namespace: namespace.to_owned(),
            ..target(&cluster.kubeconfig)
        };
        let runtime = KubeRuntime::connect(target, cluster.installation.clone())
            .await
            .unwrap();
        runtime
            .place(&cluster.spec(busybox(), 1))
            .await
            .expect_err(namespace)
    };
    let error = place(&strict).await;
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(
        error.to_string().contains("violates PodSecurity"),
        "{error}"
    );
    let error = place(&full).await;
    let quota = Cause::NoRoom {
        shortage: Shortage::Quota([("pods".to_owned(), 1000)].into()),
    };
    assert!(
        matches!(&error, Error::Unavailable { cause, .. } if *cause == quota),
        "{error:?}"
    );
    assert!(error.to_string().contains("exceeded quota"), "{error}");
    let error = place(&none).await;
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    cluster.kubectl(&["delete", "namespace", &strict, &full, "--wait=false"]);
}
