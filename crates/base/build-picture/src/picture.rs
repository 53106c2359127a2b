//! The fold: events change facts, and now and then the tree grows.

use std::collections::HashMap;

use airside_model::{BuildStatus, event::Event};
use serde_json::Value;

use crate::{
    PictureState, StepError,
    event::{EventData, WireEvent},
    node::PictureNode,
};

/// A build's plan, and all that its events tell about the steps.
#[derive(Clone, Debug, Default)]
pub struct BuildPicture {
    nodes: Vec<PictureNode>,
    places: HashMap<String, usize>,
    has_root: bool,
    status: Option<BuildStatus>,
    errors: Vec<String>,
}

impl BuildPicture {
    /// Makes the picture of a build that has this public plan, if it has one, and no events yet.
    pub fn new(public_plan: Option<&Value>) -> Self {
        let mut picture = Self::default();
        let root = public_plan.and_then(|plan| picture.add_plan(plan));
        picture.has_root = root.is_some();
        picture
    }

    /// Returns all nodes; the first is the outermost of the plan, if there is a plan.
    pub fn nodes(&self) -> &[PictureNode] {
        &self.nodes
    }

    /// Returns the place of the plan's outermost node.
    pub fn root(&self) -> Option<usize> {
        self.has_root.then_some(0)
    }

    /// Returns the status that the last event of the build's own tells.
    pub fn status(&self) -> Option<BuildStatus> {
        self.status
    }

    /// Returns the errors that belong to no step of the plan.
    pub fn errors(&self) -> &[String] {
        &self.errors
    }

    /// Returns the place of the node with this id.
    pub fn find(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Takes in an event as a log has it. One that cannot be read changes nothing.
    pub fn take_envelope(&mut self, envelope: &[u8]) {
        if let Ok(event) = serde_json::from_slice::<WireEvent>(envelope) {
            self.take(&event.event, event.data);
        }
    }

    /// Takes in an event.
    pub fn take_event(&mut self, event: &Event) {
        if !matches!(event, Event::Log { .. }) {
            self.take(event.kind().0, event.data());
        }
    }

    /// Sets the end of a step to the one that the store has: its times are exact, and a step that
    /// says nothing has an end too.
    pub fn set_end(&mut self, id: &str, outcome: PictureState, began: i64, ended: i64) {
        let Some(place) = self.find(id) else { return };
        let facts = &mut self.node_mut(place).facts;
        facts.outcome = Some(outcome);
        (facts.began, facts.ended) = (Some(began), Some(ended));
        let latest = ended.max(began);
        facts.started = facts.started.map(|started| started.clamp(began, latest));
    }

    fn take(&mut self, event: &str, data: Value) {
        if event == "log" {
            return;
        }
        let Ok(data) = serde_json::from_value::<EventData>(data) else {
            return;
        };
        if event == "status" {
            self.status = data.status.or(self.status);
            return;
        }
        match self.find(&data.origin.id) {
            Some(place) => self.take_of_step(place, event, data),
            None if event == "error" => self.errors.push(data.message),
            None => {}
        }
    }

    fn take_of_step(&mut self, place: usize, event: &str, data: EventData) {
        let time = (data.time > 0).then_some(data.time.saturating_mul(1000));
        match event {
            "image-check" | "image-get" => return self.add_image(place, &data.plan),
            "across-substeps" => return self.add_substeps(place, data),
            _ => {}
        }
        let facts = &mut self.node_mut(place).facts;
        match event {
            "initialize" | "initialize-task" | "initialize-get" | "initialize-put"
            | "initialize-check" => facts.began = facts.began.or(time),
            "start" | "start-task" | "start-get" | "start-put" => {
                facts.began = facts.began.or(time);
                facts.started = time;
                facts.waits_for_worker = false;
            }
            "waiting-for-worker" => facts.waits_for_worker = true,
            "selected-worker" => {
                facts.waits_for_worker = false;
                facts.worker = Some(data.selected_worker);
            }
            "finish-task" | "finish-get" | "finish-put" => {
                facts.ended = time;
                facts.succeeded = Some(data.exit_status == 0);
                facts.exit_status = Some(data.exit_status);
                facts.version = data.version.filter(|version| !version.is_empty());
                facts.metadata = data.metadata.unwrap_or_default();
            }
            "finish" => {
                facts.ended = time;
                facts.succeeded = Some(data.succeeded);
            }
            "set-pipeline-changed" => facts.changed = Some(data.changed),
            "error" => {
                facts.ended = facts.ended.or(time);
                facts.error = Some(StepError::of_words(data.message));
            }
            _ => {}
        }
    }

    fn add_image(&mut self, place: usize, plan: &Value) {
        let id = plan.get("id").and_then(Value::as_str).unwrap_or_default();
        if self.find(id).is_some() {
            return;
        }
        if let Some(image) = self.add_plan(plan) {
            self.node_mut(place).images.push(image);
        }
    }

    fn add_substeps(&mut self, place: usize, data: EventData) {
        if !self.node(place).children.is_empty() {
            return;
        }
        for substep in data.substeps {
            if let Some(child) = self.add_plan(&substep.step) {
                self.node_mut(child).values = substep.values;
                self.node_mut(place).children.push(child);
            }
        }
    }

    pub(crate) fn push(&mut self, node: PictureNode) -> usize {
        let place = self.nodes.len();
        self.places.entry(node.id.clone()).or_insert(place);
        self.nodes.push(node);
        place
    }

    pub(crate) fn node(&self, place: usize) -> &PictureNode {
        &self.nodes[place]
    }

    pub(crate) fn node_mut(&mut self, place: usize) -> &mut PictureNode {
        &mut self.nodes[place]
    }
}
