//! [`Unit`]: one file as [`Step`]s and [`Expr`]s, which no longer say what language it came from and name no library.

use super::shape::Shape;
use crate::files::{Atom, Gap, Language, Span};

/// One parsed file.
#[derive(Debug, Clone)]
pub struct Unit {
    /// What it was written in; only pack selection may look at it.
    pub language: Language,
    /// Names this file takes from other files and from libraries.
    pub imports: Vec<Import>,
    /// Names it offers.
    pub exports: Vec<Export>,
    /// All functions, methods and lambdas. Index 0 is the module's own top-level code, in order.
    pub functions: Vec<Function>,
    /// All classes, structs, enums and traits.
    pub classes: Vec<Class>,
    /// Declared types of module-level names.
    pub declared: Vec<(String, TypeRef)>,
    /// Comments, doc comments included.
    pub comments: Vec<Comment>,
    /// Modules that only tests compile.
    pub tests: Vec<Atom>,
    /// What the parser could not read.
    pub gaps: Vec<Gap>,
}

/// Index of a function in [`Unit::functions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FnId(pub u32);
/// Index of a class in [`Unit::classes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// `local` names `member` of `module` (all of it without one). JavaScript: a default import has the member `default`; a namespace import or `require` none.
/// Python: `from a import b` has member `b`; relative modules keep their dots. Rust: `use a::b::c` is module `a.b`, member `c`; a glob has the local name `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    /// The name in this file.
    pub local: Atom,
    /// The module as written, with `.` for `::`.
    pub module: Atom,
    /// The member taken from it.
    pub member: Option<Atom>,
    /// Where.
    pub span: Span,
}

/// A name other files can take from this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The name outside; `default` for a default export, `=` for `module.exports`, `*` for a re-export of everything.
    pub name: Atom,
    /// What it is.
    pub target: ExportTarget,
}

/// What an exported name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportTarget {
    /// A module-level name of this file. An exported expression is first bound to the export's own name.
    Local(Atom),
    /// A member of another module (everything in it for `*`).
    Other {
        /// The module as written.
        module: Atom,
        /// The member there; `None` is the module itself.
        member: Option<Atom>,
    },
}

/// A function, method, lambda, or the module's top level.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name; empty for a lambda, `<module>` for the top level.
    pub name: String,
    /// Parameters without the receiver (`self`, `cls`, `this`).
    pub params: Vec<Param>,
    /// The body, in order.
    pub body: Vec<Step>,
    /// The class it is a member of.
    pub class: Option<ClassId>,
    /// The function it is written in; the top level has none.
    pub parent: Option<FnId>,
    /// Decorators, annotations and attributes, as written.
    pub decorators: Vec<Expr>,
    /// Declared return type.
    pub returns: Option<TypeRef>,
    /// Declared type of its receiver, where one is written (`this: Service`).
    pub receiver: Option<TypeRef>,
    /// Flags.
    pub flags: FnFlags,
    /// All of it.
    pub span: Span,
    /// Its name, or its first token.
    pub name_span: Span,
}

/// What kind of function it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FnFlags {
    /// `async`.
    pub is_async: bool,
    /// A static or class method.
    pub is_static: bool,
    /// Contains `yield`.
    pub is_generator: bool,
    /// A constructor (`constructor`, `__init__`).
    pub is_constructor: bool,
    /// Reading the member of its name calls it.
    pub is_getter: bool,
    /// A method without a body: an interface's, or an abstract one.
    pub is_signature: bool,
    /// No method, and yet it has a receiver of its own, which its caller decides.
    pub has_receiver: bool,
}

/// A parameter.
#[derive(Debug, Clone)]
pub struct Param {
    /// What it binds.
    pub target: Target,
    /// Declared type.
    pub ty: Option<TypeRef>,
    /// Default value.
    pub default: Option<Box<Expr>>,
    /// Which arguments that are left over it takes.
    pub gathers: Option<Gathers>,
}

/// Arguments left over when every other parameter has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathers {
    /// `*args`, `...rest`.
    Positions,
    /// `**kwargs`.
    Keywords,
}

/// A declared type, as written: a dotted name and its arguments, without references, `const` and `null`; the first of a union.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TypeRef {
    /// Dotted name as written (`tokio::sync::Mutex` is `tokio.sync.Mutex`).
    pub name: Atom,
    /// Type arguments.
    pub args: Vec<TypeRef>,
}

/// A class, struct, enum, trait or interface. All methods of one type in one file (Rust: of all its `impl` blocks) are together.
#[derive(Debug, Clone)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Superclasses, implemented interfaces or traits.
    pub bases: Vec<TypeRef>,
    /// The same, for bases that are calls (`Base(arg)`, mixins).
    pub base_calls: Vec<Expr>,
    /// Decorators, attributes and derives.
    pub decorators: Vec<Expr>,
    /// Declared fields. Fields first assigned in a constructor are found there.
    pub fields: Vec<Field>,
    /// Its methods.
    pub methods: Vec<FnId>,
    /// The function it is written in (`FnId(0)` at module level).
    pub parent: FnId,
    /// It only says what objects look like (an interface, an object type): none is made of it.
    pub is_shape: bool,
    /// All of it.
    pub span: Span,
}

/// A declared field, class attribute or enum member.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Declared type.
    pub ty: Option<TypeRef>,
    /// Initial value.
    pub init: Option<Expr>,
    /// One for the class, not one an instance.
    pub is_static: bool,
    /// Decorators and attributes.
    pub decorators: Vec<Expr>,
    /// Where.
    pub span: Span,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Its text without the markers.
    pub text: String,
    /// Where, markers included.
    pub span: Span,
}

/// One statement.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// Where.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Debug, Clone)]
pub enum StepKind {
    /// Evaluate and drop the value.
    Do(Expr),
    /// Bind or assign. A compound assignment has its operator in `op` and only the right side in `value`.
    Bind {
        /// What is written.
        target: Target,
        /// The value; `None` declares only.
        value: Option<Expr>,
        /// It makes a variable of this function (`let`, `const`, `var`; in Python each assignment but to a `global` or `nonlocal`).
        declares: bool,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
    },
    /// `if`, and each arm of a `match` or `switch` (see [`ExprKind::Is`]).
    Branch {
        /// The condition.
        test: Expr,
        /// When it holds.
        then: Vec<Step>,
        /// When it does not.
        otherwise: Vec<Step>,
    },
    /// Any loop.
    Loop {
        /// `while` condition; `None` for an endless loop or a loop over `each`. A constant true is dropped.
        test: Option<Expr>,
        /// Element and what is iterated.
        each: Option<(Target, Expr)>,
        /// The body.
        body: Vec<Step>,
    },
    /// `try`.
    Try {
        /// The protected steps.
        body: Vec<Step>,
        /// Handlers.
        catches: Vec<Catch>,
        /// `else` of Python's `try`: runs when nothing was raised.
        otherwise: Vec<Step>,
        /// Runs always.
        finally: Vec<Step>,
    },
    /// A body run inside something: `with`, `async with`, `using` up to the end of its block.
    Within {
        /// What is entered.
        context: Expr,
        /// What it is called inside.
        binding: Option<Target>,
        /// The body.
        body: Vec<Step>,
    },
    /// Leave this function, loop or expression.
    Exit {
        /// How.
        kind: ExitKind,
        /// The value returned, thrown or yielded.
        value: Option<Expr>,
    },
    /// Remove an entry or a name: `del d[k]`, `delete o[k]`.
    Delete(Expr),
    /// A block with variables of its own; values that end their life with it (Rust guards) end here.
    Scope(Vec<Step>),
}

/// A handler of a `try`.
#[derive(Debug, Clone)]
pub struct Catch {
    /// Dotted names of what it catches; empty catches everything.
    pub types: Vec<String>,
    /// The name of what was caught.
    pub binding: Option<String>,
    /// The handler.
    pub body: Vec<Step>,
    /// Where.
    pub span: Span,
}

/// Ways to leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitKind {
    /// `return`, and the value at the end of a Rust function or an expression lambda.
    Return,
    /// `throw`, `raise`, `panic!`, `bail!`.
    Throw,
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// `yield`: control comes back.
    Yield,
}

/// What a binding or assignment writes.
#[derive(Debug, Clone)]
pub enum Target {
    /// A name.
    Name(String, Span),
    /// A place: `a.b`, `a[b]`, `*a` (the expression `a`).
    Place(Box<Expr>),
    /// Fields taken out by name: `{ a, b: c }`, `Foo { a, .. }`.
    Fields(Vec<(String, Target)>),
    /// Elements taken out by position: `[a, b]`, `(a, b)`.
    Items(Vec<Target>),
    /// The one thing inside a wrapper: `Some(x)`, `Ok(x)`, `State(x)`. The value is looked through.
    Inside(Box<Target>),
    /// Nothing.
    Ignore,
}

/// An expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// The kinds of expression. `await`, casts, parentheses, `!` (TypeScript), references and dereferences are looked through.
#[derive(Debug, Clone)]
pub enum ExprKind {
    /// A name. A Rust path is a chain of members: `a::b` is `Member(Name(a), b)`.
    Name(String),
    /// `this`, `self`, `cls`.
    This,
    /// `super`.
    Super,
    /// `a.b`; `a?.b` too.
    Member(Box<Expr>, String),
    /// `a[b]`.
    Index(Box<Expr>, Box<Expr>),
    /// A call, `new`, macro call or tagged template.
    Call(Box<Call>),
    /// A text constant.
    Text(String),
    /// A text with values in it (template literal, f-string, `format!`).
    Template(Vec<TemplatePart>),
    /// A number.
    Number(f64),
    /// A truth value.
    Bool(bool),
    /// `null`, `undefined`, `None`, `()`.
    Null,
    /// An object literal, dict, or struct literal.
    Object {
        /// The struct's name, where the literal says it.
        ty: Option<String>,
        /// Entries; the key of a spread is `...`, a computed one [`super::is_computed`].
        entries: Vec<(String, Expr)>,
    },
    /// Array, list, tuple, set literal.
    List(Vec<Expr>),
    /// A lambda or function expression.
    Lambda(FnId),
    /// An operator on two values.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `!a`, `not a`.
    Not(Box<Expr>),
    /// `-a`.
    Negate(Box<Expr>),
    /// `a && b`.
    And(Box<Expr>, Box<Expr>),
    /// `a || b`.
    Or(Box<Expr>, Box<Expr>),
    /// `a ?? b`, `unwrap_or`-like operators of the language's syntax.
    Coalesce(Box<Expr>, Box<Expr>),
    /// `a ? b : c`, `b if a else c`.
    Choose {
        /// The condition.
        test: Box<Expr>,
        /// When it holds.
        then: Box<Expr>,
        /// When it does not.
        otherwise: Box<Expr>,
    },
    /// Does the value have this shape? Null tests (`== null`, `is None`) and match arms are normalised to it.
    Is(Box<Expr>, Shape),
    /// Rust's `a?`: the value, or out of the function with the error.
    Propagate(Box<Expr>),
    /// A call whose result the code says to be of a type: `f() as T`, `const x: T = f()`.
    Typed(Box<Expr>, TypeRef),
    /// An assignment used as a value (`while (x = next())`, `:=`; `a ??= b` has no `op` and `if_null`): target, value, operator.
    Assign {
        /// What is written.
        target: Box<Target>,
        /// The value.
        value: Box<Expr>,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// Written only when the target is null or missing (`??=`, `||=`).
        if_null: bool,
    },
    /// One of what a comprehension goes through.
    Element(Box<Expr>),
    /// Anything else, with the expressions inside it.
    Other(Vec<Expr>),
}

/// Text or value inside a [`ExprKind::Template`].
#[derive(Debug, Clone)]
pub enum TemplatePart {
    /// Text as written.
    Text(String),
    /// A value.
    Value(Expr),
}

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is called.
    pub callee: Expr,
    /// Arguments in order.
    pub args: Vec<Arg>,
    /// The form.
    pub form: CallForm,
    /// `await f()`, `f().await`.
    pub awaited: bool,
}

/// An argument.
#[derive(Debug, Clone)]
pub struct Arg {
    /// Its keyword; `**` for a spread of keywords, `*` for a spread of positions.
    pub name: Option<String>,
    /// Its value.
    pub value: Expr,
}

/// How a call is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallForm {
    /// `f(x)`.
    Plain,
    /// `new F(x)`.
    New,
    /// `f!(x)`.
    Macro,
    /// `` f`x ${y}` ``: the first argument is the template.
    Tagged,
    /// An operator that is a method: `k in d` is `d.__contains__(k)`.
    Operator,
}

/// Operators on two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`, `//`, `%`, `**`, shifts and bit operators
    OtherArithmetic,
    /// `==`, `===`
    Equal,
    /// `!=`, `!==`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `|` on sets, `instanceof`, ranges and whatever else
    Other,
}
