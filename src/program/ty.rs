//! [`Ty`]: what a value is, as far as names across files and packs tell.

use std::sync::Arc;

use crate::facts::{FnRef, Value};
use crate::files::Atom;

/// A class of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassRef {
    /// Index of its file.
    pub file: u32,
    /// Index in its file.
    pub class: u32,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Ty {
    /// Not known.
    #[default]
    Unknown,
    /// Something of a library: a path from its module (`ioredis`, `fs.writeFile`), an instance (`redis.Redis()`), or the id
    /// of a pack's type (`ioredis:Redis`). `of` are type arguments, or the entity a query builder works on.
    Lib {
        /// The path or id.
        path: Atom,
        /// Type arguments.
        of: Arc<[Ty]>,
        /// False where the type was taken by a name's looks.
        sure: bool,
    },
    /// A function of the tree.
    Function(FnRef),
    /// A class of the tree.
    Class(ClassRef),
    /// An instance of a class of the tree.
    Instance(ClassRef),
    /// A file of the tree as a module.
    Module(u32),
    /// A folder of the tree as a package.
    Package(Atom),
    /// A literal.
    Literal(Box<Value>),
}

impl Ty {
    /// Something of a library.
    pub fn lib(path: impl Into<Atom>) -> Ty {
        Ty::Lib { path: path.into(), of: Arc::default(), sure: true }
    }

    /// The library path, if it is one.
    pub fn path(&self) -> Option<&str> {
        match self {
            Ty::Lib { path, .. } => Some(path),
            _ => None,
        }
    }

    /// The same with these type arguments.
    pub fn with(self, args: impl IntoIterator<Item = Ty>) -> Ty {
        match self {
            Ty::Lib { path, sure, .. } => Ty::Lib { path, of: args.into_iter().collect(), sure },
            other => other,
        }
    }

    /// The first type argument.
    pub fn first_arg(&self) -> Ty {
        match self {
            Ty::Lib { of, .. } => of.first().cloned().unwrap_or_default(),
            _ => Ty::Unknown,
        }
    }

    /// The last type argument: the element of a collection.
    pub fn last_arg(&self) -> Ty {
        match self {
            Ty::Lib { of, .. } => of.last().cloned().unwrap_or_default(),
            _ => Ty::Unknown,
        }
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Ty::Unknown)
    }
}
