//! Addresses of pages, as Concourse has them.

use airside_store::{InstanceVars, PipelineSummary};
use url::form_urlencoded;

/// Returns the address of a pipeline's page, followed by further parts of the path.
pub(crate) fn pipeline_url(pipeline: &PipelineSummary, rest: &[&str]) -> String {
    let (team, name) = (&pipeline.team_name, &pipeline.name);
    team_pipeline_url(team, name, &pipeline.instance_vars, rest)
}

/// Returns the address of a pipeline by its names, followed by further parts of the path.
pub(crate) fn team_pipeline_url(
    team: &str,
    name: &str,
    vars: &InstanceVars,
    rest: &[&str],
) -> String {
    let mut address = format!("/teams/{}/pipelines/{}", escaped(team), escaped(name));
    for part in rest {
        address.push('/');
        address.push_str(&escaped(part));
    }
    address.push_str(&vars_query(vars));
    address
}

/// Returns the part of an address that tells pipelines of one name apart: nothing, or `?vars.…=…`.
fn vars_query(vars: &InstanceVars) -> String {
    if vars.is_empty() {
        return String::new();
    }
    let pairs = airside_vars::InstanceVars(vars.as_map().clone()).to_query();
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(pairs);
    format!("?{}", query.finish())
}

/// Escapes a name for a path.
pub(crate) fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let mut written = String::with_capacity(name.len());
    for byte in name.bytes() {
        if plain(byte) {
            written.push(char::from(byte));
        } else {
            written.push_str(&format!("%{byte:02X}"));
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn names_do_not_leave_their_part_of_the_path() {
        assert_eq!(escaped("a/b?c#d"), "a%2Fb%3Fc%23d");
        assert_eq!(escaped("grün-1.2_x~"), "gr%C3%BCn-1.2_x~");
    }
}
