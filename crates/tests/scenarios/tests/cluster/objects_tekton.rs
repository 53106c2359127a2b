//! The resource type `kubernetes` beside Tekton's own controller. Needs a cluster with it
//! (`dev/cluster controllers-start tekton`), and says so where there is none.

use airside_scenarios::wait_until;

use crate::objects::{Objects, says};

const IMAGE: &str = "airside.local/busybox:dev";

fn run(script: &str) -> String {
    let script = serde_json::to_string(script).unwrap();
    format!(
        "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {{generateName: run-}}\nspec:\n  pipelineSpec:\n    \
         tasks:\n    - name: work\n      taskSpec:\n        steps:\n        - name: one\n          image: {IMAGE}\n          \
         imagePullPolicy: IfNotPresent\n          command: [sh, -ec, {script}]"
    )
}

impl Objects {
    /// Nothing where the cluster has no controller of Tekton.
    fn with_tekton() -> Option<Self> {
        let objects = Self::offered()?;
        let definition = [
            "kubectl",
            "get",
            "crd",
            "pipelineruns.tekton.dev",
            "-o",
            "name",
        ];
        if objects.steps.cluster.try_ask(&definition).is_err() {
            eprintln!("skipped: no Tekton here; run `dev/cluster controllers-start tekton`");
            return None;
        }
        Some(objects)
    }
}

#[test]
fn runs_of_tekton_are_followed_and_aborted() {
    let Some(objects) = Objects::with_tekton() else {
        return;
    };
    let fly = objects.fly();
    let job =
        |name: &str, script: &str| objects.job(name, "run", &run(script), ", on_abort: delete");
    let pipeline = format!(
        "resources:\n{}jobs:\n{}{}{}",
        objects.resource("run", "PipelineRun.tekton.dev/v1", ""),
        job("good", "echo from-tekton"),
        job("bad", "echo broken; exit 3"),
        job("long", "echo begun; sleep 600"),
    );
    fly.pipeline("p", &pipeline);
    let good = fly.trigger_and_watch("p/good").succeeded();
    for words in [
        "created pipelineruns.tekton.dev/run-",
        "] from-tekton",
        "done: Succeeded",
    ] {
        says(&good, words);
    }
    let bad = fly.trigger_and_watch("p/bad");
    for words in ["] broken", "has failed: "] {
        says(&bad, words);
    }
    assert_ne!(bad.code, Some(0), "{bad:?}");

    let long = fly.trigger("p/long");
    let runs = || {
        objects
            .kubectl(&["get", "pipelineruns", "-o", "name"])
            .lines()
            .count()
    };
    wait_until("the third run is there", || runs() == 3);
    fly.run(&["abort-build", "-b", &long.id.to_string()])
        .succeeded();
    wait_until("the aborted run is deleted", || runs() == 2);
}
