//! The tree that a document becomes: values, each with its place in the text.

/// A place in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, counted from 1.
    pub line: usize,
    /// Column, counted from 1 in characters.
    pub column: usize,
    /// Offset, counted from 0 in bytes.
    pub offset: usize,
}

/// Start and end of a node; the end is just behind its last character.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    pub start: Position,
    pub end: Position,
}

/// A value and where it stands. What came through an alias stands where its anchor does.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub value: Value,
    pub span: Span,
}

/// A map's key. Keys are always text: `1`, `1.0` and `on` become "1", "1" and "true".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer that [`Value::Int`] cannot hold.
    UInt(u64),
    Float(f64),
    String(String),
    Seq(Vec<Node>),
    /// Pairs in the order of the text; no key occurs twice.
    Map(Vec<(Key, Node)>),
}

impl Value {
    /// Returns the kind of the value for messages: "a list", "a number".
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) | Self::Float(_) => "a number",
            Self::String(_) => "a string",
            Self::Seq(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The text that a scalar becomes where a string is wanted; `None` for null, lists and maps.
    pub fn scalar_text(&self) -> Option<String> {
        Some(match self {
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::UInt(value) => value.to_string(),
            Self::Float(value) => crate::number::short_text(*value),
            Self::String(value) => value.clone(),
            Self::Null | Self::Seq(_) | Self::Map(_) => return None,
        })
    }
}

impl Node {
    pub fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries
                .iter()
                .find(|(name, _)| name.text == key)
                .map(|(_, node)| node),
            _ => None,
        }
    }
}
