//! Environment variables with which a step knows its build.

use airside_model::BuildStatus;
use airside_store::Build;
use airside_vars::InstanceVars;

/// Returns the variables for the program of a resource type.
pub(crate) fn of_resource(
    build: &Build,
    external_url: &str,
    status: Option<BuildStatus>,
    created_by: Option<&str>,
) -> Vec<(String, String)> {
    let number = |id: Option<i64>| id.map(|id| id.to_string());
    let instance_vars = &build.instance_vars;
    let vars = (!instance_vars.is_empty()).then(|| instance_vars.to_string());
    let known = [
        ("BUILD_STATUS", status.map(|status| status.to_string())),
        ("BUILD_ID", Some(build.id.to_string())),
        ("BUILD_NAME", Some(build.name.clone())),
        ("BUILD_TEAM_ID", Some(build.team.to_string())),
        ("BUILD_TEAM_NAME", Some(build.team_name.clone())),
        ("BUILD_JOB_ID", number(build.job.map(|id| id.0))),
        ("BUILD_JOB_NAME", build.job_name.clone()),
        ("BUILD_PIPELINE_ID", number(build.pipeline.map(|id| id.0))),
        ("BUILD_PIPELINE_NAME", build.pipeline_name.clone()),
        ("BUILD_PIPELINE_INSTANCE_VARS", vars),
        ("ATC_EXTERNAL_URL", Some(external_url.to_owned())),
        ("BUILD_URL", Some(url(build, external_url))),
        (
            "BUILD_URL_SHORT",
            Some(format!("{external_url}/builds/{}", build.id)),
        ),
        ("BUILD_CREATED_BY", created_by.map(str::to_owned)),
    ];
    known
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value.filter(|text| !text.is_empty())?)))
        .collect()
}

/// Returns the URL at which people see the build.
fn url(build: &Build, external_url: &str) -> String {
    let (Some(pipeline), Some(job)) = (&build.pipeline_name, &build.job_name) else {
        return format!("{external_url}/builds/{}", build.id);
    };
    let (team, name) = (&build.team_name, &build.name);
    let mut url =
        format!("{external_url}/teams/{team}/pipelines/{pipeline}/jobs/{job}/builds/{name}");
    let vars = InstanceVars(build.instance_vars.as_map().clone()).to_query();
    for (position, (key, value)) in vars.iter().enumerate() {
        let separator = if position == 0 { '?' } else { '&' };
        url.push_str(&format!("{separator}{}={}", encoded(key), encoded(value)));
    }
    url
}

/// Encodes a text as a part of a query.
fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let bytes = text.bytes().map(|byte| match byte {
        b' ' => "+".to_owned(),
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}
