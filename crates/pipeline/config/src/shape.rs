//! The fields of each map of a pipeline, as tables.
//!
//! The reader asks for fields by these tables and the JSON Schema is made from them, so the two
//! cannot drift apart: asking for a field that no table has, or never asking for one that a table
//! has, stops every test that reads such a map.

/// One kind of map.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Unique among shapes; names its definition in the schema.
    pub(crate) name: &'static str,
    pub(crate) doc: &'static str,
    pub(crate) fields: &'static [Field],
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

impl Field {
    pub(crate) const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: false,
            doc,
        }
    }

    pub(crate) const fn required(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            required: true,
            doc,
        }
    }
}

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// A string; numbers and booleans become strings.
    Text,
    Flag,
    /// A whole number from 0 up.
    Count,
    /// A whole number from 1 up.
    Positive,
    Duration,
    /// A duration that must be there if its key is.
    WrittenDuration,
    DurationOrNever,
    Texts,
    /// A map from text to text.
    TextMap,
    /// A map from text to anything, which becomes text.
    Env,
    /// A map of anything.
    Object,
    Anything,
    /// One of these words.
    Word(&'static [&'static str]),
    /// `latest`, `every` or a map of texts.
    GetVersion,
    /// `detect`, `all` or a list of names.
    PutInputs,
    /// `all` or a number.
    MaxInFlight,
    /// A size such as `1GB`.
    Memory,
    Inner(&'static Shape),
    List(&'static Shape),
    Step,
    Steps,
    /// A list of steps, or a map of this shape.
    StepsOr(&'static Shape),
}

impl Kind {
    /// Returns true if a key without a value is as good as no key, where the key is not required.
    pub(crate) fn may_be_null(self) -> bool {
        // An empty step or timeout is refused, and so are no attempts.
        !matches!(self, Self::Step | Self::Positive | Self::WrittenDuration)
    }
}

impl Shape {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.fields.iter().map(|field| field.name)
    }
}
