//! [`Shape`]: what a test asks of a value.

/// Shapes an [`ExprKind::Is`] asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Null, undefined, `None`.
    Null,
    /// Not null: `Some(_)`.
    Present,
    /// `Ok(_)`.
    Ok,
    /// `Err(_)`.
    Err,
    /// Equal to this constant text (also an enum's member: `Color::Red` is `Red`).
    Text(String),
    /// Equal to this number.
    Number(f64),
    /// True or false.
    Bool(bool),
    /// A default arm, or a pattern that always matches.
    Any,
    /// Any other pattern.
    Other,
}
