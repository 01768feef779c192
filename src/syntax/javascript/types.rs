//! Declared types, reduced to [`TypeRef`].

use oxc_ast::ast::{
    TSImportTypeQualifier, TSTupleElement, TSType, TSTypeAnnotation, TSTypeName, TSTypeParameterInstantiation,
    TSTypeQueryExprName,
};

use super::{Lower, TypeRef, span};

/// Types nested deeper than this are cut.
const DEEPEST: u32 = 40;

impl Lower {
    pub(super) fn annotation(&mut self, annotation: Option<&TSTypeAnnotation>) -> Option<TypeRef> {
        self.type_ref(&annotation?.type_annotation)
    }

    /// `None` where the type says nothing (`null`, `undefined`) or has no name to go by.
    pub(super) fn type_ref(&mut self, ty: &TSType) -> Option<TypeRef> {
        self.type_within(ty, 0)
    }

    pub(super) fn type_args(&mut self, args: Option<&TSTypeParameterInstantiation>) -> Vec<TypeRef> {
        self.args_within(args, 0)
    }

    fn args_within(&mut self, args: Option<&TSTypeParameterInstantiation>, depth: u32) -> Vec<TypeRef> {
        let params = args.map_or(&[][..], |args| &args.params);
        params.iter().map(|param| self.type_within(param, depth).unwrap_or_default()).collect()
    }

    fn type_within(&mut self, ty: &TSType, depth: u32) -> Option<TypeRef> {
        let depth = depth + 1;
        if depth > DEEPEST {
            return None;
        }
        match ty {
            TSType::TSTypeReference(reference) => {
                let args = self.args_within(reference.type_arguments.as_deref(), depth);
                Some(seen_through(TypeRef { name: type_name(&reference.type_name).into(), args }))
            }
            TSType::TSImportType(import) => {
                let module = self.import_here(&import.source.value, span(import.span));
                let name = match &import.qualifier {
                    Some(qualifier) => format!("{module}.{}", qualified(qualifier)),
                    None => module,
                };
                Some(TypeRef { name: name.into(), args: self.args_within(import.type_arguments.as_deref(), depth) })
            }
            TSType::TSUnionType(union) => union.types.iter().find_map(|ty| self.type_within(ty, depth)),
            TSType::TSIntersectionType(both) => {
                let parts: Vec<TypeRef> = both.types.iter().filter_map(|ty| self.type_within(ty, depth)).collect();
                let named = parts.iter().position(|part| part.name != "object").unwrap_or_default();
                parts.into_iter().nth(named)
            }
            TSType::TSParenthesizedType(inner) => self.type_within(&inner.type_annotation, depth),
            TSType::TSTypeOperatorType(operator) => self.type_within(&operator.type_annotation, depth),
            TSType::JSDocNullableType(inner) => self.type_within(&inner.type_annotation, depth),
            TSType::JSDocNonNullableType(inner) => self.type_within(&inner.type_annotation, depth),
            TSType::TSArrayType(array) => {
                let element = self.type_within(&array.element_type, depth).unwrap_or_default();
                Some(TypeRef { name: "Array".into(), args: vec![element] })
            }
            TSType::TSTupleType(tuple) => {
                let args = tuple.element_types.iter().map(|ty| self.tuple_element(ty, depth).unwrap_or_default()).collect();
                Some(TypeRef { name: "Array".into(), args })
            }
            TSType::TSFunctionType(function) => {
                let returns = self.type_within(&function.return_type.type_annotation, depth).unwrap_or_default();
                Some(TypeRef { name: "Function".into(), args: vec![returns] })
            }
            TSType::TSTypeQuery(query) => match &query.expr_name {
                TSTypeQueryExprName::TSImportType(import) => {
                    Some(plain(&self.import_here(&import.source.value, span(import.span))))
                }
                other => Some(plain(&type_name(other.as_ts_type_name()?))),
            },
            _ => keyword(ty).map(plain),
        }
    }

    fn tuple_element(&mut self, element: &TSTupleElement, depth: u32) -> Option<TypeRef> {
        match element {
            TSTupleElement::TSOptionalType(inner) => self.type_within(&inner.type_annotation, depth),
            TSTupleElement::TSRestType(inner) => self.type_within(&inner.type_annotation, depth),
            TSTupleElement::TSNamedTupleMember(inner) if depth < DEEPEST => self.tuple_element(&inner.element_type, depth + 1),
            other => self.type_within(other.as_ts_type()?, depth),
        }
    }
}

/// The type that one of the language's own utility types is made of: its members are the same, some of them, or none.
fn seen_through(ty: TypeRef) -> TypeRef {
    match (ty.name.as_str(), ty.args.first()) {
        (
            "Pick" | "Omit" | "Partial" | "Required" | "Readonly" | "NonNullable" | "Extract" | "Exclude" | "NoInfer"
            | "InstanceType",
            Some(of),
        ) if !of.name.is_empty() => of.clone(),
        ("Awaited", Some(of)) => match (of.name.as_str(), of.args.first()) {
            ("Promise" | "PromiseLike", Some(inner)) => inner.clone(),
            _ => of.clone(),
        },
        _ => ty,
    }
}

fn plain(name: &str) -> TypeRef {
    TypeRef { name: name.into(), args: Vec::new() }
}

/// Types the language names itself.
fn keyword(ty: &TSType) -> Option<&'static str> {
    match ty {
        TSType::TSAnyKeyword(_) => Some("any"),
        TSType::TSBigIntKeyword(_) => Some("bigint"),
        TSType::TSBooleanKeyword(_) | TSType::TSTypePredicate(_) => Some("boolean"),
        TSType::TSNeverKeyword(_) => Some("never"),
        TSType::TSNumberKeyword(_) => Some("number"),
        TSType::TSObjectKeyword(_) | TSType::TSTypeLiteral(_) | TSType::TSMappedType(_) => Some("object"),
        TSType::TSStringKeyword(_) | TSType::TSTemplateLiteralType(_) => Some("string"),
        TSType::TSSymbolKeyword(_) => Some("symbol"),
        TSType::TSUnknownKeyword(_) => Some("unknown"),
        TSType::TSVoidKeyword(_) => Some("void"),
        TSType::TSThisType(_) => Some("this"),
        TSType::TSLiteralType(literal) => literal_kind(&literal.literal),
        _ => None,
    }
}

fn literal_kind(literal: &oxc_ast::ast::TSLiteral) -> Option<&'static str> {
    use oxc_ast::ast::TSLiteral as L;
    Some(match literal {
        L::BooleanLiteral(_) => "boolean",
        L::NumericLiteral(_) | L::UnaryExpression(_) => "number",
        L::BigIntLiteral(_) => "bigint",
        L::StringLiteral(_) | L::TemplateLiteral(_) => "string",
    })
}

/// A type's name with dots.
pub(super) fn type_name(name: &TSTypeName) -> String {
    let mut parts = Vec::new();
    let mut name = name;
    loop {
        match name {
            TSTypeName::IdentifierReference(identifier) => parts.push(identifier.name.as_str()),
            TSTypeName::ThisExpression(_) => parts.push("this"),
            TSTypeName::QualifiedName(qualified) => {
                parts.push(qualified.right.name.as_str());
                name = &qualified.left;
                continue;
            }
        }
        parts.reverse();
        return parts.join(".");
    }
}

fn qualified(qualifier: &TSImportTypeQualifier) -> String {
    let mut parts = Vec::new();
    let mut qualifier = qualifier;
    loop {
        match qualifier {
            TSImportTypeQualifier::Identifier(identifier) => parts.push(identifier.name.as_str()),
            TSImportTypeQualifier::QualifiedName(name) => {
                parts.push(name.right.name.as_str());
                qualifier = &name.left;
                continue;
            }
        }
        parts.reverse();
        return parts.join(".");
    }
}
