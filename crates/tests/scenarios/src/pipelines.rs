//! Pieces of pipelines that many tests need.

use std::fmt::Write;

/// A task step that runs a bash script on the machine's own file system, indented for a job's plan.
/// `more` is further keys of the task's config, one a line.
pub fn task(name: &str, more: &str, script: &str) -> String {
    let mut text = format!(
        "  - task: {name}\n    config:\n      platform: linux\n      image_resource: {{type: host, source: {{}}}}\n"
    );
    for line in more.lines() {
        let _ = writeln!(text, "      {line}");
    }
    text += "      run:\n        path: bash\n        args:\n        - -c\n        - |\n";
    for line in script.lines() {
        let _ = writeln!(text, "          {line}");
    }
    text
}

/// A pipeline of one job named `job`.
pub fn job(plan: &[String]) -> String {
    format!("jobs:\n- name: job\n  plan:\n{}", plan.concat())
}

/// A step of steps side by side. `more` is further keys, such as `limit: 2`, one a line.
pub fn in_parallel(more: &str, steps: &[String]) -> String {
    let mut text = "  - in_parallel:\n".to_owned();
    for line in more.lines() {
        let _ = writeln!(text, "      {line}");
    }
    text += "      steps:\n";
    for line in steps.iter().flat_map(|step| step.lines()) {
        let _ = writeln!(text, "    {line}");
    }
    text
}
