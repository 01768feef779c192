//! Items: functions, types with their methods, constants, modules. It must not know what their bodies mean.

use proc_macro2::Ident;
use syn::{Attribute, Fields, FnArg, ImplItem, Item, ItemEnum, ItemImpl, ItemTrait, Signature, TraitItem, Type, Variant};

use super::attributes::{attributes, is_test};
use super::lower::{Lowering, declare, expr, join, text};
use super::steps::Dest;
use crate::files::Span;
use crate::syntax::{
    Class, ClassId, Export, ExportTarget, Expr, ExprKind, Field, FnFlags, FnId, Function, Param, Step, Target, TypeRef,
};

/// What a list of items becomes, in the order it is put into the body: names of functions hold everywhere, constants come next.
#[derive(Default)]
pub(super) struct Placed {
    functions: Vec<Step>,
    /// Constants and statics.
    pub constants: Vec<Step>,
    /// Whatever runs.
    pub rest: Vec<Step>,
}

impl Lowering {
    /// Lowers a file's items into the unit.
    pub fn module(&mut self, items: &[Item]) {
        let body = self.items(items.iter());
        if let Some(module) = self.unit.functions.first_mut() {
            module.body = body;
        }
    }

    /// Lowers items into the steps that bind their names.
    pub fn items<'i>(&mut self, items: impl Iterator<Item = &'i Item>) -> Vec<Step> {
        let mut placed = Placed::default();
        items.for_each(|item| self.item(item, &mut placed));
        let Placed { mut functions, constants, rest } = placed;
        functions.extend(constants);
        functions.extend(rest);
        functions
    }

    /// Lowers one item; what only tests compile is left out.
    pub fn item(&mut self, item: &Item, placed: &mut Placed) {
        if !is_test(attributes(item)) {
            self.deeper(|lowering| lowering.item_inside(item, placed));
        } else if let Item::Mod(module) = item
            && module.content.is_none()
        {
            self.unit.tests.push(format!("self.{}", text(&module.ident)).into());
        }
    }

    fn item_inside(&mut self, item: &Item, placed: &mut Placed) {
        match item {
            Item::Use(item) => self.use_item(item),
            Item::Fn(item) => {
                let end = self.span(item.block.brace_token.span.close());
                let id = self.function(&item.sig, Some(&item.block), &item.attrs, None, end);
                let span = self.span(item.sig.ident.span());
                self.bind_item(&item.sig.ident, Some(expr(ExprKind::Lambda(id), span)), span, &mut placed.functions);
            }
            Item::Const(item) => {
                let span = self.range(item.const_token.span, item.semi_token.span);
                self.constant(&item.ident, &item.ty, &item.expr, span, placed);
            }
            Item::Static(item) => {
                let span = self.range(item.static_token.span, item.semi_token.span);
                self.constant(&item.ident, &item.ty, &item.expr, span, placed);
            }
            Item::Type(item) => {
                let span = self.range(item.type_token.span, item.semi_token.span);
                let value = match &*item.ty {
                    Type::Path(path) => Some(self.path_expr(path.qself.as_ref(), &path.path)),
                    _ => None,
                };
                if self.within == FnId(0) && item.generics.params.is_empty() {
                    let ty = self.type_ref(&item.ty);
                    self.unit.declared.push((text(&item.ident), ty));
                }
                self.bind_item(&item.ident, value, span, &mut placed.constants);
            }
            Item::Mod(item) => match &item.content {
                Some((_, items)) => items.iter().for_each(|item| self.item(item, placed)),
                None => self.module_declaration(item),
            },
            Item::Struct(item) => {
                let end = item.semi_token.map_or_else(|| self.fields_end(&item.fields), |semi| Some(self.span(semi.span)));
                let fields = self.fields(&item.fields);
                self.define(&item.ident, self.span(item.struct_token.span), end, &item.attrs, fields);
            }
            Item::Union(item) => {
                let end = Some(self.span(item.fields.brace_token.span.close()));
                let fields = self.fields(&Fields::Named(item.fields.clone()));
                self.define(&item.ident, self.span(item.union_token.span), end, &item.attrs, fields);
            }
            Item::Enum(item) => self.enumeration(item),
            Item::Trait(item) => self.trait_item(item),
            Item::Impl(item) => self.impl_item(item),
            Item::Macro(item) if item.ident.is_none() => self.item_macro(&item.mac, placed),
            _ => {}
        }
    }

    fn constant(&mut self, ident: &Ident, ty: &Type, value: &syn::Expr, span: Span, placed: &mut Placed) {
        if ident == "_" {
            self.deliver(value, &Dest::Drop, &mut placed.rest);
            return;
        }
        if self.within == FnId(0) {
            let ty = self.type_ref(ty);
            self.unit.declared.push((text(ident), ty));
        }
        let mut steps = Vec::new();
        let value = self.expr(value, &mut steps);
        placed.constants.append(&mut steps);
        self.bind_item(ident, Some(value), span, &mut placed.constants);
    }

    /// Binds an item's name.
    pub fn bind_item(&mut self, ident: &Ident, value: Option<Expr>, span: Span, out: &mut Vec<Step>) {
        let target = Target::Name(text(ident), self.span(ident.span()));
        out.push(declare(target, value, span));
        self.export(text(ident));
    }

    fn export(&mut self, name: String) {
        if self.within == FnId(0) {
            self.unit.exports.push(Export { target: ExportTarget::Local(name.as_str().into()), name: name.into() });
        }
    }

    fn function(
        &mut self,
        sig: &Signature,
        block: Option<&syn::Block>,
        attrs: &[Attribute],
        class: Option<ClassId>,
        end: Span,
    ) -> FnId {
        let params = sig.inputs.iter().filter_map(|input| match input {
            FnArg::Receiver(_) => None,
            FnArg::Typed(typed) => {
                Some(Param { target: self.target(&typed.pat), ty: Some(self.type_ref(&typed.ty)), default: None, gathers: None })
            }
        });
        let params = params.collect();
        let has_receiver = matches!(sig.inputs.first(), Some(FnArg::Receiver(_)));
        let start = sig.asyncness.map_or(sig.fn_token.span, |token| token.span);
        let function = Function {
            name: text(&sig.ident),
            params,
            body: Vec::new(),
            class,
            parent: Some(self.within),
            decorators: self.decorators(attrs),
            returns: self.return_type(&sig.output),
            receiver: None,
            flags: FnFlags {
                is_async: sig.asyncness.is_some(),
                is_static: class.is_some() && !has_receiver,
                ..FnFlags::default()
            },
            span: join(self.span(start), end),
            name_span: self.span(sig.ident.span()),
        };
        let id =
            self.add_function(function, |lowering| block.map(|block| lowering.block(block, &Dest::Return)).unwrap_or_default());
        if let Some(class) = class.and_then(|class| self.unit.classes.get_mut(class.0 as usize)) {
            class.methods.push(id);
        }
        id
    }

    /// The class with this name, made at the first mention of it.
    fn class(&mut self, name: &str, span: Span) -> ClassId {
        if let Some(id) = self.classes.get(name) {
            return *id;
        }
        let id = ClassId(self.unit.classes.len() as u32);
        self.classes.insert(name.to_string(), id);
        self.unit.classes.push(Class {
            name: name.to_string(),
            bases: Vec::new(),
            base_calls: Vec::new(),
            decorators: Vec::new(),
            fields: Vec::new(),
            methods: Vec::new(),
            parent: self.within,
            is_shape: false,
            span,
        });
        id
    }

    fn define(&mut self, ident: &Ident, start: Span, end: Option<Span>, attrs: &[Attribute], fields: Vec<Field>) -> ClassId {
        let span = join(start, end.unwrap_or_else(|| self.span(ident.span())));
        let decorators = self.decorators(attrs);
        let id = self.class(&text(ident), span);
        let parent = self.within;
        if let Some(class) = self.unit.classes.get_mut(id.0 as usize) {
            class.span = span;
            class.parent = parent;
            class.decorators.extend(decorators);
            class.fields.extend(fields);
        }
        self.export(text(ident));
        id
    }

    fn enumeration(&mut self, item: &ItemEnum) {
        let own = TypeRef { name: text(&item.ident).into(), args: vec![] };
        let fields = item.variants.iter().map(|variant| Field { ty: Some(own.clone()), ..self.variant(variant) }).collect();
        let end = Some(self.span(item.brace_token.span.close()));
        self.define(&item.ident, self.span(item.enum_token.span), end, &item.attrs, fields);
    }

    fn variant(&mut self, variant: &Variant) -> Field {
        let init = variant.discriminant.as_ref().map(|(_, value)| self.expr(value, &mut Vec::new()));
        Field {
            name: text(&variant.ident),
            ty: None,
            init,
            is_static: true,
            decorators: self.decorators(&variant.attrs),
            span: self.span(variant.ident.span()),
        }
    }

    fn fields(&mut self, fields: &Fields) -> Vec<Field> {
        let lowered = fields.iter().enumerate().map(|(at, field)| Field {
            name: field.ident.as_ref().map_or_else(|| at.to_string(), text),
            ty: Some(self.type_ref(&field.ty)),
            init: field.default.as_ref().map(|(_, value)| self.expr(value, &mut Vec::new())),
            is_static: false,
            decorators: self.decorators(&field.attrs),
            span: match &field.ident {
                Some(ident) => self.span(ident.span()),
                None => self.span(syn::spanned::Spanned::span(&field.ty)),
            },
        });
        lowered.collect()
    }

    fn fields_end(&self, fields: &Fields) -> Option<Span> {
        match fields {
            Fields::Named(named) => Some(self.span(named.brace_token.span.close())),
            Fields::Unnamed(unnamed) => Some(self.span(unnamed.paren_token.span.close())),
            Fields::Unit => None,
        }
    }

    fn trait_item(&mut self, item: &ItemTrait) {
        let bases = item.supertraits.iter().filter_map(|bound| match bound {
            syn::TypeParamBound::Trait(bound) => Some(self.path_type(&bound.path)),
            _ => None,
        });
        let bases: Vec<_> = bases.collect();
        let end = Some(self.span(item.brace_token.span.close()));
        let id = self.define(&item.ident, self.span(item.trait_token.span), end, &item.attrs, Vec::new());
        self.add_bases(id, bases);
        self.with_self(text(&item.ident), |lowering| {
            for member in &item.items {
                match member {
                    TraitItem::Fn(method) if !is_test(&method.attrs) => {
                        let end = match (&method.default, &method.semi_token) {
                            (Some(block), _) => lowering.span(block.brace_token.span.close()),
                            (None, Some(semi)) => lowering.span(semi.span),
                            (None, None) => lowering.span(method.sig.ident.span()),
                        };
                        lowering.function(&method.sig, method.default.as_ref(), &method.attrs, Some(id), end);
                    }
                    TraitItem::Const(constant) => {
                        let value = constant.default.as_ref().map(|(_, value)| value);
                        lowering.class_constant(id, &constant.ident, &constant.ty, value);
                    }
                    _ => {}
                }
            }
        });
    }

    fn impl_item(&mut self, item: &ItemImpl) {
        let ty = self.type_ref(&item.self_ty);
        let class_name = ty.name.rsplit('.').next().unwrap_or_default().to_string();
        let span = self.range(item.impl_token.span, item.brace_token.span.close());
        let id = self.class(&class_name, span);
        let bases: Vec<TypeRef> = item.trait_.iter().map(|(path, _)| self.path_type(path)).collect();
        self.add_bases(id, bases);
        self.with_self(class_name, |lowering| {
            for member in &item.items {
                match member {
                    ImplItem::Fn(method) if !is_test(&method.attrs) => {
                        let end = lowering.span(method.block.brace_token.span.close());
                        // What stands on the implementation stands on each of its methods.
                        let attrs = [&item.attrs[..], &method.attrs[..]].concat();
                        lowering.function(&method.sig, Some(&method.block), &attrs, Some(id), end);
                    }
                    ImplItem::Const(constant) => {
                        lowering.class_constant(id, &constant.ident, &constant.ty, Some(&constant.expr));
                    }
                    _ => {}
                }
            }
        });
    }

    fn class_constant(&mut self, id: ClassId, ident: &Ident, ty: &Type, value: Option<&syn::Expr>) {
        let init = value.map(|value| self.expr(value, &mut Vec::new()));
        let field = Field {
            name: text(ident),
            ty: Some(self.type_ref(ty)),
            init,
            is_static: true,
            decorators: Vec::new(),
            span: self.span(ident.span()),
        };
        if let Some(class) = self.unit.classes.get_mut(id.0 as usize) {
            class.fields.push(field);
        }
    }

    fn add_bases(&mut self, id: ClassId, bases: Vec<TypeRef>) {
        if let Some(class) = self.unit.classes.get_mut(id.0 as usize) {
            for base in bases {
                if !class.bases.contains(&base) {
                    class.bases.push(base);
                }
            }
        }
    }

    fn with_self(&mut self, name: String, lower: impl FnOnce(&mut Lowering)) {
        let outside = self.self_name.replace(name);
        lower(self);
        self.self_name = outside;
    }
}
