//! Prints the dashboard of an invented installation, to look at and to measure without a server:
//! `cargo run --example dashboard -- 3000 > d.html`.

#![allow(clippy::print_stdout, reason = "the page is its output")]

use std::fmt::Write as _;

use airside_ui::{Dashboard, Shell, SideBar, WallMessage};

const NOW: u64 = 1_763_584_500;
const WORDS: [&str; 14] = [
    "web",
    "api",
    "infra",
    "docs-site",
    "release",
    "payments-reconciliation-nightly-backfill",
    "search-index",
    "beta-channel",
    "images",
    "cluster-e2e",
    "certificates",
    "node-agents",
    "deploy",
    "legacy-importer",
];

/// Numbers that are equal at each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

fn item(id: u64, dice: &mut Dice) -> String {
    let team = ["main", "platform", "mobile", "data"][(id * 4 / 1000 % 4) as usize];
    let word = WORDS[dice.roll(14) as usize];
    let name = if id < 14 {
        WORDS[id as usize].to_owned()
    } else {
        format!("{word}-{id}")
    };
    let name = if id % 20 == 7 {
        "matrix".to_owned()
    } else {
        name
    };
    let jobs = [3, 5, 10, 10, 10, 14, 24][dice.roll(7) as usize];
    let jobs = if id == 8 {
        50
    } else if id == 21 {
        300
    } else if id == 22 {
        2000
    } else {
        jobs
    };
    let is_well = dice.roll(4) > 0;
    let (mut statuses, mut ranks, mut running, mut rank) = (String::new(), String::new(), 0, 0);
    for _ in 0..jobs {
        let status = match dice.roll(30) {
            0 if !is_well => 2,
            1 if !is_well => 3,
            2 if !is_well => 4,
            3 if !is_well => 16,
            4 if !is_well => 0,
            5 => 6,
            6 if dice.roll(3) == 0 => 11,
            _ => 1,
        };
        running += u64::from((5..15).contains(&status));
        statuses.push(char::from_digit(status, 36).unwrap_or('0'));
        rank = (rank + u32::from(dice.roll(3) > 0)).min(35);
        ranks.push(char::from_digit(rank, 36).unwrap_or('0'));
    }
    let flags = if dice.roll(12) == 0 { 1 } else { 0 }
        + if dice.roll(25) == 0 { 2 } else { 0 }
        + if dice.roll(3) == 0 { 4 } else { 0 }
        + 8;
    let since = NOW - dice.roll(400_000);
    let failing = dice.roll(9).saturating_sub(6);
    let mut written = format!(
        "[{id},\"{team}\",\"{name}\",{flags},{since},\"{statuses}\",\"{ranks}\",{running},{failing}"
    );
    let pause = if flags & 1 > 0 {
        format!(",[\"ana\",{since}]")
    } else {
        String::new()
    };
    // Writing to a text does not fail.
    let _ = match id {
        _ if name == "matrix" => write!(
            written,
            ",{{\"branch\":\"release-{id}\",\"env\":\"prod\"}}{pause}]"
        ),
        12 => write!(written, ",{{\"env\":\"prod\"}}{pause}]"),
        _ if pause.is_empty() => write!(written, "]"),
        _ => write!(written, ",0{pause}]"),
    };
    written
}

fn main() {
    let count = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(30);
    let mut dice = Dice(7);
    let mut items: Vec<String> = (1..=count).map(|id| item(id, &mut dice)).collect();
    // Teams stand together, as the server sends them.
    let teams = ["main", "platform", "mobile", "data"];
    items.sort_by_key(|item| {
        teams
            .iter()
            .position(|team| item.contains(&format!(",\"{team}\",")))
    });
    let page = Dashboard {
        wall: Some(WallMessage {
            message: "The database moves at 18:00 UTC. Builds wait for about ten minutes; nothing is lost.".into(),
        }),
        is_admin: true,
        data: format!(
            "{{\"live\":{{\"items\":[{}]}},\"teams\":[[\"main\",\"owner\",3],[\"platform\",\"member\",3],[\"mobile\",\"viewer\",0]],\"now\":{NOW}}}",
            items.join(",")
        ),
        topic: String::new(),
    };
    let side = SideBar {
        workers: Some(5),
        version: "0.9.2".to_owned(),
        fly_version: "8.3.0".to_owned(),
        ..SideBar::default()
    };
    let shell = Shell {
        cluster: Some("ci".to_owned()),
        user: Some("ana".to_owned()),
        csrf: Some("proof".to_owned()),
        here: "/".to_owned(),
        ..Shell::default()
    };
    print!("{}", page.page(&side).render(&shell));
}
