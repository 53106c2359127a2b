//! A pipeline as it is configured, read once and kept until it changes.

use std::{collections::HashMap, sync::Arc};

use airside_config::Config;
use airside_model::{PipelineId, chain};
use airside_schedule::{Graph, graph::Ids};
use tracing::warn;

use crate::{Error, Result, driver::Driver};

pub(crate) struct PipelineGraph {
    pub(crate) id: PipelineId,
    pub(crate) team: String,
    pub(crate) graph: Graph,
    pub(crate) archived: bool,
    /// True if the pipeline's configuration cannot be read: nothing is done about its builds until
    /// it is set anew.
    pub(crate) unreadable: bool,
}

impl Driver {
    /// Returns the pipeline as it is configured. None if there is no such pipeline.
    pub(crate) async fn pipeline_graph(
        &mut self,
        pipeline: PipelineId,
    ) -> Result<Option<Arc<PipelineGraph>>> {
        if let Some(configured) = self.graphs.get(&pipeline) {
            return Ok(Some(configured.clone()));
        }
        let Some(row) = self.store.pipeline_by_id(pipeline).await? else {
            return Ok(None);
        };
        let (graph, unreadable) = if row.archived {
            (Graph::default(), false)
        } else {
            match self.graph(pipeline, row.config).await {
                Ok(graph) => (graph, false),
                Err(error @ (Error::Config { .. } | Error::Graph { .. })) => {
                    warn!(%pipeline, error = %chain(&error), "pipeline not scheduled");
                    (Graph::default(), true)
                }
                Err(error) => return Err(error),
            }
        };
        let configured = Arc::new(PipelineGraph {
            id: pipeline,
            team: row.team_name,
            graph,
            archived: row.archived,
            unreadable,
        });
        self.graphs.insert(pipeline, configured.clone());
        Ok(Some(configured))
    }

    async fn graph(&mut self, pipeline: PipelineId, config: serde_json::Value) -> Result<Graph> {
        let config: Config =
            serde_json::from_value(config).map_err(|source| Error::Config { pipeline, source })?;
        let mut ids = Ids::default();
        self.pipelines.known.insert(pipeline);
        for job in self.store.jobs(pipeline).await? {
            self.pipelines.jobs.insert(job.id, pipeline);
            ids.jobs.insert(job.name, job.id);
        }
        let mut pins = HashMap::new();
        for resource in self.store.resources(pipeline).await? {
            self.pipelines.resources.insert(resource.id, pipeline);
            if let Some(pin) = resource.pin.filter(|pin| !pin.in_config) {
                pins.insert(resource.id, pin.version);
            }
            ids.resources.insert(resource.name, resource.id);
        }
        ids.pins = pins;
        Graph::read(&config, &ids, &mut self.names)
            .map_err(|source| Error::Graph { pipeline, source })
    }
}
