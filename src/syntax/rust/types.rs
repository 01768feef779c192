//! Declared types and paths. It must not know which types exist.

use syn::punctuated::Punctuated;
use syn::{GenericArgument, Path, PathArguments, QSelf, ReturnType, Type, TypeParamBound};

use super::lower::{Lowering, join, member, name, text};
use crate::files::Span;
use crate::syntax::{Expr, ExprKind, TypeRef};

/// Levels of type arguments that are kept.
const MAX_ARGUMENTS: u32 = 16;

impl Lowering {
    /// A type as written: references, pointers, `dyn` and `impl` are looked through.
    pub fn type_ref(&self, ty: &Type) -> TypeRef {
        self.type_at(ty, 0)
    }

    /// A declared return type.
    pub fn return_type(&self, output: &ReturnType) -> Option<TypeRef> {
        match output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(self.type_ref(ty)),
        }
    }

    /// A trait or type named by a path.
    pub fn path_type(&self, path: &Path) -> TypeRef {
        self.path_at(None, path, 0)
    }

    /// A path as an expression: a chain of members.
    pub fn path_expr(&self, qself: Option<&QSelf>, path: &Path) -> Expr {
        let mut segments = path.segments.iter();
        let mut chain = None;
        if let Some(qself) = qself {
            let at = self.range(qself.lt_token.span, qself.gt_token.span);
            chain = Some(self.dotted(&self.type_ref(&qself.ty).name, at));
            segments.by_ref().take(qself.position).for_each(drop);
        }
        for segment in segments {
            let at = self.span(segment.ident.span());
            let word = text(&segment.ident);
            chain = Some(match chain {
                Some(object) => {
                    let span = join(object.span, at);
                    member(object, word, span)
                }
                None if path.segments.len() == 1 && word == "self" => Expr { kind: ExprKind::This, span: at },
                None if path.segments.len() == 1 && word == "None" => Expr { kind: ExprKind::Null, span: at },
                None => name(self.without_self(word), at),
            });
        }
        chain.unwrap_or(Expr { kind: ExprKind::Other(Vec::new()), span: Span::default() })
    }

    /// A path as one dotted name.
    pub fn dotted_path(&self, path: &Path) -> String {
        let words = path.segments.iter().map(|segment| self.without_self(text(&segment.ident)));
        words.collect::<Vec<_>>().join(".")
    }

    /// A dotted name as a chain of members.
    fn dotted(&self, path: &str, at: Span) -> Expr {
        let mut words = path.split('.');
        let first = name(words.next().unwrap_or_default(), at);
        words.fold(first, |object, word| member(object, word.to_string(), at))
    }

    fn without_self(&self, word: String) -> String {
        match &self.self_name {
            Some(class) if word == "Self" => class.clone(),
            _ => word,
        }
    }

    fn type_at(&self, ty: &Type, depth: u32) -> TypeRef {
        if depth > MAX_ARGUMENTS {
            return TypeRef::default();
        }
        match ty {
            Type::Reference(inner) => self.type_at(&inner.elem, depth),
            Type::Ptr(inner) => self.type_at(&inner.elem, depth),
            Type::Paren(inner) => self.type_at(&inner.elem, depth),
            Type::Group(inner) => self.type_at(&inner.elem, depth),
            Type::Array(inner) => named("array", vec![self.type_at(&inner.elem, depth + 1)]),
            Type::Slice(inner) => named("array", vec![self.type_at(&inner.elem, depth + 1)]),
            Type::Tuple(tuple) => named("tuple", tuple.elems.iter().map(|elem| self.type_at(elem, depth + 1)).collect()),
            Type::ImplTrait(inner) => self.bounds_at(&inner.bounds, depth),
            Type::TraitObject(inner) => self.bounds_at(&inner.bounds, depth),
            Type::Path(path) => self.path_at(path.qself.as_ref(), &path.path, depth),
            Type::FnPtr(pointer) => {
                let mut args: Vec<_> = pointer.inputs.iter().map(|input| self.type_at(&input.ty, depth + 1)).collect();
                args.extend(self.output_at(&pointer.output, depth));
                named("fn", args)
            }
            Type::Never(_) => named("!", Vec::new()),
            Type::Macro(inner) => named(&self.dotted_path(&inner.mac.path), Vec::new()),
            _ => TypeRef::default(),
        }
    }

    fn path_at(&self, qself: Option<&QSelf>, path: &Path, depth: u32) -> TypeRef {
        let mut words = Vec::new();
        let mut args = Vec::new();
        if let Some(qself) = qself {
            words.push(self.type_at(&qself.ty, depth + 1).name.to_string());
        }
        for segment in path.segments.iter().skip(qself.map_or(0, |qself| qself.position)) {
            words.push(self.without_self(text(&segment.ident)));
            match &segment.arguments {
                PathArguments::None => {}
                PathArguments::AngleBracketed(list) => {
                    args.extend(list.args.iter().filter_map(|argument| match argument {
                        GenericArgument::Type(ty) => Some(self.type_at(ty, depth + 1)),
                        GenericArgument::AssocType(bound) => Some(self.type_at(&bound.ty, depth + 1)),
                        _ => None,
                    }));
                }
                PathArguments::Parenthesized(list) => {
                    args.extend(list.inputs.iter().map(|input| self.type_at(&input.ty, depth + 1)));
                    args.extend(self.output_at(&list.output, depth));
                }
            }
        }
        named(&words.join("."), args)
    }

    fn bounds_at(&self, bounds: &Punctuated<TypeParamBound, syn::Token![+]>, depth: u32) -> TypeRef {
        let first = bounds.iter().find_map(|bound| match bound {
            TypeParamBound::Trait(bound) => Some(self.path_at(None, &bound.path, depth)),
            _ => None,
        });
        first.unwrap_or_default()
    }

    fn output_at(&self, output: &ReturnType, depth: u32) -> Option<TypeRef> {
        match output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) => Some(self.type_at(ty, depth + 1)),
        }
    }
}

fn named(name: &str, args: Vec<TypeRef>) -> TypeRef {
    TypeRef { name: name.into(), args }
}
