//! Pages at the addresses that `fly` prints: there is no web interface, and each page names the
//! `fly` commands that show the same thing.
//!
//! A page repeats its own address and knows nothing else, so that strangers learn nothing from it:
//! it is the same page whether the object exists or not. The page of the server says one thing
//! more, which its health says to strangers too: that no worker runs.

mod command;

use airside_vars::InstanceVars;
use axum::{
    Router,
    extract::{Path, Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use http::{HeaderMap, Method, StatusCode, Uri, header::ACCEPT};

use crate::{ApiState, error::ApiError, pages, routes::server::running_and_away};
use command::{Command, shell_word};

pub(crate) fn router() -> Router<ApiState> {
    const PIPELINE: &str = "/teams/{team}/pipelines/{pipeline}";
    Router::new()
        .route("/", get(home))
        .route("/builds/{build}", get(build))
        .route(PIPELINE, get(pipeline))
        .route(&format!("{PIPELINE}/jobs/{{job}}"), get(job))
        .route(
            &format!("{PIPELINE}/jobs/{{job}}/builds/{{build}}"),
            get(job_build),
        )
        .route(&format!("{PIPELINE}/resources/{{resource}}"), get(resource))
}

/// Parameters of an address, in their order.
type Pairs = Vec<(String, String)>;

/// The page of the server itself, at which a login in a browser ends too.
async fn home(State(state): State<ApiState>, Query(pairs): Query<Pairs>) -> Response {
    let login = Command::new("login").option("-c", &state.external_url);
    let lists = [Command::new("pipelines"), Command::new("builds")];
    let mut commands: Vec<String> = std::iter::once(login).chain(lists).map(shown).collect();
    let notice = cannot_run(&state).await;
    if notice.is_some() {
        commands.push(shown(Command::new("workers -d")));
    }
    // A login appends this parameter to the address at which it ends.
    let title = if pairs.iter().any(|(key, _)| key == "csrf_token") {
        "You are logged in"
    } else {
        "This is an Airside server"
    };
    pages::fly_commands(title, notice, &commands)
}

/// Returns what to tell visitors if no step can run. A database that is away has its own answers
/// elsewhere.
async fn cannot_run(state: &ApiState) -> Option<&'static str> {
    let workers = state.store.workers().await.ok()?;
    let (running, _) = running_and_away(state, &workers);
    running.is_empty().then_some(
        "No worker is running, so no step can run. The last of these commands says why of each worker.",
    )
}

async fn build(Path(build): Path<String>) -> Response {
    let Ok(id) = build.parse::<u32>() else {
        return not_found_page();
    };
    let watch = Command::new("watch").option("-b", &id.to_string());
    pages::fly_commands(&format!("Build {id}"), None, &[shown(watch)])
}

async fn pipeline(Path((team, name)): Path<(String, String)>, query: Query<Pairs>) -> Response {
    let Some(pipeline) = PipelineLink::new(&team, &name, &query) else {
        return not_found_page();
    };
    let commands = ["jobs", "builds", "get-pipeline", "unpause-pipeline"]
        .map(|command| shown(pipeline.command(command).option("-p", &pipeline.reference)));
    pages::fly_commands(&format!("Pipeline {name}"), None, &commands)
}

async fn job(
    Path((team, name, job)): Path<(String, String, String)>,
    query: Query<Pairs>,
) -> Response {
    let found = PipelineLink::new(&team, &name, &query);
    let Some((pipeline, path)) = found.and_then(|it| it.with_path(&job)) else {
        return not_found_page();
    };
    let commands = ["builds", "watch", "trigger-job"]
        .map(|command| shown(pipeline.command(command).option("-j", &path)));
    pages::fly_commands(&format!("Job {job}"), None, &commands)
}

async fn job_build(
    Path((team, name, job, build)): Path<(String, String, String, String)>,
    query: Query<Pairs>,
) -> Response {
    let found = PipelineLink::new(&team, &name, &query);
    let Some((pipeline, path)) = found.and_then(|it| it.with_path(&job)) else {
        return not_found_page();
    };
    if !is_build_name(&build) {
        return not_found_page();
    }
    let watch = pipeline.command("watch");
    let watch = watch.option("-j", &path).option("-b", &build);
    pages::fly_commands(
        &format!("Build {build} of job {job}"),
        None,
        &[shown(watch)],
    )
}

async fn resource(
    Path((team, name, resource)): Path<(String, String, String)>,
    query: Query<Pairs>,
) -> Response {
    let found = PipelineLink::new(&team, &name, &query);
    let Some((pipeline, path)) = found.and_then(|it| it.with_path(&resource)) else {
        return not_found_page();
    };
    let commands = ["resource-versions", "check-resource"]
        .map(|command| shown(pipeline.command(command).option("-r", &path)));
    pages::fly_commands(&format!("Resource {resource}"), None, &commands)
}

fn shown(command: Command) -> String {
    command.to_string()
}

/// Returns true for a number, and for that of a rerun: `12.1`.
fn is_build_name(name: &str) -> bool {
    let is_number = |part: &str| part.parse::<u32>().is_ok();
    match name.split_once('.') {
        Some((build, rerun)) => is_number(build) && is_number(rerun),
        None => is_number(name),
    }
}

/// The pipeline that an address names.
struct PipelineLink {
    team: String,
    /// The pipeline as `fly` takes it, with its instance variables.
    reference: String,
}

impl PipelineLink {
    /// Returns nothing for names that no object can have on a command line.
    fn new(team: &str, name: &str, query: &[(String, String)]) -> Option<Self> {
        let pairs = query.iter().map(|(key, text)| (&**key, &**text));
        let reference = match InstanceVars::from_query(pairs).ok()? {
            // Every text is quoted, so that fly reads none as something else.
            Some(vars) => format!("{name}/{}", vars.shown(|_| false)),
            None => name.to_owned(),
        };
        let is_safe = |word: &str| shell_word(word).is_some();
        (is_safe(team) && is_safe(&reference)).then(|| Self {
            team: team.to_owned(),
            reference,
        })
    }

    /// Adds the path of a job or resource, as `fly` takes it.
    fn with_path(self, name: &str) -> Option<(Self, String)> {
        let path = format!("{}/{name}", self.reference);
        shell_word(&path)?;
        Some((self, path))
    }

    fn command(&self, name: &'static str) -> Command {
        let command = Command::new(name);
        match &*self.team {
            "main" => command,
            team => command.option("--team", team),
        }
    }
}

fn not_found_page() -> Response {
    (StatusCode::NOT_FOUND, pages::not_found()).into_response()
}

/// Answers what is not a route at all: browsers get a page, programs the status alone.
pub(crate) async fn unknown(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let reads = method == Method::GET || method == Method::HEAD;
    let is_api = uri.path().starts_with("/api/");
    if reads && !is_api && takes_html(&headers) {
        return not_found_page();
    }
    ApiError::NotFound.into_response()
}

fn takes_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let mut types = accepted.filter_map(|value| value.to_str().ok());
    types.any(|types| types.contains("text/html"))
}
