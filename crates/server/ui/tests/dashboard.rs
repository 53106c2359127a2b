//! The dashboard and the side bar, as they are sent: what scripts draw comes later.

use airside_ui::{Dashboard, FirstRun, Shell, SideBar, SidePlace, WallMessage};
use insta::assert_snapshot;

fn side() -> SideBar {
    SideBar {
        place: SidePlace::Dashboard,
        workers: Some(5),
        version: "0.1.0".to_owned(),
        fly_version: "8.3.0".to_owned(),
    }
}

fn dashboard() -> Dashboard {
    Dashboard {
        data: r#"{"teams":[["main","owner",3]],"now":1763584500,"live":{"boot":"3f9a01bc","v":57,"items":[]}}"#.to_owned(),
        topic: "dashboard@3f9a01bc-57".to_owned(),
        ..Dashboard::default()
    }
}

#[test]
fn a_dashboard() {
    assert_snapshot!(dashboard().page(&side()).body);
}

#[test]
fn a_dashboard_with_a_wall_that_its_reader_may_change() {
    let page = Dashboard {
        wall: Some(WallMessage {
            message: "<b>18:00</b> \"moves\"".to_owned(),
        }),
        is_admin: true,
        ..dashboard()
    };
    let body = page.page(&side()).body;
    let (wall, _) = body.split_once("<!--[/wall]-->").unwrap();
    assert_snapshot!(wall);
}

#[test]
fn a_side_bar_of_a_member_and_of_a_stranger() {
    let stranger = SideBar {
        workers: None,
        ..side()
    };
    assert_snapshot!(format!(
        "{}\n{}",
        side().render_bar(),
        stranger.render_bar()
    ));
}

#[test]
fn the_page_follows_the_stream_from_where_its_data_is() {
    let page = dashboard().page(&side()).render(&Shell::default());
    assert!(page.contains("<meta name=\"airside-topics\" content=\"dashboard@3f9a01bc-57\">"));
    // Strangers have nothing to prove, so no button is offered that would need it.
    assert!(!page.contains("name=\"csrf\"") && !page.contains("data-act=\"send\""));
}

#[test]
fn first_steps_end_with_the_first_pipeline() {
    let first = FirstRun {
        external_url: "https://ci.example".to_owned(),
        workers: 0,
        team: None,
    };
    let page = first.page();
    assert_eq!(page.topics, ["dashboard"]);
    assert!(page.body.contains("data-reload-on=\"dashboard\""));
}
