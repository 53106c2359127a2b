//! The pipeline of the picture that the UI was designed by, and small pipelines whose picture is
//! known.

mod support;

use airside_graph_layout::{
    DrawnInput, DrawnJob, EdgePath, NodeKind, PathPoint, draw_pipeline, job_width, layout,
    resource_width,
};

use support::check::check;
use support::{input, web};

fn print(jobs: &[DrawnJob<'_>]) -> String {
    let drawn = draw_pipeline(jobs);
    let layout = layout(&drawn.nodes, &drawn.edges);
    check(&drawn.nodes, &drawn.edges, &layout);
    let name = |node: usize| match drawn.nodes[node].kind {
        NodeKind::Job { job } => jobs[job].name.to_uppercase(),
        NodeKind::Resource { resource } => drawn.resources[resource].to_owned(),
    };
    let mut columns = vec![Vec::new(); layout.columns.len()];
    for (node, place) in layout.nodes.iter().enumerate() {
        columns[place.column].push((place.y + place.height / 2, name(node)));
    }
    let mut text = format!(
        "{} x {}, {} crossings\n",
        layout.width, layout.height, layout.crossings
    );
    for (column, place) in columns.iter_mut().zip(&layout.columns) {
        column.sort();
        let names: Vec<String> = column
            .iter()
            .map(|(y, name)| format!("{name} {y}"))
            .collect();
        text += &format!("{}+{}: {}\n", place.x, place.width, names.join(", "));
    }
    for (edge, path) in drawn.edges.iter().zip(&layout.edges) {
        let arrow = if edge.trigger { "->" } else { ".>" };
        text += &format!(
            "{} {arrow} {}: {}\n",
            name(edge.from),
            name(edge.to),
            path.d(0, 0)
        );
    }
    text
}

#[test]
fn the_designed_pipeline_is_drawn_as_stored() {
    let drawn = print(&web());
    assert_eq!(drawn, include_str!("web.txt"), "\n{drawn}");
}

fn job<'a>(name: &'a str, inputs: Vec<DrawnInput<'a>>, outputs: &[&'a str]) -> DrawnJob<'a> {
    DrawnJob {
        name,
        inputs,
        outputs: outputs.to_vec(),
    }
}

/// The edges of a pipeline by names, in order.
fn edges(jobs: &[DrawnJob<'_>]) -> Vec<String> {
    let drawn = draw_pipeline(jobs);
    let name = |node: usize| match drawn.nodes[node].kind {
        NodeKind::Job { job } => jobs[job].name.to_uppercase(),
        NodeKind::Resource { resource } => format!("{}@{node}", drawn.resources[resource]),
    };
    let arrow = |trigger: bool| if trigger { "->" } else { ".>" };
    let edges = drawn.edges.iter();
    edges
        .map(|edge| {
            format!(
                "{} {} {}",
                name(edge.from),
                arrow(edge.trigger),
                name(edge.to)
            )
        })
        .collect()
}

#[test]
fn jobs_of_one_column_share_an_input_without_passed() {
    let jobs = [
        job("a", vec![input("repo", &[], true)], &[]),
        job("b", vec![input("repo", &[], false)], &[]),
        job(
            "c",
            vec![input("repo", &[], false), input("x", &["a"], true)],
            &[],
        ),
    ];
    let expected = [
        "repo@3 -> A",
        "repo@3 .> B",
        "repo@4 .> C",
        "A -> x@5",
        "x@5 -> C",
    ];
    assert_eq!(edges(&jobs), expected);
}

#[test]
fn gets_with_the_same_consumers_are_one_node_and_others_are_not() {
    let jobs = [
        job("a", vec![], &[]),
        job("b", vec![], &[]),
        job("c", vec![input("repo", &["a", "b"], true)], &[]),
        job("d", vec![input("repo", &["a", "b"], false)], &[]),
    ];
    assert_eq!(
        edges(&jobs),
        ["A -> repo@4", "B -> repo@4", "repo@4 -> C", "repo@4 .> D"]
    );
    let jobs = [
        job("a", vec![], &[]),
        job("b", vec![], &[]),
        job("c", vec![input("repo", &["a", "b"], true)], &[]),
        job("d", vec![input("repo", &["b"], true)], &[]),
    ];
    let expected = [
        "A -> repo@4",
        "repo@4 -> C",
        "B -> repo@5",
        "repo@5 -> C",
        "repo@5 -> D",
    ];
    assert_eq!(
        edges(&jobs),
        expected,
        "A's versions must not seem to reach D"
    );
}

#[test]
fn a_put_is_what_it_is_passed_on_as() {
    let jobs = [
        job("build", vec![input("repo", &[], true)], &["image"]),
        job("test", vec![input("image", &["build"], true)], &["report"]),
    ];
    let expected = [
        "BUILD -> image@2",
        "image@2 -> TEST",
        "TEST -> report@3",
        "repo@4 -> BUILD",
    ];
    assert_eq!(edges(&jobs), expected);
}

#[test]
fn a_cycle_is_drawn_around_what_is_between() {
    let jobs = [
        job(
            "bump",
            vec![input("version", &["ship"], true)],
            &["version"],
        ),
        job("build", vec![input("version", &["bump"], true)], &[]),
        job("ship", vec![input("version", &["build"], true)], &[]),
    ];
    let drawn = draw_pipeline(&jobs);
    let layout = layout(&drawn.nodes, &drawn.edges);
    check(&drawn.nodes, &drawn.edges, &layout);
    let columns: Vec<usize> = layout.nodes[..3].iter().map(|job| job.column).collect();
    assert_eq!(columns, [0, 2, 4]);
    assert_eq!(layout.edges.iter().filter(|path| path.backward).count(), 1);
}

#[test]
fn an_empty_pipeline_and_a_lonely_job_have_layouts() {
    assert_eq!(layout(&[], &[]).nodes, []);
    let drawn = draw_pipeline(&[job("alone", vec![], &[])]);
    let layout = layout(&drawn.nodes, &drawn.edges);
    assert_eq!(
        (layout.width, layout.height, layout.nodes[0].x),
        (156, 48, 0)
    );
}

#[test]
fn corners_are_round_and_ends_can_be_cut() {
    let at = |x, y| PathPoint { x, y };
    let path = EdgePath {
        points: vec![at(108, 164), at(117, 164), at(117, 432), at(143, 432)],
        backward: false,
    };
    assert_eq!(
        path.d(0, 5),
        "M108 164H109Q117 164 117 172V424Q117 432 125 432H138"
    );
    assert_eq!(
        path.d(6, 0),
        "M114 164H114Q117 164 117 167V424Q117 432 125 432H143"
    );
    assert_eq!(path.arrow(0), "M137 428.5l6 3.5-6 3.5z");
    let straight = EdgePath {
        points: vec![at(0, 2), at(35, 2)],
        backward: false,
    };
    assert_eq!(
        (straight.d(0, 0), straight.arrow(5)),
        ("M0 2H35".to_owned(), "M24 -1.5l6 3.5-6 3.5z".to_owned())
    );
    assert_eq!(EdgePath::default().d(0, 0), "");
    // A small step has small corners.
    let step = EdgePath {
        points: vec![at(0, 0), at(20, 0), at(20, 6), at(40, 6)],
        backward: false,
    };
    assert_eq!(step.d(0, 0), "M0 0H17Q20 0 20 3V3Q20 6 23 6H40");
}

#[test]
fn widths_follow_names() {
    assert_eq!((job_width("unit"), job_width("deploy-staging")), (156, 156));
    assert_eq!(
        (resource_width("repo"), resource_width("node-image")),
        (64, 108)
    );
    assert_eq!(
        resource_width(&"x".repeat(4_000)),
        resource_width(&"x".repeat(40))
    );
}
