//! Windows and searches over real logs.

#![allow(clippy::unwrap_used, reason = "this is how tests fail")]

use std::time::Duration;

use airside_lines::{
    BuildLines, FindCursor, FindHit, FindPart, FindQuery, LineRange, MAX_WINDOW_BYTES, OutputLine,
    StepWindow,
};
use airside_logs::{LogWriter, Logs};
use airside_model::{
    BuildId, PlanId,
    event::{Event, Origin},
};

const BUILD: BuildId = BuildId(1);

struct House {
    folder: tempfile::TempDir,
    logs: Logs,
    lines: BuildLines,
    writer: LogWriter,
    written: u64,
}

impl House {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let logs = Logs::open(folder.path()).unwrap();
        let writer = logs.writer(BUILD, 1).await.unwrap();
        Self {
            folder,
            lines: BuildLines::new(logs.clone()),
            logs,
            writer,
            written: 0,
        }
    }

    async fn write(&mut self, events: Vec<Event>) {
        let count = events.len() as u64;
        let entries = (self.written + 1..).zip(events).collect();
        self.writer.append_all("all", entries).await.unwrap();
        self.written += count;
    }

    async fn print(&mut self, step: &str, texts: &[&str]) {
        let events = texts.iter().map(|text| log(step, text)).collect();
        self.write(events).await;
    }

    async fn window(&self, step: &str, range: LineRange) -> StepWindow {
        let window = self
            .lines
            .window(BUILD, step.to_owned(), range, false)
            .await;
        window.unwrap()
    }

    /// All lines of a step, by windows of some lines.
    async fn by_windows(&self, step: &str, count: u64) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = lines.len() as u64 + 1;
            let window = self.window(step, LineRange::From { line, count }).await;
            assert_eq!(window.from, line.min(window.total + 1));
            lines.extend(texts(&window));
            if lines.len() as u64 >= window.total {
                return lines;
            }
            assert!(!window.lines.is_empty());
        }
    }

    /// All hits, and the number of searches that it took.
    async fn find(&self, query: &FindQuery, step: Option<&str>) -> (Vec<FindHit>, usize) {
        let (mut hits, mut at) = (Vec::new(), FindCursor::default());
        for searches in 1.. {
            let step = step.map(str::to_owned);
            let owner = "ann".to_owned();
            let found = self.lines.find(BUILD, owner, query.clone(), step, at);
            let mut parts = found.await.unwrap();
            loop {
                match parts.recv().await.expect("a search has an end") {
                    FindPart::Hit(hit) => hits.push(hit),
                    FindPart::End(None) => return (hits, searches),
                    FindPart::End(Some(next)) => {
                        assert_eq!(next.to_string().parse::<FindCursor>().unwrap(), next);
                        at = next;
                        break;
                    }
                }
            }
        }
        unreachable!("searches end");
    }
}

fn log(step: &str, text: &str) -> Event {
    Event::Log {
        time: 7,
        origin: Origin::step(&PlanId::new(step)),
        payload: text.to_owned(),
    }
}

fn finish(step: &str) -> Event {
    Event::Finish {
        origin: Origin::step(&PlanId::new(step)),
        time: 8,
        succeeded: true,
    }
}

fn text(line: &OutputLine) -> String {
    line.spans.iter().map(|(text, _)| text.as_str()).collect()
}

fn texts(window: &StepWindow) -> Vec<String> {
    window.lines.iter().map(text).collect()
}

/// Output of two steps at the same time: lines, and a bar that moves.
fn mixed(count: usize) -> Vec<Event> {
    let events = (0..count).flat_map(|number| {
        let one = format!("\x1b[3{}mone {number}\n", number % 8);
        let bar = format!("\r{number}%\x1b[K");
        let bar = if number % 10 == 9 {
            bar + "\nnext\n\x1b[2A\x1b[2B"
        } else {
            bar
        };
        [log("1", &one), log("2", &bar)]
    });
    events.collect()
}

fn expected_bars(count: usize) -> Vec<String> {
    (0..count / 10)
        .flat_map(|ten| [format!("{}%", ten * 10 + 9), "next".to_owned()])
        .collect()
}

#[tokio::test]
async fn windows_of_parallel_steps_are_the_whole() {
    let mut house = House::new().await;
    house.write(mixed(12_000)).await;
    let ones: Vec<String> = (0..12_000).map(|number| format!("one {number}")).collect();
    for count in [333, 2000] {
        assert_eq!(house.by_windows("1", count).await, ones);
    }
    assert_eq!(house.by_windows("2", 500).await, expected_bars(12_000));
    let steps = house.lines.steps(BUILD, false).await.unwrap();
    let totals: Vec<(&str, u64, bool)> = steps
        .steps
        .iter()
        .map(|step| (step.id.as_str(), step.total, step.ended))
        .collect();
    assert_eq!(totals, [("1", 12_000, false), ("2", 2400, false)]);
    assert!(!steps.closed);
}

#[tokio::test]
async fn an_index_grows_with_the_log() {
    let mut house = House::new().await;
    assert_eq!(house.window("1", LineRange::Tail(5)).await.total, 0);
    house.print("1", &["a\nb"]).await;
    let window = house.window("1", LineRange::Tail(5)).await;
    assert_eq!(
        (texts(&window), window.total),
        (vec!["a".into(), "b".into()], 2)
    );
    house.print("1", &["c\n", "10%\r", "99%"]).await;
    let window = house.window("1", LineRange::Tail(2)).await;
    assert_eq!(
        (window.from, texts(&window)),
        (2, vec!["bc".into(), "99%".into()])
    );
    assert_eq!(
        (window.settled, window.ended, window.closed),
        (0, false, false)
    );
    house
        .write(vec![log("1", &"x\n".repeat(300)), finish("1")])
        .await;
    let window = house
        .window("1", LineRange::From { line: 3, count: 2 })
        .await;
    assert_eq!(texts(&window), ["99%x", "x"]);
    assert_eq!((window.total, window.settled), (302, 302));
    assert!(window.ended && !window.closed);
    house.writer.close().await.unwrap();
    let window = house.window("2", LineRange::Tail(2)).await;
    assert!(window.ended && window.closed && window.lines.is_empty());
    house.logs.at_rest().await;
    // Another server reads the closed log anew.
    house.lines = BuildLines::new(house.logs.clone());
    assert_eq!(house.window("1", LineRange::Tail(1)).await.from, 302);
}

#[tokio::test]
async fn the_end_of_a_running_step_needs_no_disk() {
    let mut house = House::new().await;
    house.write(mixed(1500)).await;
    let from_disk = house
        .window(
            "1",
            LineRange::From {
                line: 1001,
                count: 400,
            },
        )
        .await;
    let segments = house.folder.path().join(BUILD.to_string());
    for segment in std::fs::read_dir(segments).unwrap() {
        std::fs::remove_file(segment.unwrap().path()).unwrap();
    }
    let tail = house.window("1", LineRange::Tail(150)).await;
    assert_eq!((tail.from, tail.lines.len()), (1351, 150));
    assert_eq!(tail.lines[..50], from_disk.lines[350..]);
    let bars = house
        .window(
            "2",
            LineRange::From {
                line: 200,
                count: 5,
            },
        )
        .await;
    assert_eq!(texts(&bars), expected_bars(1500)[199..204]);
}

#[tokio::test]
async fn rows_that_were_dropped_are_read_from_the_log() {
    let mut house = House::new().await;
    let wide = "\x1b[1000Cx\n".repeat(200);
    for step in 0..50 {
        house.print(&step.to_string(), &[&wide]).await;
        // Looked at each time, as one who follows does.
        let window = house.window(&step.to_string(), LineRange::Tail(2)).await;
        assert_eq!(texts(&window), vec![format!("{}x", " ".repeat(1000)); 2]);
    }
    house.print("7", &["more\n"]).await;
    let window = house.window("7", LineRange::Tail(2)).await;
    assert_eq!(
        texts(&window),
        [format!("{}x", " ".repeat(1000)), "more".to_owned()]
    );
}

#[tokio::test]
async fn a_quick_answer_comes_before_the_whole_log_was_read() {
    let mut house = House::new().await;
    let words = "words ".repeat(1000);
    house
        .write(
            (0..300)
                .map(|number| log("1", &format!("{number} {words}\n")))
                .collect(),
        )
        .await;
    let none = Duration::ZERO;
    house.lines = BuildLines::new(house.logs.clone()).with_times(none, none);
    let quick = async |range| {
        house
            .lines
            .window(BUILD, "1".into(), range, true)
            .await
            .unwrap()
    };
    let top = LineRange::From { line: 1, count: 3 };
    let (mut totals, mut last) = (Vec::new(), quick(top).await);
    let lines = last.lines.clone();
    while last.partial {
        totals.push(last.total);
        assert_eq!((&last.lines, last.closed), (&lines, false));
        last = quick(top).await;
    }
    assert!(
        totals.len() > 3 && totals.is_sorted() && totals[0] < 100,
        "{totals:?}"
    );
    assert_eq!((last.total, &last.lines), (300, &lines));
    // What was not looked at is waited for.
    house.lines = BuildLines::new(house.logs.clone()).with_times(none, none);
    let steps = house.lines.steps(BUILD, true).await.unwrap();
    assert!(steps.partial && steps.steps[0].total < 100);
    let quick = async |range| {
        house
            .lines
            .window(BUILD, "1".into(), range, true)
            .await
            .unwrap()
    };
    let tail = quick(LineRange::Tail(1)).await;
    assert_eq!((tail.from, tail.partial), (300, false));
}

#[tokio::test]
async fn a_step_that_errs_has_its_error_beside_its_lines() {
    let mut house = House::new().await;
    let message = "no such image: ".to_owned() + &"é".repeat(5000);
    let error = Event::Error {
        message,
        origin: Origin::step(&PlanId::new("1")),
        time: 9,
    };
    house.write(vec![log("1", "pulling\n"), error]).await;
    let window = house.window("1", LineRange::Tail(9)).await;
    assert_eq!(
        (texts(&window), window.ended),
        (vec!["pulling".into()], true)
    );
    let error = window.error.unwrap();
    assert!(
        error.starts_with("no such image: é") && error.len() <= 4096,
        "{error}"
    );
}

#[tokio::test]
async fn a_window_has_an_end_also_where_lines_are_long() {
    let mut house = House::new().await;
    let long = "x".repeat(16_000);
    let lines: Vec<String> = (0..300)
        .map(|number| format!("{number} {long}\n"))
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    house.print("1", &lines).await;
    let window = house
        .window(
            "1",
            LineRange::From {
                line: 1,
                count: 300,
            },
        )
        .await;
    let bytes = |window: &StepWindow| texts(window).iter().map(String::len).sum::<usize>();
    assert!(window.lines.len() < 100 && bytes(&window) <= MAX_WINDOW_BYTES);
    let tail = house.window("1", LineRange::Tail(300)).await;
    assert!(texts(&tail).last().unwrap().starts_with("299 "));
    assert_eq!(tail.from + tail.lines.len() as u64, 301);
    assert_eq!(house.by_windows("1", 2000).await.len(), 300);
}

#[tokio::test]
async fn hits_are_found_in_all_steps_and_told_once() {
    let mut house = House::new().await;
    house.write(mixed(3000)).await;
    let names: Vec<String> = (3..30).map(|number| number.to_string()).collect();
    for step in &names {
        house
            .print(step, &["one of mine\n", "\x1b[1mO\x1b[0mne 7\n"])
            .await;
    }
    let query = FindQuery::words("one 7", false).unwrap();
    let (hits, searches) = house.find(&query, None).await;
    assert_eq!(searches, 1);
    // 7, 70 to 79, 700 to 799, and one of each other step.
    let of_first = hits.iter().filter(|hit| &*hit.step == "1");
    let lines: Vec<u64> = of_first.map(|hit| hit.line).collect();
    let mut wanted = vec![8];
    wanted.extend(71..=80);
    wanted.extend(701..=800);
    assert_eq!(lines, wanted);
    assert_eq!(hits.len(), wanted.len() + names.len());
    assert!(hits.iter().all(|hit| hit.marks == [(0, 5)]));

    let (of_one, _) = house
        .find(&FindQuery::pattern("^one", true).unwrap(), Some("9"))
        .await;
    assert_eq!(of_one.len(), 1);
    assert_eq!((&*of_one[0].step, of_one[0].line), ("9", 1));
    let (none, _) = house.find(&query, Some("nowhere")).await;
    assert_eq!(none, []);
}

/// Each event has a hundred lines, or moves a bar a hundred times.
fn blocks(count: usize) -> Vec<Event> {
    let events = (0..count).flat_map(|block| {
        let numbers = block * 100..(block + 1) * 100;
        let one: String = numbers
            .clone()
            .map(|number| format!("one {number}\n"))
            .collect();
        let two: String = numbers
            .map(|number| format!("\r{number} of two\n\x1b[A"))
            .collect();
        [
            log("1", &one),
            log("2", &two),
            log("2", "\n"),
            log("3", &one),
        ]
    });
    events.collect()
}

#[tokio::test]
async fn searches_in_pieces_tell_what_one_search_tells() {
    let mut house = House::new().await;
    house.write(blocks(30)).await;
    for step in ["4", "5", "6", "7", "8", "9", "10"] {
        house.print(step, &["one 55\n", "one 5", "\n"]).await;
    }
    let query = FindQuery::pattern("5$|[05]9 of", true).unwrap();
    let (whole, searches) = house.find(&query, None).await;
    assert_eq!(searches, 1);
    house.lines = BuildLines::new(house.logs.clone()).with_times(Duration::ZERO, Duration::ZERO);
    let (pieces, searches) = house.find(&query, None).await;
    assert!(searches > 100, "{searches}");
    assert_eq!(pieces, whole);
    let of = |step: &str| whole.iter().filter(|hit| &*hit.step == step).count();
    assert_eq!((of("1"), of("2"), of("3"), of("10")), (300, 0, 300, 2));
    let bars = FindQuery::words("99 of", true).unwrap();
    assert_eq!(house.find(&bars, Some("2")).await.0.len(), 30);
}

#[tokio::test]
async fn a_search_ends_after_many_hits_and_goes_on() {
    let mut house = House::new().await;
    house
        .write((0..5000).map(|_| log("1", "hit\n")).collect())
        .await;
    let query = FindQuery::words("hit", true).unwrap();
    let (hits, searches) = house.find(&query, None).await;
    let lines: Vec<u64> = hits.iter().map(|hit| hit.line).collect();
    assert_eq!(lines, (1..=5000).collect::<Vec<u64>>());
    assert_eq!(searches, 5);
}

#[tokio::test]
async fn only_the_last_search_of_an_owner_goes_on() {
    let mut house = House::new().await;
    house.write(mixed(1000)).await;
    let query = FindQuery::words("absent", true).unwrap();
    let find = |owner: &str| {
        let at = FindCursor::default();
        house
            .lines
            .find(BUILD, owner.to_owned(), query.clone(), None, at)
    };
    let mut first = find("ann").await.unwrap();
    let mut of_another = find("bob").await.unwrap();
    let mut last = find("ann").await.unwrap();
    assert_eq!(first.recv().await, None);
    assert_eq!(of_another.recv().await, Some(FindPart::End(None)));
    assert_eq!(last.recv().await, Some(FindPart::End(None)));
}
