//! Resource types and prototypes: names of their own in one namespace, a type each, and no endless
//! chains.

use std::collections::HashMap;

use super::{Checker, path_of};
use crate::{ResourceType, Section};

/// Maximum length of a chain of types. Each type is fetched twice by the one above it, so longer
/// chains would grow out of bounds.
const MAX_CHAIN: usize = 8;

pub(super) fn check(checker: &mut Checker<'_>) {
    let config = checker.config;
    let mut seen = HashMap::new();
    checker.section = Section::ResourceTypes;
    check_section(checker, "resource_types", &config.resource_types, &mut seen);
    check_chains(checker);
    checker.section = Section::Prototypes;
    check_section(checker, "prototypes", &config.prototypes, &mut seen);
}

fn check_section<'a>(
    checker: &mut Checker<'_>,
    section: &str,
    types: &'a [ResourceType],
    seen: &mut HashMap<&'a str, String>,
) {
    checker.names(section, types.iter().map(|type_| type_.name.as_str()), seen);
    for (index, type_) in types.iter().enumerate() {
        if type_.type_.is_empty() {
            let path = path_of(section, index, &type_.name);
            checker.plain_problem(
                &format!("{section}[{index}]"),
                format!("{path} has no type"),
            );
        }
    }
}

/// A type may have the name of its own base type, so a chain ends where it comes round to itself.
fn check_chains(checker: &mut Checker<'_>) {
    let types = &checker.config.resource_types;
    let parents: HashMap<&str, &str> = types
        .iter()
        .map(|type_| (type_.name.as_str(), type_.type_.as_str()))
        .collect();
    for type_ in types {
        let mut chain = vec![type_.name.as_str()];
        let mut next = type_.type_.as_str();
        while chain.len() <= MAX_CHAIN && parents.contains_key(next) && !chain.contains(&next) {
            chain.push(next);
            next = parents[next];
        }
        if chain.len() > MAX_CHAIN {
            let path = format!("resource_types.{}", type_.name);
            let message = format!("is made of types in a chain of more than {MAX_CHAIN}");
            checker.problem(&path, message);
        }
    }
}
