//! Classes, interfaces, object types and enums, all as [`Class`].

use oxc_ast::ast::{
    AccessorProperty, Class as Tree, ClassElement, Expression, FormalParameters, MethodDefinition, MethodDefinitionKind,
    PropertyDefinition, StaticBlock, TSEnumDeclaration, TSEnumMemberName, TSInterfaceDeclaration, TSSignature, TSType,
    TSTypeAliasDeclaration, TSTypeAnnotation,
};
use oxc_span::GetSpan;

use super::function::Role;
use super::target::key;
use super::types::type_name;
use super::{ClassId, ExprKind, FnId, Lower, Span, TypeRef, span};
use crate::syntax::{Class, Field};

impl Lower {
    /// Lowers a class and says what it is called. A class without a name gets `hint`, or a fresh name.
    pub(super) fn class(&mut self, tree: &Tree, hint: Option<&str>) -> String {
        let own = tree.id.as_ref().map(|id| id.name.as_str());
        let called = match hint.or(own) {
            Some(name) => name.to_owned(),
            None => self.fresh(),
        };
        let id = self.open_class(&called, span(tree.span));
        let decorators = self.decorators(&tree.decorators);
        self.close_class(id, |class| class.decorators = decorators);
        self.bases(tree, id);
        for element in &tree.body.body {
            match element {
                ClassElement::StaticBlock(block) => self.static_block(block, &called),
                ClassElement::MethodDefinition(method) => self.method(method, tree, id),
                ClassElement::PropertyDefinition(property) => self.property(property, id, &called),
                ClassElement::AccessorProperty(property) => self.accessor(property, id),
                ClassElement::TSIndexSignature(_) => {}
            }
        }
        called
    }

    fn bases(&mut self, tree: &Tree, id: ClassId) {
        let mut bases = Vec::new();
        let mut base_calls = Vec::new();
        if let Some(heritage) = &tree.heritage {
            let value = self.expr(&heritage.expression);
            match dotted(&value.kind) {
                Some(name) => bases.push(TypeRef { name: name.into(), args: self.type_args(heritage.type_arguments.as_deref()) }),
                None => base_calls.push(value),
            }
        }
        for implemented in &tree.implements {
            let args = self.type_args(implemented.type_arguments.as_deref());
            bases.push(TypeRef { name: type_name(&implemented.expression).into(), args });
        }
        self.close_class(id, |class| (class.bases, class.base_calls) = (bases, base_calls));
    }

    fn static_block(&mut self, block: &StaticBlock, class: &str) {
        let outer = self.this_name.replace(class.to_owned());
        let steps = self.block(&block.body);
        self.pending.extend(steps);
        self.this_name = outer;
    }

    fn method(&mut self, method: &MethodDefinition, tree: &Tree, id: ClassId) {
        let bodiless = method.value.body.is_none();
        if bodiless && !method.r#type.is_abstract() && !tree.declare {
            return;
        }
        let decorators = self.decorators(&method.decorators);
        let name = key(&method.key);
        let is_constructor = method.kind == MethodDefinitionKind::Constructor;
        if is_constructor {
            self.parameter_properties(&method.value.params, id);
        }
        let role = Role {
            name: &name,
            name_span: Some(span(method.key.span())),
            whole: Some(span(method.span)),
            class: Some(id),
            is_static: method.r#static,
            is_constructor,
            is_getter: method.kind == MethodDefinitionKind::Get,
            decorators,
        };
        let function = self.function(&method.value, role);
        self.close_class(id, |class| class.methods.push(function));
    }

    fn parameter_properties(&mut self, params: &FormalParameters, id: ClassId) {
        for param in params.items.iter().filter(|param| param.has_modifier()) {
            let Some(name) = param.pattern.get_identifier_name() else { continue };
            let field = Field {
                name: name.to_string(),
                ty: self.annotation(param.type_annotation.as_deref()),
                init: None,
                is_static: false,
                decorators: self.decorators(&param.decorators),
                span: span(param.span),
            };
            self.close_class(id, |class| class.fields.push(field));
        }
    }

    fn property(&mut self, property: &PropertyDefinition, id: ClassId, class: &str) {
        let name = key(&property.key);
        let decorators = self.decorators(&property.decorators);
        let said = self.annotation(property.type_annotation.as_deref());
        let ty = said.or_else(|| self.made_type(property.value.as_ref()?));
        let outer = if property.r#static { self.this_name.replace(class.to_owned()) } else { self.this_name.take() };
        let init = property.value.as_ref().map(|value| {
            let role = || Role {
                name: &name,
                name_span: Some(span(property.key.span())),
                class: Some(id),
                is_static: property.r#static,
                ..Role::default()
            };
            match value.get_inner_expression() {
                Expression::ArrowFunctionExpression(arrow) => self.field_function(id, |lower| lower.arrow(arrow, role())),
                Expression::FunctionExpression(tree) => self.field_function(id, |lower| lower.function(tree, role())),
                _ => self.named(value, Some(&name)),
            }
        });
        self.this_name = outer;
        let field = Field { name, ty, init, is_static: property.r#static, decorators, span: span(property.span) };
        self.close_class(id, |class| class.fields.push(field));
    }

    /// The type of a new object whose type arguments are written: `new Map<Key, Value>()`.
    fn made_type(&mut self, value: &Expression) -> Option<TypeRef> {
        let Expression::NewExpression(made) = value.get_inner_expression() else { return None };
        let name = made.callee.get_identifier_reference()?.name.to_string();
        let args = self.type_args(Some(made.type_arguments.as_deref()?));
        Some(TypeRef { name: name.into(), args })
    }

    /// A field that holds a function is a method too.
    fn field_function(&mut self, id: ClassId, lower: impl FnOnce(&mut Lower) -> FnId) -> super::Expr {
        let function = lower(self);
        let at = self.unit.functions.get(function.0 as usize).map_or(Span::default(), |function| function.span);
        self.close_class(id, |class| class.methods.push(function));
        super::expr(ExprKind::Lambda(function), at)
    }

    fn accessor(&mut self, property: &AccessorProperty, id: ClassId) {
        let name = key(&property.key);
        let field = Field {
            ty: self.annotation(property.type_annotation.as_deref()),
            init: property.value.as_ref().map(|value| self.named(value, Some(&name))),
            is_static: property.r#static,
            decorators: self.decorators(&property.decorators),
            span: span(property.span),
            name,
        };
        self.close_class(id, |class| class.fields.push(field));
    }

    pub(super) fn interface(&mut self, tree: &TSInterfaceDeclaration) {
        let id = self.open_class(&tree.id.name, span(tree.span));
        let mut bases = Vec::new();
        for base in &tree.extends {
            let args = self.type_args(base.type_arguments.as_deref());
            bases.push(TypeRef { name: type_name(&base.type_name).into(), args });
        }
        self.close_class(id, |class| {
            class.bases = bases;
            class.is_shape = true;
        });
        self.members(&tree.body.body, id);
    }

    /// `type A = { .. }` and `type A = B & { .. }` are classes; `type A = B` is a class with the base `B`.
    pub(super) fn alias(&mut self, tree: &TSTypeAliasDeclaration) {
        let parts = match &tree.type_annotation {
            TSType::TSIntersectionType(both) => both.types.iter().collect(),
            single => vec![single],
        };
        let has_name = |part: &&TSType| {
            matches!(
                part,
                TSType::TSTypeLiteral(_) | TSType::TSTypeReference(_) | TSType::TSTypeQuery(_) | TSType::TSFunctionType(_)
            )
        };
        if !parts.iter().any(has_name) {
            return;
        }
        let id = self.open_class(&tree.id.name, span(tree.span));
        self.close_class(id, |class| class.is_shape = parts.iter().any(|part| matches!(part, TSType::TSTypeLiteral(_))));
        for part in parts {
            match part {
                TSType::TSTypeLiteral(literal) => self.members(&literal.members, id),
                other => {
                    let base = self.type_ref(other);
                    self.close_class(id, |class| class.bases.extend(base));
                }
            }
        }
    }

    /// A declared type; one that is written out where it is used is a class without a name to call it by.
    pub(super) fn shape_or_name(&mut self, annotation: Option<&TSTypeAnnotation>) -> Option<TypeRef> {
        let TSType::TSTypeLiteral(literal) = &annotation?.type_annotation else { return self.annotation(annotation) };
        let at = span(literal.span);
        let name = format!("{{{}}}", at.start);
        let id = self.open_class(&name, at);
        self.close_class(id, |class| class.is_shape = true);
        self.members(&literal.members, id);
        Some(TypeRef { name: name.into(), args: Vec::new() })
    }

    fn members(&mut self, members: &[TSSignature], id: ClassId) {
        for member in members {
            match member {
                TSSignature::TSPropertySignature(property) => {
                    let ty = self.annotation(property.type_annotation.as_deref());
                    let name = key(&property.key);
                    let span = span(property.span);
                    let field = Field { name, ty, init: None, is_static: false, decorators: Vec::new(), span };
                    self.close_class(id, |class| class.fields.push(field));
                }
                TSSignature::TSMethodSignature(method) => {
                    let name = key(&method.key);
                    let name_span = Some(span(method.key.span()));
                    let role = Role { name: &name, name_span, class: Some(id), ..Role::default() };
                    let function = self.signature(&method.params, span(method.span), role);
                    let returns = self.annotation(method.return_type.as_deref());
                    if let Some(function) = self.unit.functions.get_mut(function.0 as usize) {
                        function.returns = returns;
                    }
                    self.close_class(id, |class| class.methods.push(function));
                }
                _ => {}
            }
        }
    }

    pub(super) fn enumeration(&mut self, tree: &TSEnumDeclaration) {
        let id = self.open_class(&tree.id.name, span(tree.span));
        for member in &tree.body.members {
            let name = match &member.id {
                TSEnumMemberName::Identifier(identifier) => identifier.name.to_string(),
                TSEnumMemberName::String(text) | TSEnumMemberName::ComputedString(text) => text.value.to_string(),
                TSEnumMemberName::ComputedTemplateString(text) => {
                    text.single_quasi().map(|text| text.to_string()).unwrap_or_default()
                }
            };
            let init = member.initializer.as_ref().map(|value| self.expr(value));
            let span = span(member.span);
            let field = Field { name, ty: None, init, is_static: true, decorators: Vec::new(), span };
            self.close_class(id, |class| class.fields.push(field));
        }
    }

    fn open_class(&mut self, name: &str, at: Span) -> ClassId {
        let id = ClassId(self.unit.classes.len() as u32);
        self.unit.classes.push(Class {
            name: name.to_owned(),
            bases: Vec::new(),
            base_calls: Vec::new(),
            decorators: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            parent: self.current,
            is_shape: false,
            span: at,
        });
        id
    }

    fn close_class(&mut self, id: ClassId, fill: impl FnOnce(&mut Class)) {
        if let Some(class) = self.unit.classes.get_mut(id.0 as usize) {
            fill(class);
        }
    }
}

/// A chain of members as a dotted name.
fn dotted(kind: &ExprKind) -> Option<String> {
    match kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Member(of, member) => Some(format!("{}.{member}", dotted(&of.kind)?)),
        _ => None,
    }
}
