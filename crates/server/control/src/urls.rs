//! Addresses of pages about pipelines, jobs and builds.

use airside_store::{InstanceVars, PipelineSummary};

/// Returns the page of a pipeline.
pub(crate) fn pipeline(external_url: &str, pipeline: &PipelineSummary) -> String {
    let path = format!(
        "teams/{}/pipelines/{}",
        segment(&pipeline.team_name),
        segment(&pipeline.name)
    );
    with_vars(external_url, &path, &pipeline.instance_vars)
}

/// Returns the page of a job's build.
pub(crate) fn build(
    external_url: &str,
    pipeline: &PipelineSummary,
    job: &str,
    build: &str,
) -> String {
    let path = format!(
        "teams/{}/pipelines/{}/jobs/{}/builds/{}",
        segment(&pipeline.team_name),
        segment(&pipeline.name),
        segment(job),
        segment(build)
    );
    with_vars(external_url, &path, &pipeline.instance_vars)
}

fn with_vars(external_url: &str, path: &str, vars: &InstanceVars) -> String {
    let mut url = format!("{}/{path}", external_url.trim_end_matches('/'));
    let vars = airside_vars::InstanceVars(vars.as_map().clone()).to_query();
    for (position, (key, value)) in vars.iter().enumerate() {
        let separator = if position == 0 { '?' } else { '&' };
        url.push_str(&format!("{separator}{}={}", segment(key), segment(value)));
    }
    url
}

/// Encodes a text as a segment of a path or as a part of a query.
fn segment(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let bytes = text.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    bytes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_change_the_path() {
        assert_eq!(segment("a/../b c"), "a%2F..%2Fb%20c");
        assert_eq!(segment("größe"), "gr%C3%B6%C3%9Fe");
    }
}
