//! One job: its builds and what a next one would get.

use axum::{extract::State, response::Response};

use super::PageRequest;
use crate::{ApiState, error::Result};

pub(crate) async fn show(State(_): State<ApiState>, request: PageRequest) -> Result<Response> {
    let page = airside_ui::Page {
        title: "Job".to_owned(),
        ..airside_ui::Page::default()
    };
    Ok(request.show(&page))
}
