//! Assets as browsers get them: without what only their readers need.

/// Returns a script without lines that are comments and without indentation. Lines keep their
/// numbers, so that what a browser reports is found in the source.
pub(crate) fn script(source: &str) -> String {
    let mut served = String::with_capacity(source.len());
    let mut in_comment = false;
    for line in source.lines().map(str::trim) {
        let is_comment = in_comment || line.starts_with("//") || is_comment_line(line);
        if in_comment || line.starts_with("/**") {
            in_comment = !line.contains("*/");
        }
        if !is_comment {
            served.push_str(line);
        }
        served.push('\n');
    }
    served
}

/// Returns true if a line begins a comment and has nothing behind it.
fn is_comment_line(line: &str) -> bool {
    line.starts_with("/**") && (!line.contains("*/") || line.ends_with("*/"))
}

/// Returns a style sheet without comments, and with no more white space than it needs.
pub(crate) fn styles(source: &str) -> String {
    let mut served = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(next) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
        } else if next == '"' {
            let end = rest[1..].find('"').map_or(rest.len(), |at| at + 2);
            served.push_str(&rest[..end]);
            rest = &rest[end..];
        } else if next.is_whitespace() {
            rest = rest.trim_start();
            let binds = |letter: char| "{};,".contains(letter);
            let joins = served.is_empty() || served.ends_with(|last| binds(last) || last == ':');
            if !joins && !rest.starts_with(binds) && !rest.starts_with("/*") {
                served.push(' ');
            }
        } else {
            served.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    served
}

#[cfg(test)]
mod tests {
    use super::{script, styles};

    #[test]
    fn comments_are_not_served_and_lines_keep_their_numbers() {
        let source = "// a\nimport x;\n\n/**\n * b\n */\nf(); // stays\n  /** @type {c} */\n  \
                      /** @type {d} */ (e).g();\n/** one\n two */\nh('//');\n";
        let expected =
            "\nimport x;\n\n\n\n\nf(); // stays\n\n/** @type {d} */ (e).g();\n\n\nh('//');\n";
        assert_eq!(script(source), expected);
    }

    #[test]
    fn styles_keep_what_means_something() {
        let source = "/* a */\n.b > .c, .d :hover { margin: 0 auto;  color: red; }\n\
                      .e::before { content: \"a ; b  c\"; }\n@media (max-width: 9px) { .f { width: calc(1px + 2px); } }\n";
        let expected = ".b > .c,.d :hover{margin:0 auto;color:red;}.e::before{content:\"a ; b  c\";}\
                        @media (max-width:9px){.f{width:calc(1px + 2px);}}";
        assert_eq!(styles(source), expected);
    }
}
