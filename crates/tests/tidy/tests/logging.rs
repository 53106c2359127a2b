//! Log lines can be searched: their messages are constant. They tell the whole of an error, and so
//! does every other text that is made of one: its own text alone leaves out the causes that lead to
//! it.

use airside_tidy::{crate_of, files, product, read, shown};

/// The macros that write to the log.
const MACROS: [&str; 5] = ["error!(", "warn!(", "info!(", "debug!(", "trace!("];

/// Ways to write an error with all of its causes.
const WHOLE: [&str; 2] = ["%chain(", "%airside_model::chain("];

/// Names of fields and variables that hold errors.
const ERRORS: [&str; 4] = ["error", "err", "e", "why"];

/// Files whose messages are parameters of one function, each with the reason.
const PARAMETERS: &[(&str, &str)] = &[(
    "crates/server/orchestrator/src/container_ref.rs",
    "all lines about containers have the same fields, and their callers' messages are constant",
)];

/// Names of variables that hold errors where a text is made of them. A text that is no error has
/// another name, such as `reason`.
const TEXT_ERRORS: [&str; 3] = ["error", "err", "failure"];

/// Crates and files that may make a text of an error without its causes, each with the reason.
const SOURCELESS: &[(&str, &str)] = &[
    (
        "crates/base/model/src/error_chain.rs",
        "`chain` itself, which adds the causes",
    ),
    (
        "crates/base/aws/src/identity.rs",
        "errors of this crate and of `blocking-http` have their causes in their own text",
    ),
    (
        "crates/base/blocking-http/src",
        "errors of rustls have no source, and the crate does without `model`",
    ),
    (
        "crates/base/oci/src/document.rs",
        "an error of serde has no source if it reads from memory",
    ),
    (
        "crates/base/vars/src/instance.rs",
        "an error of serde has no source if it reads from memory",
    ),
    (
        "crates/server/identity-providers/src/ldap/connection.rs",
        "the kernel's error of a connection has no source",
    ),
];

/// Returns the arguments of every call of a log macro, each with the offset of the call.
fn log_calls(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let calls = MACROS.iter().flat_map(|call| text.match_indices(call));
    calls.filter_map(|(at, call)| {
        let is_longer = text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let arguments = arguments(&text[at + call.len()..])?;
        (!is_longer).then_some((at, arguments))
    })
}

/// Returns the arguments of a call, from the text after its opening parenthesis.
fn arguments(text: &str) -> Option<Vec<&str>> {
    let (mut depth, mut is_text, mut is_escaped) = (0, false, false);
    let (mut found, mut start) = (Vec::new(), 0);
    for (at, next) in text.char_indices() {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            _ if is_text => {}
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' | ',' if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
                if next == ')' {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns true if an argument of a log macro is an error without its causes.
fn is_bare(argument: &str) -> bool {
    if argument.starts_with('"') {
        return ERRORS
            .iter()
            .any(|name| argument.contains(&format!("{{{name}}}")));
    }
    let (name, value) = argument.split_once(" = ").unwrap_or(("", argument));
    let variable = value.trim_start_matches(['%', '?', '&', '*']);
    let is_whole = WHOLE.iter().any(|whole| value.starts_with(whole));
    !is_whole && (ERRORS.contains(&name) || ERRORS.contains(&variable))
}

/// Returns the lines of a source file that log an error without its causes.
fn bare_errors(text: &str) -> Vec<usize> {
    let text = product(text);
    // The JSON log prints only the text of a `&dyn Error`, without its sources.
    let casts = ["as &dyn std::error::Error", "as &dyn Error"];
    let casts = casts.iter().flat_map(|cast| text.match_indices(cast));
    let calls = log_calls(text).filter(|(_, arguments)| arguments.iter().any(|one| is_bare(one)));
    let mut lines: Vec<usize> = calls
        .map(|(at, _)| at)
        .chain(casts.map(|(at, _)| at))
        .map(|at| text[..at].matches('\n').count() + 1)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Returns the lines of a source file that log a message with a variable part.
fn changing_messages(text: &str) -> Vec<usize> {
    let text = product(text);
    // In a message `{{` and `}}` stand for themselves.
    let is_changing = |argument: &str| {
        argument.starts_with('"') && argument.replace("{{", "").replace("}}", "").contains('{')
    };
    let calls =
        log_calls(text).filter(|(_, arguments)| arguments.iter().any(|one| is_changing(one)));
    calls
        .map(|(at, _)| text[..at].matches('\n').count() + 1)
        .collect()
}

/// Returns the lines of a source file that make a text of an error without its causes.
fn bare_texts(text: &str) -> Vec<usize> {
    let text = product(text);
    let is_own_word = |at: usize| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
    };
    let printed = TEXT_ERRORS.iter().flat_map(|name| {
        let call = format!("{name}.to_string()");
        let found = text.match_indices(&call).map(|(at, _)| at);
        found.collect::<Vec<_>>()
    });
    let formatted = text.match_indices("format!(").filter(|(at, call)| {
        arguments(&text[at + call.len()..]).is_some_and(|arguments| is_bare_format(&arguments))
    });
    let mut lines: Vec<usize> = printed
        .chain(formatted.map(|(at, _)| at))
        .filter(|at| is_own_word(*at))
        .map(|at| text[..at].matches('\n').count() + 1)
        .collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Returns true if the arguments of `format!` hold an error without its causes.
fn is_bare_format(arguments: &[&str]) -> bool {
    let given = arguments.iter().skip(1);
    TEXT_ERRORS.iter().any(|name| {
        let is_named = arguments
            .first()
            .is_some_and(|text| text.contains(&format!("{{{name}}}")));
        let value = format!("{name} = ");
        let is_given = given.clone().any(|one| one.starts_with(&value));
        given.clone().any(|one| one == name) || (is_named && !is_given)
    })
}

#[test]
fn no_text_of_an_error_leaves_out_its_causes() {
    let mut bare = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        let is_product = crate_of(&place).is_some_and(|name| !name.starts_with("tests/"));
        if !is_product || SOURCELESS.iter().any(|(file, _)| place.starts_with(file)) {
            continue;
        }
        let lines = bare_texts(&read(&path).unwrap());
        bare.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        bare.is_empty(),
        "make these texts with `airside_model::chain(&error)`, or name the variable by what it is \
         if it is no error:\n  {}",
        bare.join("\n  ")
    );
    for (file, _) in SOURCELESS {
        assert!(airside_tidy::root().join(file).exists(), "{file}");
    }
}

#[test]
fn texts_without_causes_are_found() {
    for bare in [
        "let a = error.to_string()",
        "map_err(|failure| failure.to_string())",
        "format!(\"cannot read {path}: {error}\")",
        "format!(\n    \"cannot read {path}: {}\",\n    error\n)",
    ] {
        let text = format!("fn a() {{\n    {bare};\n}}\n");
        assert_eq!(bare_texts(&text), [2], "{bare}");
    }
    for whole in [
        "map_err(|error| chain(&error))",
        "format!(\"cannot read {path}: {}\", chain(&error))",
        "format!(\"cannot read {}: {error}\", a, error = chain(&error))",
        "self.error.to_string()",
        "reason.to_string()",
    ] {
        let text = format!("fn a() {{\n    {whole};\n}}\n");
        assert!(bare_texts(&text).is_empty(), "{whole}");
    }
}

#[test]
fn messages_are_constant() {
    let mut changing = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        let is_product = crate_of(&place).is_some_and(|name| !name.starts_with("tests/"));
        if !is_product || PARAMETERS.iter().any(|(file, _)| *file == place) {
            continue;
        }
        let lines = changing_messages(&read(&path).unwrap());
        changing.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        changing.is_empty(),
        "write what changes as fields, `warn!(worker, reason, \"worker stalled\")`:\n  {}",
        changing.join("\n  ")
    );
    for (file, _) in PARAMETERS {
        assert!(airside_tidy::root().join(file).is_file(), "{file}");
    }
}

#[test]
fn changing_messages_are_found() {
    for changing in [
        "warn!(worker, \"worker stalled: {words}\")",
        "info!(\"{}\", line)",
        "debug!(%a, \"x {:?}\", b)",
    ] {
        let text = format!("fn a() {{\n    {changing};\n}}\n");
        assert_eq!(changing_messages(&text), [2], "{changing}");
    }
    for constant in [
        "warn!(worker, reason = format!(\"{a}\"), \"worker stalled\")",
        "info!(\"template {{}} read\")",
        "assert!(a, \"{b}\")",
    ] {
        let text = format!("fn a() {{\n    {constant};\n}}\n");
        assert!(changing_messages(&text).is_empty(), "{constant}");
    }
}

#[test]
fn every_logged_error_has_its_causes() {
    let mut bare = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        if crate_of(&place).is_none_or(|name| name.starts_with("tests/")) {
            continue;
        }
        let lines = bare_errors(&read(&path).unwrap());
        bare.extend(lines.iter().map(|line| format!("{place}:{line}")));
    }
    assert!(
        bare.is_empty(),
        "log these errors with all of their causes, as `error = %airside_model::chain(&error)`, \
         and text that is not an error as `reason`:\n  {}",
        bare.join("\n  ")
    );
}

#[test]
fn errors_without_causes_are_found() {
    for bare in [
        "warn!(%error, \"x\")",
        "tracing::warn!(set = %name, error = %why, \"x\")",
        "warn!(\n    %worker,\n    %error,\n    \"x (y)\"\n)",
        "debug!(error = ?error, \"x\")",
        "warn!(?e, \"x\")",
        "error!(error, \"x\")",
        "warn!(\"x: {error}\")",
        "warn!(\"x: {}\", error)",
        "warn!(error = &error as &dyn std::error::Error, \"x\")",
        "let error = &error as &dyn std::error::Error;",
    ] {
        let text = format!("fn a() {{\n    {bare};\n}}\n");
        assert_eq!(bare_errors(&text), [2], "{bare}");
    }
    for whole in [
        "warn!(%worker, error = %chain(&error), \"x\")",
        "warn!(error = %airside_model::chain(&*error), \"it is, error, said\")",
        "info!(%reason, \"x\")",
        "my_error!(error)",
    ] {
        let text = format!("fn a() {{\n    {whole};\n}}\n");
        assert!(bare_errors(&text).is_empty(), "{whole}");
    }
}

#[test]
fn a_closed_standard_error_ends_no_program() {
    let mut wrong = Vec::new();
    for path in files("rs").unwrap() {
        let place = shown(&path);
        if crate_of(&place).is_none_or(|name| name.starts_with("tests/")) {
            continue;
        }
        let text = read(&path).unwrap();
        let lines = product(&text).lines().enumerate();
        let panics = |line: &str| line.contains("eprintln!(") || line.contains("eprint!(");
        let found = lines.filter(|(_, line)| panics(line));
        wrong.extend(found.map(|(at, _)| format!("{place}:{}", at + 1)));
    }
    assert!(
        wrong.is_empty(),
        "these panic where standard error is closed; `airside_app::printing::tell` does not:\n  {}",
        wrong.join("\n  ")
    );
}
