//! Imports and exports: the language's own modules, CommonJS, and TypeScript's mixture of both.

use std::collections::HashMap;

use oxc_ast::ast::{
    AssignmentExpression, AssignmentOperator, AssignmentTarget, BindingPattern, CallExpression, Declaration,
    ExportDefaultDeclarationKind, Expression, Function, ImportDeclaration, ImportDeclarationSpecifier, MemberExpression,
    ModuleDeclaration, ObjectPropertyKind, Statement, TSModuleReference, TSNamespaceDeclaration, TSNamespaceDeclarationBody,
    VariableDeclarator,
};
use oxc_span::GetSpan;

use super::target::key;
use super::types::type_name;
use super::{ExprKind, FnId, Import, Lower, Span, Step, StepKind, expr, name, span, step};
use crate::files::Atom;
use crate::syntax::{Export, ExportTarget, Target};

/// What `module.exports` is called, as a name and as an export.
const WHOLE: &str = "=";

impl Lower {
    pub(super) fn module_declaration(&mut self, tree: &ModuleDeclaration, steps: &mut Vec<Step>) {
        match tree {
            ModuleDeclaration::ImportDeclaration(tree) => self.import_declaration(tree),
            ModuleDeclaration::ExportAllDeclaration(tree) => {
                let name = tree.exported.as_ref().map_or("*".to_owned(), |name| name.name().to_string());
                self.export(&name, ExportTarget::Other { module: tree.source.value.as_str().into(), member: None });
            }
            ModuleDeclaration::ExportFromDeclaration(tree) => {
                for specifier in &tree.specifiers {
                    let member = Some(specifier.local.name().as_str().into());
                    let target = ExportTarget::Other { module: tree.source.value.as_str().into(), member };
                    self.export(&specifier.exported.name(), target);
                }
            }
            ModuleDeclaration::ExportNamedDeclaration(tree) => {
                for specifier in &tree.specifiers {
                    self.export(&specifier.exported.name(), ExportTarget::Local(specifier.local.name().as_str().into()));
                }
            }
            ModuleDeclaration::ExportDeclaration(tree) => {
                for name in declared_names(&tree.declaration) {
                    self.export(&name, ExportTarget::Local(name.as_str().into()));
                }
                self.declaration(&tree.declaration, steps);
            }
            ModuleDeclaration::ExportDefaultDeclaration(tree) => {
                let local = self.default_export(&tree.declaration, steps);
                self.export("default", ExportTarget::Local(local.into()));
            }
            ModuleDeclaration::TSExportAssignment(tree) => self.export_whole(&tree.expression, span(tree.span), steps),
            ModuleDeclaration::TSNamespaceExportDeclaration(_) => {}
        }
    }

    fn import_declaration(&mut self, tree: &ImportDeclaration) {
        let module = &tree.source.value;
        for specifier in tree.specifiers.iter().flatten() {
            let (local, member) = match specifier {
                ImportDeclarationSpecifier::ImportSpecifier(tree) => (&tree.local, Some(tree.imported.name().to_string())),
                ImportDeclarationSpecifier::ImportDefaultSpecifier(tree) => (&tree.local, Some("default".to_owned())),
                ImportDeclarationSpecifier::ImportNamespaceSpecifier(tree) => (&tree.local, None),
            };
            self.take(&local.name, module, member, span(specifier.span()));
        }
        if tree.specifiers.as_ref().is_none_or(|specifiers| specifiers.is_empty()) {
            self.take("", module, None, span(tree.span));
        }
    }

    /// The local name of what is exported by default.
    fn default_export(&mut self, tree: &ExportDefaultDeclarationKind, steps: &mut Vec<Step>) -> String {
        match tree {
            ExportDefaultDeclarationKind::FunctionDeclaration(tree) => {
                tree.id.as_ref().map_or("default".to_owned(), |id| id.name.to_string())
            }
            ExportDefaultDeclarationKind::ClassDeclaration(tree) => {
                self.class(tree, if tree.id.is_some() { None } else { Some("default") })
            }
            ExportDefaultDeclarationKind::TSInterfaceDeclaration(tree) => {
                self.interface(tree);
                tree.id.name.to_string()
            }
            other => {
                let Some(value) = other.as_expression() else { return "default".to_owned() };
                if let Expression::Identifier(identifier) = value.get_inner_expression() {
                    return identifier.name.to_string();
                }
                self.bind_exported("default", value, span(value.span()), steps);
                "default".to_owned()
            }
        }
    }

    fn bind_exported(&mut self, exported: &str, value: &Expression, at: Span, steps: &mut Vec<Step>) {
        let hint = if exported == WHOLE { None } else { Some(exported) };
        let value = Some(self.named(value, hint));
        let target = Target::Name(exported.to_owned(), at);
        steps.push(step(StepKind::Bind { target, value, declares: true, op: None }, at));
    }

    /// `module.exports = value`. Names in an object literal are exports of their own.
    fn export_whole(&mut self, value: &Expression, at: Span, steps: &mut Vec<Step>) {
        if let Some((module, member)) = module_of(value) {
            return self.export(WHOLE, ExportTarget::Other { module: module.into(), member: member.map(Atom::from) });
        }
        if let Expression::ObjectExpression(object) = value.get_inner_expression() {
            for property in &object.properties {
                match property {
                    ObjectPropertyKind::ObjectProperty(property) => {
                        if let Expression::Identifier(identifier) = property.value.get_inner_expression() {
                            self.export(&key(&property.key), ExportTarget::Local(identifier.name.as_str().into()));
                        }
                    }
                    ObjectPropertyKind::SpreadProperty(spread) => {
                        if let Some((module, member)) = module_of(&spread.argument) {
                            self.export("*", ExportTarget::Other { module: module.into(), member: member.map(Atom::from) });
                        }
                    }
                }
            }
        }
        self.export(WHOLE, ExportTarget::Local(WHOLE.into()));
        self.bind_exported(WHOLE, value, at, steps);
    }

    /// Lowers `module.exports = ..` and `exports.a = ..`; false when the assignment is neither.
    pub(super) fn export_assignment(&mut self, tree: &AssignmentExpression, at: Span, steps: &mut Vec<Step>) -> bool {
        if self.current != FnId(0) || tree.operator != AssignmentOperator::Assign {
            return false;
        }
        let Some(exported) = exported_by(&tree.left) else { return false };
        if announces(&tree.right) {
            return true;
        }
        if exported == WHOLE {
            self.export_whole(&tree.right, at, steps);
        } else if let Expression::Identifier(identifier) = tree.right.get_inner_expression() {
            self.export(&exported, ExportTarget::Local(identifier.name.as_str().into()));
        } else if let Some((module, member)) = module_of(&tree.right) {
            self.export(&exported, ExportTarget::Other { module: module.into(), member: member.map(Atom::from) });
        } else {
            self.export(&exported, ExportTarget::Local(exported.as_str().into()));
            self.bind_exported(&exported, &tree.right, at, steps);
        }
        true
    }

    /// The module-level name that stands for `module.exports` or `exports.a` where it is written to.
    pub(super) fn exported_place(&mut self, place: &MemberExpression) -> Option<String> {
        if self.current != FnId(0) {
            return None;
        }
        let exported = exported_member(place)?;
        self.export(&exported, ExportTarget::Local(exported.as_str().into()));
        Some(exported)
    }

    /// The module-level name behind `exports.a` where it is read.
    pub(super) fn exported_local(&self, place: &MemberExpression) -> Option<String> {
        if self.exported.is_empty() {
            return None;
        }
        self.exported.get(&exported_member(place)?).cloned()
    }

    /// Whether the declarator only names (parts of) a module, which makes it imports and no step.
    pub(super) fn take_import(&mut self, tree: &VariableDeclarator) -> bool {
        let Some((module, member)) = tree.init.as_ref().and_then(module_of) else { return false };
        match &tree.id {
            BindingPattern::BindingIdentifier(local) => self.take(&local.name, &module, member, span(local.span)),
            BindingPattern::ObjectPattern(object) if member.is_none() => {
                let mut taken = Vec::new();
                for property in &object.properties {
                    let Some(local) = property.value.get_identifier_name() else { return false };
                    taken.push((local, Some(key(&property.key)), span(property.span)));
                }
                if let Some(rest) = &object.rest {
                    let Some(local) = rest.argument.get_identifier_name() else { return false };
                    taken.push((local, None, span(rest.span)));
                }
                for (local, member, at) in taken {
                    self.take(&local, &module, member, at);
                }
            }
            _ => return false,
        }
        true
    }

    /// `require('./a');` and `await import('./a');` on their own.
    pub(super) fn import_for_effect(&mut self, tree: &Expression, at: Span) -> bool {
        let Some((module, None)) = module_of(tree) else { return false };
        self.take("", &module, None, at);
        true
    }

    /// Declarations that hold others: namespaces, ambient modules, `import a = ..`.
    pub(super) fn module_like(&mut self, tree: &Declaration, steps: &mut Vec<Step>) {
        match tree {
            Declaration::TSNamespaceDeclaration(tree) => self.namespace(tree, steps),
            // What is said of another module's types are no types of this file.
            Declaration::TSExternalModuleDeclaration(_) => {}
            Declaration::TSGlobalDeclaration(tree) => self.namespace_body(&tree.body.body, steps),
            Declaration::TSImportEqualsDeclaration(tree) => {
                let (at, local) = (span(tree.span), &tree.id.name);
                let path = match &tree.module_reference {
                    TSModuleReference::ExternalModuleReference(module) => {
                        return self.take(local, &module.expression.value, None, at);
                    }
                    TSModuleReference::IdentifierReference(identifier) => identifier.name.to_string(),
                    TSModuleReference::QualifiedName(path) => format!("{}.{}", type_name(&path.left), path.right.name),
                };
                let mut parts = path.split('.');
                let first = name(parts.next().unwrap_or_default(), at);
                let value = parts.fold(first, |of, part| expr(ExprKind::Member(Box::new(of), part.to_owned()), at));
                let target = Target::Name(local.to_string(), span(tree.id.span));
                steps.push(step(StepKind::Bind { target, value: Some(value), declares: true, op: None }, at));
            }
            _ => {}
        }
    }

    fn namespace(&mut self, tree: &TSNamespaceDeclaration, steps: &mut Vec<Step>) {
        let mut body = &tree.body;
        loop {
            match body {
                TSNamespaceDeclarationBody::TSNamespaceDeclaration(inner) => body = &inner.body,
                TSNamespaceDeclarationBody::TSModuleBlock(block) => return self.namespace_body(&block.body, steps),
            }
        }
    }

    fn namespace_body(&mut self, body: &[Statement], steps: &mut Vec<Step>) {
        let outer = std::mem::replace(&mut self.in_namespace, true);
        steps.extend(self.block(body));
        self.in_namespace = outer;
    }

    fn take(&mut self, local: &str, module: &str, member: Option<String>, span: Span) {
        self.unit.imports.push(Import { local: local.into(), module: module.into(), member: member.map(Atom::from), span });
    }

    fn export(&mut self, name: &str, target: ExportTarget) {
        let export = Export { name: name.into(), target };
        if !self.in_namespace && !self.unit.exports.contains(&export) {
            self.unit.exports.push(export);
        }
    }
}

/// The function a statement declares, exported or not.
pub(super) fn declared_function<'t, 'a>(statement: &'t Statement<'a>) -> Option<&'t Function<'a>> {
    match statement {
        Statement::FunctionDeclaration(tree) => Some(tree),
        Statement::ExportDeclaration(export) => match &export.declaration {
            Declaration::FunctionDeclaration(tree) => Some(tree),
            _ => None,
        },
        Statement::ExportDefaultDeclaration(export) => match &export.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(tree) => Some(tree),
            _ => None,
        },
        _ => None,
    }
}

/// The module of `require('m')`.
pub(super) fn required<'a>(call: &CallExpression<'a>) -> Option<&'a str> {
    match (&call.callee, call.arguments.as_slice()) {
        (Expression::Identifier(callee), [argument]) if callee.name == "require" => match argument.as_expression()? {
            Expression::StringLiteral(module) => Some(module.value.as_str()),
            Expression::TemplateLiteral(module) => Some(module.single_quasi()?.as_str()),
            _ => None,
        },
        _ => None,
    }
}

/// A constant text.
pub(super) fn constant(tree: &Expression) -> Option<String> {
    match tree {
        Expression::StringLiteral(text) => Some(text.value.to_string()),
        Expression::TemplateLiteral(text) => Some(text.single_quasi()?.to_string()),
        _ => None,
    }
}

/// Module and member that an expression stands for: `require('m')`, `await import('m')`, `require('m').a`.
fn module_of(tree: &Expression) -> Option<(String, Option<String>)> {
    let (tree, member) = match tree.get_inner_expression() {
        Expression::StaticMemberExpression(of) => (of.object.get_inner_expression(), Some(of.property.name.to_string())),
        whole => (whole, None),
    };
    let module = match tree {
        Expression::CallExpression(call) => required(call)?.to_owned(),
        // What is taken from `import(..)` itself and not from what it resolves to is a method of the promise.
        Expression::ImportExpression(import) if member.is_none() => constant(&import.source)?,
        Expression::AwaitExpression(awaited) => match awaited.argument.get_inner_expression() {
            Expression::ImportExpression(import) => constant(&import.source)?,
            _ => return None,
        },
        _ => return None,
    };
    Some((module, member))
}

fn declared_names(tree: &Declaration) -> Vec<String> {
    let id = match tree {
        Declaration::VariableDeclaration(tree) => {
            let patterns = tree.declarations.iter().map(|declarator| &declarator.id);
            return patterns.flat_map(|pattern| pattern.get_binding_identifiers()).map(|id| id.name.to_string()).collect();
        }
        Declaration::FunctionDeclaration(tree) => tree.id.as_ref(),
        Declaration::ClassDeclaration(tree) => tree.id.as_ref(),
        Declaration::TSTypeAliasDeclaration(tree) => Some(&tree.id),
        Declaration::TSInterfaceDeclaration(tree) => Some(&tree.id),
        Declaration::TSEnumDeclaration(tree) => Some(&tree.id),
        Declaration::TSImportEqualsDeclaration(tree) => Some(&tree.id),
        Declaration::TSNamespaceDeclaration(tree) => Some(&tree.id),
        Declaration::TSExternalModuleDeclaration(_) | Declaration::TSGlobalDeclaration(_) => None,
    };
    id.map(|id| id.name.to_string()).into_iter().collect()
}

fn exported_by(target: &AssignmentTarget) -> Option<String> {
    exported_member(target.as_member_expression()?)
}

/// `exports.a = exports.b = undefined`, which compilers write ahead of the exports proper.
fn announces(value: &Expression) -> bool {
    match value.get_inner_expression() {
        Expression::AssignmentExpression(next) => exported_by(&next.left).is_some() && announces(&next.right),
        value => value.is_null_or_undefined(),
    }
}

/// The local name of each `exports.a = ..` among the statements of a file; they may be read before they are written.
pub(super) fn exported_locals(statements: &[Statement]) -> HashMap<String, String> {
    let mut locals = HashMap::new();
    for statement in statements {
        let Statement::ExpressionStatement(statement) = statement else { continue };
        let Expression::AssignmentExpression(assignment) = &statement.expression else { continue };
        let Some(exported) = exported_by(&assignment.left).filter(|exported| exported != WHOLE) else { continue };
        if module_of(&assignment.right).is_some() || announces(&assignment.right) {
            continue;
        }
        let local = match assignment.right.get_inner_expression() {
            Expression::Identifier(identifier) => identifier.name.to_string(),
            _ => exported.clone(),
        };
        locals.insert(exported, local);
    }
    locals
}

/// `=` for `module.exports`, `a` for `exports.a` and `module.exports.a`.
fn exported_member(place: &MemberExpression) -> Option<String> {
    let member = place.static_property_name()?;
    match place.object() {
        Expression::Identifier(of) if of.name == "module" && member == "exports" => Some(WHOLE.to_owned()),
        Expression::Identifier(of) if of.name == "exports" => Some(member.to_owned()),
        Expression::StaticMemberExpression(of) if of.property.name == "exports" => match &of.object {
            Expression::Identifier(module) if module.name == "module" => Some(member.to_owned()),
            _ => None,
        },
        _ => None,
    }
}
