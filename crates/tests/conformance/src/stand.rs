//! A placement driven by hand: its row in the store, its spec, and the hub's session with its shim.

use std::time::Duration;

use airside_hub::{Hub, Session, SessionEvent, Work};
use airside_model::{Handle, InstallationId, PlanId, StepKind, StepLabels};
use airside_protocol::{Executable, Exit, Order};
use airside_runtime::{AnyRuntime, ClaimEnvironment, Observed, PlacementSpec};
use airside_store::{Lease, NewBuild, NewPlacement};
use futures::StreamExt;

use crate::{Bench, within};

pub(crate) struct Stand {
    pub(crate) spec: PlacementSpec,
    pub(crate) session: Session,
}

/// An order for a shell script.
pub(crate) fn script(text: &str) -> Order {
    Order {
        run: Executable::Path("/bin/sh".to_owned()),
        args: vec!["-c".to_owned(), text.to_owned()],
        env: Vec::new(),
        dir: "/".to_owned(),
        user: None,
        tty: None,
        stdin: None,
        image: None,
        fetch: Vec::new(),
        make_dirs: Vec::new(),
        mounted: Vec::new(),
        hermetic: false,
        upload: Vec::new(),
        fence_after_seconds: 600,
    }
}

/// Runs until it is told to stop.
pub(crate) fn waiting() -> Order {
    script("trap 'exit 0' TERM; while :; do sleep 0.1; done")
}

impl Bench {
    /// Everything up to asking the runtime.
    pub(crate) async fn stand(&self, order: Order) -> Stand {
        self.stand_of(&self.ground.installation, order).await
    }

    pub(crate) async fn stand_of(&self, installation: &InstallationId, order: Order) -> Stand {
        let (lease, labels) = self.build().await;
        let plan = PlanId::new("1");
        let handle = Handle::derive(installation, lease.build, &plan, 1, 1);
        let token = hex::encode(rand::random::<[u8; 16]>());
        let spec = PlacementSpec {
            handle: handle.clone(),
            installation: installation.clone(),
            labels,
            image: self.site.image(),
            claim: ClaimEnvironment {
                hub_port: self.hub.port(),
                hub_pin: self.hub.pin().to_owned(),
                token: token.clone(),
            },
            mounts: Vec::new(),
            limits: Default::default(),
            privileged: false,
            hermetic: false,
            user: None,
            tags: Vec::new(),
            native_type: None,
        };
        let runtime = self.runtime();
        let new = NewPlacement {
            handle: &handle,
            plan: &plan,
            attempt: 1,
            placement: 1,
            worker: runtime.worker(),
            labels: &spec.labels,
            token_hash: &Hub::token_hash(&token),
            dir: "/work",
            user: "",
            request: &(),
        };
        self.ground
            .store
            .create_placement(&lease, new)
            .await
            .unwrap();
        let work = Work {
            order,
            epoch: lease.epoch,
            output_received: 0,
            drops_output: false,
        };
        let session = self.hub.attach(handle, work);
        Stand { spec, session }
    }

    /// A build of its own, and the labels of a step in it.
    pub(crate) async fn build(&self) -> (Lease, StepLabels) {
        let store = &self.ground.store;
        let new = NewBuild {
            job: self.job,
            created_by: None,
        };
        let build = store.create_build(new).await.unwrap();
        let hour = Duration::from_secs(3600);
        let lease = store
            .take_build(build.id, "bench", "bench:1", hour)
            .await
            .unwrap();
        let labels = StepLabels {
            team: "main".to_owned(),
            team_id: airside_model::TeamId(1),
            pipeline: Some("conformance".to_owned()),
            job: Some("job".to_owned()),
            build: build.id,
            build_name: build.name,
            step: "step".to_owned(),
            kind: StepKind::Task,
            attempt: 1,
            attempts: Vec::new(),
        };
        (lease.expect("nobody else drives it"), labels)
    }
}

impl Stand {
    /// The next event of a kind; others on the way are skipped, but a refusal never is.
    pub(crate) async fn hear(
        &mut self,
        what: &str,
        fits: fn(&SessionEvent) -> bool,
    ) -> SessionEvent {
        within(what, async {
            loop {
                let event = self.session.next().await;
                if fits(&event) {
                    return event;
                }
                let refused = matches!(event, SessionEvent::Refused { .. });
                assert!(!refused, "while waiting for {what}: {event:?}");
            }
        })
        .await
    }

    pub(crate) async fn started(&mut self) {
        self.hear("the process starts", |event| {
            matches!(event, SessionEvent::Started)
        })
        .await;
    }

    /// Lets the process and then the shim end.
    pub(crate) async fn end(mut self) -> Exit {
        self.session.stop(5);
        let finished = |event: &SessionEvent| matches!(event, SessionEvent::Finished(_));
        let SessionEvent::Finished(exit) = self.hear("the process ends", finished).await else {
            unreachable!("only that was waited for")
        };
        self.session.dismiss();
        exit
    }
}

/// Waits until the runtime itself says so.
pub(crate) async fn observed(
    runtime: &AnyRuntime,
    handle: &Handle,
    what: &str,
    fits: fn(&Observed) -> bool,
) -> Observed {
    let mut stream = runtime.observe();
    within(what, async {
        while let Some(observation) = stream.next().await {
            if observation.handle == *handle && fits(&observation.observed) {
                return observation.observed;
            }
        }
        panic!("the observations ended before: {what}");
    })
    .await
}

pub(crate) fn is_started(observed: &Observed) -> bool {
    matches!(observed, Observed::Started { .. })
}

pub(crate) fn is_gone(observed: &Observed) -> bool {
    matches!(observed, Observed::Gone { .. })
}
