//! `((variables))`: their syntax, where they are looked up, and putting their values in.
//!
//! ```text
//! ((name))  ((source:name.field."a.b"))  ((.:local))
//!            ──┬─── ─┬── ───┬───────
//!            source path  fields
//! ```
//!
//! - `reference` reads what stands between the parentheses;
//! - `scan` finds variables in texts and in JSON;
//! - `lookup` and `scope` answer with values: given ones, those of a named source, the build's own;
//! - `interpolate` puts values in, and leaves or refuses variables that have none;
//! - `redact` keeps the values of secrets out of what a build prints;
//! - `instance` is the form in which instance variables travel in URLs and are shown to people.
//!
//! **Invariant:** no I/O and no clock; secrets come through [`Lookup`]. The time that anything here
//! takes grows with the size of its input and not faster.

mod error;
mod instance;
mod interpolate;
mod lookup;
mod redact;
mod reference;
mod scan;
mod scope;

pub use error::Error;
pub use instance::{InstanceVars, expand, flatten};
pub use interpolate::{interpolate, resolve};
pub use lookup::{Chain, Given, Lookup, Sources, kind, traverse};
pub use redact::{End, REDACTED, Secrets, TooMuch};
pub use reference::{LOCAL, Reference};
pub use scan::{first, names, names_in};
pub use scope::VarScope;
