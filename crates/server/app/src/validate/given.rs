//! Values for `((variables))`, given as `fly` takes them: `-v` and `-y` win over files, a later
//! file over an earlier one, and a variable without a value stays as it is.

use std::path::PathBuf;

use airside_vars::{Chain, Given, Lookup, Reference, expand, interpolate};
use airside_yaml::{Key, Node, Span, Value as Yaml};
use clap::Args;
use serde_json::Value;

#[derive(Args, Default)]
#[command(next_help_heading = "Variables")]
pub(crate) struct Variables {
    /// String value of a variable. Can be repeated
    #[arg(short = 'v', long = "var", value_name = "NAME=VALUE", value_parser = text)]
    texts: Vec<Pair>,

    /// YAML value of a variable. Can be repeated
    #[arg(short = 'y', long = "yaml-var", value_name = "NAME=YAML", value_parser = yaml)]
    values: Vec<Pair>,

    /// YAML file with values of variables; the last of several wins. Can be repeated
    #[arg(short = 'l', long = "load-vars-from", value_name = "FILE")]
    sources: Vec<PathBuf>,
}

#[derive(Clone)]
struct Pair(Reference, Value);

fn split(text: &str) -> Result<(Reference, &str), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expects NAME=VALUE, but there is no `=`")?;
    let reference = Reference::parse(name).map_err(|error| airside_model::chain(&error))?;
    Ok((reference, value))
}

fn text(given: &str) -> Result<Pair, String> {
    let (reference, value) = split(given)?;
    Ok(Pair(reference, value.into()))
}

fn yaml(given: &str) -> Result<Pair, String> {
    let (reference, value) = split(given)?;
    let node = airside_yaml::parse(value).map_err(|error| airside_model::chain(&error))?;
    let value = node
        .to_json()
        .map_err(|error| airside_model::chain(&error))?;
    Ok(Pair(reference, value))
}

/// Values, the first that knows a name wins.
pub(crate) struct Values(Vec<Given>);

impl Variables {
    /// Returns the files with values.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.sources
    }

    pub(crate) fn read(&self) -> Result<Values, String> {
        let pairs = self.texts.iter().chain(&self.values).cloned();
        let given = expand(pairs.map(|Pair(reference, value)| (reference, value)));
        let mut values = vec![Given(given)];
        for path in self.sources.iter().rev() {
            let shown = path.display();
            let text = std::fs::read_to_string(path).map_err(|error| {
                format!("cannot read {shown}: {}", airside_model::chain(&error))
            })?;
            let read = airside_yaml::parse(&text).and_then(|node| node.to_json());
            let read = read.map_err(|error| {
                let at = error.position;
                format!("{shown}:{}:{}: {}", at.line, at.column, error.kind)
            })?;
            match read {
                Value::Object(map) => values.push(Given(map)),
                Value::Null => {}
                _ => {
                    return Err(format!("{shown}: variables are written `name: value`"));
                }
            }
        }
        Ok(Values(values))
    }
}

/// A variable that cannot be filled in, and where it stands.
pub(crate) struct Unfilled {
    pub(crate) message: String,
    pub(crate) span: Span,
}

impl Values {
    /// Fills in what is known. What comes from a variable stands where the variable does.
    pub(crate) fn fill(&self, node: Node) -> Result<Node, Unfilled> {
        let lookups = self.0.iter().map(|given| given as &dyn Lookup);
        fill(node, &Chain(lookups.collect()))
    }
}

fn fill(node: Node, lookup: &Chain<'_>) -> Result<Node, Unfilled> {
    let span = node.span;
    let value = match node.value {
        Yaml::String(text) if text.contains("((") => filled(text, span, lookup)?,
        Yaml::Seq(items) => {
            let items = items.into_iter().map(|item| fill(item, lookup));
            Yaml::Seq(items.collect::<Result<_, _>>()?)
        }
        Yaml::Map(entries) => {
            let entries = entries
                .into_iter()
                .map(|(key, value)| Ok((fill_key(key, lookup)?, fill(value, lookup)?)));
            Yaml::Map(entries.collect::<Result<_, _>>()?)
        }
        other => other,
    };
    Ok(Node { value, span })
}

fn fill_key(key: Key, lookup: &Chain<'_>) -> Result<Key, Unfilled> {
    if !key.text.contains("((") {
        return Ok(key);
    }
    let span = key.span;
    let filled = filled(key.text, span, lookup)?;
    let text = filled.scalar_text().ok_or_else(|| Unfilled {
        message: format!("a key must be text, and this variable is {}", filled.kind()),
        span,
    })?;
    Ok(Key { text, span })
}

fn filled(text: String, span: Span, lookup: &Chain<'_>) -> Result<Yaml, Unfilled> {
    let value = interpolate(Value::String(text), lookup).map_err(|error| Unfilled {
        message: airside_model::chain(&error),
        span,
    })?;
    Ok(placed(value, span))
}

/// A value as if it had been written at that place.
fn placed(value: Value, span: Span) -> Yaml {
    let node = |value| Node {
        value: placed(value, span),
        span,
    };
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(value),
        Value::String(text) => Yaml::String(text),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Yaml::Int(value),
            (None, Some(value)) => Yaml::UInt(value),
            (None, None) => Yaml::Float(number.as_f64().unwrap_or_default()),
        },
        Value::Array(items) => Yaml::Seq(items.into_iter().map(node).collect()),
        Value::Object(map) => {
            let entries = map.into_iter();
            Yaml::Map(
                entries
                    .map(|(text, value)| (Key { text, span }, node(value)))
                    .collect(),
            )
        }
    }
}
