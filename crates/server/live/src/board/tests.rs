use std::collections::BTreeSet;

use airside_model::{BuildId, BuildStatus, JobId, TeamId};
use airside_store::{DashboardPipeline, ShownChange};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::{
    LiveRequest, ReaderRights, TopicAccess, TopicVerdict,
    item::tests::{job, pipeline},
    marks::Marks,
    outbox::MAX_BYTES,
};

const BOOT: u32 = 0x0a;

struct Stage {
    board: Board,
    all: Vec<DashboardPipeline>,
    now: Instant,
}

fn sight(teams: &[i64]) -> LiveSight {
    let teams = teams.iter().map(|team| TeamId(*team));
    LiveSight::Teams(teams.collect::<BTreeSet<_>>())
}

fn allowed(pipeline: i64) -> TopicVerdict {
    TopicVerdict::Allowed(TopicAccess {
        pipeline: Some(PipelineId(pipeline)),
        job: Some(JobId(pipeline * 10)),
        sees_output: true,
    })
}

/// Pipelines 1 and 2 of teams 1 and 2.
fn stage() -> Stage {
    Stage {
        board: Board::new(BOOT),
        all: vec![pipeline(1, 1), pipeline(2, 2)],
        now: Instant::now(),
    }
}

impl Stage {
    /// A reader of topics that are all allowed.
    fn join(&mut self, list: &str, last: Option<&str>, teams: &[i64]) -> ReaderId {
        let request = LiveRequest::parse(list, last).unwrap();
        let topics = request.topics().map(|topic| (topic, allowed(1))).collect();
        let sight = sight(teams);
        let rights = ReaderRights { sight, topics };
        let id = self
            .board
            .join(&request, rights, "{}", Arc::new(Notify::new()));
        self.look(Marks::default());
        id
    }

    /// Reads what is needed from the pipelines of this stage.
    fn look(&mut self, marks: Marks) -> Needs {
        let needs = self.board.needs(&marks, self.now);
        let found = |id: &PipelineId| self.all.iter().find(|one| one.id == *id).cloned();
        let reads = Reads {
            all_pipelines: needs.all_pipelines.then(|| self.all.clone()),
            pipelines: needs.pipelines.iter().map(|id| (*id, found(id))).collect(),
            builds: needs.builds.iter().map(|id| (*id, None)).collect(),
            rows: needs
                .rows
                .iter()
                .map(|id| (*id, TeamId(1), false))
                .collect(),
            all_rows: needs.all_rows,
        };
        self.board.apply(&marks, reads);
        needs
    }

    fn change(&mut self, change: ShownChange) -> Needs {
        let mut marks = Marks::default();
        marks.note(change);
        self.look(marks)
    }

    /// Lets the job of a pipeline fail or succeed.
    fn finish(&mut self, at: usize, status: BuildStatus) -> Needs {
        let id = self.all[at].id;
        self.all[at].jobs = vec![job(id.0 * 10, Some(status))];
        let mut marks = Marks::default();
        marks.pipelines.insert(id);
        self.look(marks)
    }

    /// All that waits for a reader: for each event its id, name and data.
    fn read(&mut self, reader: ReaderId) -> Vec<(String, String, Value)> {
        let mut events = Vec::new();
        while let ReaderStep::Send(bytes) = self.board.take(reader) {
            let text = String::from_utf8(bytes.into()).unwrap();
            let field = |name: &str| {
                let mut lines = text.lines();
                let line = lines.find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default().to_owned()
            };
            let data = serde_json::from_str(&field("data: ")).unwrap();
            events.push((field("id: "), field("event: "), data));
        }
        events
    }

    /// The names of all that waits for a reader, with their topics.
    fn names(&mut self, reader: ReaderId) -> Vec<String> {
        let events = self.read(reader).into_iter();
        let name = |(_, event, data): (String, String, Value)| match &data["topic"] {
            Value::String(topic) => format!("{event} {topic}"),
            _ => event,
        };
        events.map(name).collect()
    }

    fn last_id(&mut self, reader: ReaderId) -> String {
        let events = self.read(reader);
        events.last().unwrap().0.clone()
    }
}

#[test]
fn a_reader_sees_the_whole_and_then_what_changes() {
    let mut stage = stage();
    let reader = stage.join("dashboard,workers", None, &[1]);
    let events = stage.read(reader);
    let names: Vec<&str> = events.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["hello", "state", "state"]);
    let items = json!([[1, "t1", "p1", 8, 0, "0", "0", 0, 0]]);
    assert_eq!(events[1].2["items"], items);
    let ids: Vec<bool> = events.iter().map(|(id, ..)| id.is_empty()).collect();
    assert_eq!(ids, [true, true, false], "an id promises all before it");

    stage.finish(0, BuildStatus::Failed);
    stage.finish(1, BuildStatus::Failed);
    stage.change(ShownChange::WorkersChanged);
    let events = stage.read(reader);
    assert_eq!(events.len(), 2, "the other team's is not told: {events:?}");
    assert_eq!(events[0].2["items"][0][5], "2");
    assert_eq!(events[1].2["parts"], json!(["workers"]));
    let versions: Vec<u64> = events
        .iter()
        .map(|(.., data)| data["v"].as_u64().unwrap())
        .collect();
    assert!(versions[0] < versions[1]);
    assert_eq!(events[1].0, format!("0000000a-{}", versions[1]));
}

#[test]
fn nothing_is_read_that_is_not_followed() {
    let mut stage = stage();
    let ended = ShownChange::BuildEnded {
        build: BuildId(7),
        job: Some(JobId(10)),
    };
    assert_eq!(stage.change(ended), Needs::default());
    stage.join("workers,job:10,resource:4", None, &[1]);
    assert_eq!(stage.change(ended), Needs::default());
    for _ in 0..3 {
        stage.join("build:7,build:8,pipeline:1,builds", None, &[1]);
    }
    let expected = Needs {
        builds: vec![BuildId(7)],
        rows: vec![BuildId(7)],
        ..Needs::default()
    };
    assert_eq!(stage.change(ended), expected, "however many read it");
    let needs = stage.finish(0, BuildStatus::Failed);
    assert_eq!(needs.pipelines, [PipelineId(1)]);
    let needs = stage.finish(1, BuildStatus::Failed);
    assert_eq!(needs, Needs::default(), "no page shows the other one");

    stage.join("dashboard", None, &[1]);
    assert_eq!(
        stage.finish(1, BuildStatus::Errored).pipelines,
        [PipelineId(2)]
    );
    let mut marks = Marks {
        pipelines: (0..33).map(PipelineId).collect(),
        ..Marks::default()
    };
    assert!(stage.board.needs(&marks, stage.now).all_pipelines);
    marks.rows = (0..501).map(BuildId).collect();
    assert!(stage.board.needs(&marks, stage.now).all_rows);
}

#[test]
fn one_that_comes_back_gets_the_rest() {
    let mut stage = stage();
    let list = "dashboard,pipeline:1";
    let reader = stage.join(list, None, &[1]);
    let last = stage.last_id(reader);
    stage.board.leave(reader, stage.now);
    stage.finish(0, BuildStatus::Failed);
    let reader = stage.join(list, Some(&last), &[1]);
    let expected = ["hello", "patch pipeline:1", "patch dashboard"];
    assert_eq!(stage.names(reader), expected);

    // A new topic comes whole, the known one does not.
    let known = format!("dashboard@{last},workers");
    let reader = stage.join(&known, None, &[1]);
    let expected = ["hello", "state workers", "patch dashboard"];
    assert_eq!(stage.names(reader), expected);

    let whole = ["hello", "state dashboard", "state pipeline:1"];
    for unknown in ["0000000b-2", "0000000a-0", "0000000a-99999", "nonsense", ""] {
        let reader = stage.join(list, Some(unknown), &[1]);
        assert_eq!(stage.names(reader), whole, "{unknown}");
    }
}

#[test]
fn a_topic_that_was_not_kept_up_comes_whole() {
    let mut stage = stage();
    let reader = stage.join("dashboard", None, &[1]);
    let last = stage.last_id(reader);
    stage.board.leave(reader, stage.now);
    stage.now += KEPT_UP;
    assert_eq!(stage.finish(0, BuildStatus::Failed), Needs::default());
    assert!(stage.board.is_idle(), "nothing is read for nobody");
    let reader = stage.join("dashboard", Some(&last), &[1]);
    assert_eq!(stage.names(reader), ["hello", "state dashboard"]);
}

#[test]
fn idle_topics_are_bounded() {
    let mut stage = stage();
    for at in 0..=MAX_IDLE {
        let reader = stage.join(&format!("job:{at}"), None, &[1]);
        stage.board.leave(reader, stage.now);
    }
    assert!(stage.board.topics.len() <= MAX_IDLE);
}

#[test]
fn a_slow_reader_gets_the_whole_again() {
    let mut stage = stage();
    stage.all[0].name = "n".repeat(MAX_BYTES / 4);
    let slow = stage.join("dashboard,workers", None, &[1]);
    let quick = stage.join("dashboard", None, &[1]);
    for reader in [slow, quick] {
        stage.read(reader);
    }
    stage.change(ShownChange::WorkersChanged);
    for at in 0..6 {
        let status = [BuildStatus::Failed, BuildStatus::Succeeded][at % 2];
        stage.finish(0, status);
        assert_eq!(stage.names(quick), ["patch dashboard"]);
    }
    let events = stage.read(slow);
    let names: Vec<&str> = events.iter().map(|(_, name, _)| name.as_str()).collect();
    assert_eq!(names, ["state", "state"]);
    assert_eq!(events[0].2["items"][0][5], "1", "as it is now");
    assert_eq!(stage.board.counts.overflows, 1);
    stage.finish(0, BuildStatus::Errored);
    assert_eq!(stage.names(slow), ["patch dashboard"]);
}

#[test]
fn what_is_not_allowed_is_said_and_not_told() {
    let mut stage = stage();
    let request = LiveRequest::parse("pipeline:1,build:7,job:10", None).unwrap();
    let topics: Vec<LiveTopic> = request.topics().collect();
    let verdicts = |verdicts: [TopicVerdict; 3]| ReaderRights {
        sight: sight(&[]),
        topics: topics.iter().copied().zip(verdicts).collect(),
    };
    let rights = verdicts([TopicVerdict::Denied, TopicVerdict::Gone, allowed(1)]);
    let notify = Arc::new(Notify::new());
    let reader = stage.board.join(&request, rights, "{}", notify);
    let expected = ["hello", "denied pipeline:1", "gone build:7", "state job:10"];
    assert_eq!(stage.names(reader), expected);
    stage.finish(0, BuildStatus::Failed);
    let changed = ShownChange::BuildChanged(BuildId(7));
    stage.change(changed);
    assert_eq!(stage.names(reader), Vec::<String>::new());

    // Nothing is sent before the rights were judged again.
    stage.change(ShownChange::JobChanged(JobId(10)));
    stage.change(ShownChange::PipelineChanged(PipelineId(1)));
    assert_eq!(stage.board.take(reader), ReaderStep::Judge);
    assert_eq!(stage.board.take(reader), ReaderStep::Judge);
    let lost = verdicts([allowed(1), allowed(1), TopicVerdict::Denied]);
    stage.board.judged(reader, lost, stage.now);
    assert_eq!(
        stage.names(reader),
        ["denied job:10"],
        "what was denied stays so"
    );
    stage.change(ShownChange::JobChanged(JobId(10)));
    assert_eq!(stage.names(reader), Vec::<String>::new());
}

#[test]
fn rights_are_judged_where_they_may_have_changed() {
    let mut stage = stage();
    let own = stage.join("job:10", None, &[1]);
    let other = stage.join("dashboard", None, &[2]);
    for reader in [own, other] {
        stage.read(reader);
    }
    let is_judged = |stage: &mut Stage, reader| stage.board.take(reader) == ReaderStep::Judge;
    let judge = |stage: &mut Stage, reader, teams: &[i64]| {
        let rights = ReaderRights {
            sight: sight(teams),
            topics: Vec::new(),
        };
        stage.board.judged(reader, rights, stage.now);
    };
    stage.change(ShownChange::BuildsForgotten(JobId(10)));
    assert!(is_judged(&mut stage, own));
    judge(&mut stage, own, &[1]);
    stage.change(ShownChange::PipelineGone(PipelineId(3)));
    assert!(!is_judged(&mut stage, own));

    stage.finish(1, BuildStatus::Failed);
    stage.change(ShownChange::TeamChanged(TeamId(2)));
    assert!(is_judged(&mut stage, own) && is_judged(&mut stage, other));
    // A reader that left the team sees none of what waited for it.
    judge(&mut stage, other, &[1]);
    let events = stage.read(other);
    assert_eq!(events.len(), 1, "{events:?}");
    assert_eq!(events[0].1, "state");
    assert_eq!(events[0].2["items"][0][0], 1);
}

#[test]
fn one_that_comes_back_after_teams_changed_sees_the_whole() {
    let mut stage = stage();
    let reader = stage.join("dashboard", None, &[1]);
    let last = stage.last_id(reader);
    stage.board.leave(reader, stage.now);
    stage.change(ShownChange::TeamChanged(TeamId(1)));
    let reader = stage.join("dashboard", Some(&last), &[1, 2]);
    assert_eq!(stage.names(reader), ["hello", "state dashboard"]);
}

#[test]
fn missed_changes_make_all_pages_look_again() {
    let mut stage = stage();
    let reader = stage.join("dashboard,job:10", None, &[1]);
    stage.read(reader);
    stage.all[0].jobs.clear();
    let mut marks = Marks::default();
    marks.miss();
    stage.look(marks);
    let rights = ReaderRights {
        sight: sight(&[1]),
        topics: Vec::new(),
    };
    stage.board.judged(reader, rights, stage.now);
    let events = stage.read(reader);
    let parts: Vec<&Value> = events.iter().map(|(.., data)| &data["parts"]).collect();
    assert_eq!(parts, [&Value::Null, &json!(["all"]), &json!(["all"])]);
    assert_eq!(events[0].2["items"][0][5], "");
}

#[test]
fn the_page_of_a_job_hears_of_its_pipeline() {
    let mut stage = stage();
    let reader = stage.join("job:10,pipeline:1", None, &[1]);
    stage.read(reader);
    stage.change(ShownChange::PipelineSet(PipelineId(1)));
    let rights = ReaderRights {
        sight: sight(&[1]),
        topics: Vec::new(),
    };
    stage.board.judged(reader, rights, stage.now);
    let events = stage.read(reader);
    let mut parts: Vec<String> = events
        .iter()
        .map(|(.., data)| format!("{} {}", data["topic"], data["parts"]))
        .collect();
    parts.sort();
    let expected = [r#""job:10" ["all"]"#, r#""pipeline:1" ["graph"]"#];
    assert_eq!(parts, expected);
}

#[test]
fn patches_wait_until_all_was_seen_once() {
    let mut stage = stage();
    let request = LiveRequest::parse("workers,dashboard", None).unwrap();
    let topics = request.topics().map(|topic| (topic, allowed(1))).collect();
    let sight = sight(&[1]);
    let rights = ReaderRights { sight, topics };
    let notify = Arc::new(Notify::new());
    let reader = stage.board.join(&request, rights, "{}", notify);
    // The dashboard cannot be read yet.
    assert_eq!(stage.names(reader), ["hello", "state workers"]);
    let mut marks = Marks::default();
    marks.note(ShownChange::WorkersChanged);
    stage.board.apply(&marks, Reads::default());
    assert_eq!(stage.names(reader), Vec::<String>::new());
    stage.look(Marks::default());
    assert_eq!(stage.names(reader), ["state dashboard", "part workers"]);
    assert!(
        stage
            .board
            .dashboard(&Arc::new(LiveSight::All))
            .unwrap()
            .starts_with(r#"{"boot":"0000000a","v":"#)
    );
}
