//! The bytes that a browser loads, as they are served, and what none of these files may do.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use airside_ui::{Asset, asset, assets};
use flate2::{Compression, write::GzEncoder};

const KB: usize = 1024;
/// All scripts together. A page loads a part of them; it is the page that has people wait.
const ALL_SCRIPTS: usize = 56 * KB;
const SCRIPTS_OF_A_PAGE: usize = 28 * KB;
const STYLES: usize = 12 * KB;

fn compressed(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len()
}

fn named(ending: &str) -> impl Iterator<Item = &'static Asset> {
    assets()
        .iter()
        .filter(move |file| file.name.ends_with(ending))
}

fn text(file: &Asset) -> &'static str {
    std::str::from_utf8(file.bytes).unwrap()
}

/// Returns the modules that a module needs before it runs; what it loads later is not among them.
fn imports(file: &Asset) -> Vec<&'static str> {
    let lines = text(file).lines().filter(|line| {
        line.starts_with("import ") || line.starts_with("} from ") || line.starts_with("export {")
    });
    let names = lines.filter_map(|line| line.split_once("'./")?.1.split('\'').next());
    names.collect()
}

fn loaded_with(scripts: &[&str]) -> BTreeSet<&'static str> {
    let mut loaded = BTreeSet::new();
    let mut next: Vec<Asset> = scripts.iter().map(|name| asset(name).unwrap()).collect();
    while let Some(file) = next.pop() {
        if loaded.insert(file.name) {
            let needed = imports(&file).into_iter();
            next.extend(needed.map(|name| asset(name).unwrap_or_else(|| panic!("{name}"))));
        }
    }
    loaded
}

#[test]
fn scripts_keep_to_their_budget() {
    let sizes: BTreeMap<&str, usize> = named(".js")
        .map(|file| (file.name, compressed(file.bytes)))
        .collect();
    let all: usize = sizes.values().sum();
    assert!(all <= ALL_SCRIPTS, "all scripts: {all} bytes: {sizes:#?}");
    for name in sizes.keys() {
        let loaded = loaded_with(&["page.js", name]);
        let bytes: usize = loaded.iter().map(|name| sizes[name]).sum();
        assert!(
            bytes <= SCRIPTS_OF_A_PAGE,
            "a page with {name}: {bytes} bytes: {loaded:?}"
        );
    }
}

#[test]
fn styles_keep_to_their_budget() {
    let bytes: usize = named(".css").map(|file| compressed(file.bytes)).sum();
    assert!(bytes <= STYLES, "styles: {bytes} bytes");
}

#[test]
fn one_module_sets_html_and_none_runs_text() {
    for file in named(".js") {
        let source = text(file);
        let sets_html = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "srcdoc",
        ];
        let found = sets_html.iter().find(|name| source.contains(**name));
        assert!(
            file.name == "fragment.js" || found.is_none(),
            "{}: {found:?}",
            file.name
        );
        let runs_text = [
            "eval(",
            "new Function",
            "setAttribute('style'",
            "javascript:",
        ];
        let found = runs_text.iter().find(|name| source.contains(**name));
        assert!(found.is_none(), "{}: {found:?}", file.name);
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for file in assets() {
        let source = text(file).replace("http://www.w3.org/", "");
        let reaches = source.contains("http://") || source.contains("https://");
        assert!(!reaches, "{} names an address of elsewhere", file.name);
    }
}
