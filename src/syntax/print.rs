//! A [`Unit`] as indented text, one step a line, for snapshots and for people.
//! It must not know any language.

use super::{
    Arg, BinaryOp, Call, CallForm, Class, ExportTarget, Expr, ExprKind, Field, FnId, Function, Shape, Step, StepKind, Target,
    TemplatePart, TypeRef, Unit,
};

/// The whole unit: imports, exports, classes, functions (`fn#0` is the top level), comments, gaps.
pub fn print(unit: &Unit) -> String {
    let mut page = Page::default();
    for import in &unit.imports {
        let member = import.member.as_ref().map(|member| format!(" {member}")).unwrap_or_default();
        page.line(&format!("import {} = {:?}{member}", import.local, import.module));
    }
    for export in &unit.exports {
        let target = match &export.target {
            ExportTarget::Local(local) => local.to_string(),
            ExportTarget::Other { module, member } => format!("{module:?} {}", member.as_deref().unwrap_or("*")),
        };
        page.line(&format!("export {} = {target}", export.name));
    }
    for class in &unit.classes {
        page.class(class);
    }
    for (index, function) in unit.functions.iter().enumerate() {
        page.function(index, function);
    }
    for comment in &unit.comments {
        page.line(&format!("comment {:?}", comment.text));
    }
    for gap in &unit.gaps {
        page.line(&format!("gap {}: {}", gap.line.unwrap_or(0), gap.message));
    }
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
    depth: usize,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(&"  ".repeat(self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn within(&mut self, write: impl FnOnce(&mut Page)) {
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    fn block(&mut self, head: &str, steps: &[Step]) {
        self.line(head);
        self.within(|page| page.steps(steps));
    }

    fn class(&mut self, class: &Class) {
        let bases: Vec<String> = class.bases.iter().map(ty).chain(class.base_calls.iter().map(expr)).collect();
        let bases = if bases.is_empty() { String::new() } else { format!(" : {}", bases.join(", ")) };
        let parent = if class.parent == FnId(0) { String::new() } else { format!(" in fn#{}", class.parent.0) };
        self.decorators(&class.decorators);
        self.line(&format!("class {}{bases}{parent}", class.name));
        self.within(|page| {
            for field in &class.fields {
                page.field(field);
            }
            if !class.methods.is_empty() {
                let methods: Vec<String> = class.methods.iter().map(|id| format!("fn#{}", id.0)).collect();
                page.line(&format!("methods {}", methods.join(" ")));
            }
        });
    }

    fn field(&mut self, field: &Field) {
        let of_class = if field.is_static { "static " } else { "" };
        let init = field.init.as_ref().map(|init| format!(" = {}", expr(init))).unwrap_or_default();
        self.decorators(&field.decorators);
        self.line(&format!("{of_class}field {}{}{init}", field.name, typed(field.ty.as_ref())));
    }

    fn function(&mut self, index: usize, function: &Function) {
        let flags = function.flags;
        let words: String = [
            (flags.is_async, "async "),
            (flags.is_static, "static "),
            (flags.is_generator, "generator "),
            (flags.is_constructor, "constructor "),
        ]
        .into_iter()
        .filter_map(|(is, word)| is.then_some(word))
        .collect();
        let params: Vec<String> = function
            .params
            .iter()
            .map(|param| {
                let default = param.default.as_ref().map(|value| format!(" = {}", expr(value))).unwrap_or_default();
                format!("{}{}{default}", target(&param.target), typed(param.ty.as_ref()))
            })
            .collect();
        let class = function.class.map(|class| format!(" of class#{}", class.0)).unwrap_or_default();
        let parent = function.parent.filter(|parent| *parent != FnId(0));
        let parent = parent.map(|parent| format!(" in fn#{}", parent.0)).unwrap_or_default();
        self.decorators(&function.decorators);
        let (name, params, returns) = (&function.name, params.join(", "), typed(function.returns.as_ref()));
        self.block(&format!("{words}fn#{index} {name}({params}){returns}{class}{parent}"), &function.body);
    }

    fn decorators(&mut self, decorators: &[Expr]) {
        for decorator in decorators {
            self.line(&format!("@{}", expr(decorator)));
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            self.step(step);
        }
    }

    fn step(&mut self, step: &Step) {
        match &step.kind {
            StepKind::Do(value) => self.line(&format!("do {}", expr(value))),
            StepKind::Bind { target: to, value, declares, op } => {
                let declares = if *declares { "let" } else { "set" };
                let op = op.map_or("", sign);
                let value = value.as_ref().map(|value| format!(" {op}= {}", expr(value))).unwrap_or_default();
                self.line(&format!("{declares} {}{value}", target(to)));
            }
            StepKind::Branch { test, then, otherwise } => {
                self.block(&format!("if {}", expr(test)), then);
                if !otherwise.is_empty() {
                    self.block("else", otherwise);
                }
            }
            StepKind::Loop { test, each, body } => {
                let test = test.as_ref().map(|test| format!(" while {}", expr(test))).unwrap_or_default();
                let each = each.as_ref().map(|(to, over)| format!(" each {} in {}", target(to), expr(over)));
                self.block(&format!("loop{test}{}", each.unwrap_or_default()), body);
            }
            StepKind::Try { body, catches, otherwise, finally } => {
                self.block("try", body);
                for catch in catches {
                    let types = catch.types.iter().map(|ty| format!(" {ty}")).collect::<String>();
                    let binding = catch.binding.as_ref().map(|name| format!(" as {name}")).unwrap_or_default();
                    self.block(&format!("catch{types}{binding}"), &catch.body);
                }
                for (head, steps) in [("else", otherwise), ("finally", finally)] {
                    if !steps.is_empty() {
                        self.block(head, steps);
                    }
                }
            }
            StepKind::Within { context, binding, body } => {
                let binding = binding.as_ref().map(|to| format!(" as {}", target(to))).unwrap_or_default();
                self.block(&format!("within {}{binding}", expr(context)), body);
            }
            StepKind::Exit { kind, value } => {
                let value = value.as_ref().map(|value| format!(" {}", expr(value))).unwrap_or_default();
                self.line(&format!("{}{value}", format!("{kind:?}").to_lowercase()));
            }
            StepKind::Delete(value) => self.line(&format!("delete {}", expr(value))),
            StepKind::Scope(steps) => self.block("scope", steps),
        }
    }
}

fn typed(declared: Option<&TypeRef>) -> String {
    declared.map(|declared| format!(": {}", ty(declared))).unwrap_or_default()
}

fn ty(ty: &TypeRef) -> String {
    let args: Vec<String> = ty.args.iter().map(self::ty).collect();
    if args.is_empty() { ty.name.to_string() } else { format!("{}<{}>", ty.name, args.join(", ")) }
}

fn target(target: &Target) -> String {
    match target {
        Target::Name(name, _) => name.clone(),
        Target::Place(place) => expr(place),
        Target::Fields(fields) => {
            let fields: Vec<String> = fields.iter().map(|(name, to)| format!("{name}: {}", self::target(to))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Target::Items(items) => format!("[{}]", items.iter().map(self::target).collect::<Vec<_>>().join(", ")),
        Target::Inside(inner) => format!("inside({})", self::target(inner)),
        Target::Ignore => "_".to_owned(),
    }
}

fn expr(value: &Expr) -> String {
    match &value.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::This => "this".to_owned(),
        ExprKind::Super => "super".to_owned(),
        ExprKind::Member(of, member) => format!("{}.{member}", expr(of)),
        ExprKind::Index(of, index) => format!("{}[{}]", expr(of), expr(index)),
        ExprKind::Call(call) => self::call(call),
        ExprKind::Text(text) => format!("{text:?}"),
        ExprKind::Template(parts) => template(parts),
        ExprKind::Number(number) => number.to_string(),
        ExprKind::Bool(truth) => truth.to_string(),
        ExprKind::Null => "null".to_owned(),
        ExprKind::Object { ty, entries } => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}: {}", expr(value))).collect();
            format!("{}{{{}}}", ty.as_deref().unwrap_or(""), entries.join(", "))
        }
        ExprKind::List(items) => format!("[{}]", list(items)),
        ExprKind::Lambda(id) => format!("fn#{}", id.0),
        ExprKind::Binary(op, left, right) => format!("({} {} {})", expr(left), sign(*op), expr(right)),
        ExprKind::Not(value) => format!("!{}", expr(value)),
        ExprKind::Negate(value) => format!("-{}", expr(value)),
        ExprKind::And(left, right) => format!("({} && {})", expr(left), expr(right)),
        ExprKind::Or(left, right) => format!("({} || {})", expr(left), expr(right)),
        ExprKind::Coalesce(left, right) => format!("({} ?? {})", expr(left), expr(right)),
        ExprKind::Choose { test, then, otherwise } => {
            format!("({} ? {} : {})", expr(test), expr(then), expr(otherwise))
        }
        ExprKind::Is(value, shape) => format!("({} is {})", expr(value), self::shape(shape)),
        ExprKind::Typed(value, said) => format!("{} as {}", expr(value), ty(said)),
        ExprKind::Element(of) => format!("each {}", expr(of)),
        ExprKind::Propagate(value) => format!("{}?", expr(value)),
        ExprKind::Assign { target: to, value, op, if_null } => {
            let op = if *if_null { "??" } else { op.map_or("", sign) };
            format!("({} {op}= {})", target(to), expr(value))
        }
        ExprKind::Other(inside) => format!("other({})", list(inside)),
    }
}

fn call(call: &Call) -> String {
    let awaited = if call.awaited { "await " } else { "" };
    let form = match call.form {
        CallForm::Plain => "",
        CallForm::New => "new ",
        CallForm::Macro => "macro ",
        CallForm::Tagged => "tag ",
        CallForm::Operator => "op ",
    };
    let args: Vec<String> = call.args.iter().map(arg).collect();
    format!("{awaited}{form}{}({})", expr(&call.callee), args.join(", "))
}

fn arg(arg: &Arg) -> String {
    match &arg.name {
        Some(name) => format!("{name}={}", expr(&arg.value)),
        None => expr(&arg.value),
    }
}

fn template(parts: &[TemplatePart]) -> String {
    let parts: String = parts
        .iter()
        .map(|part| match part {
            TemplatePart::Text(text) => text.escape_debug().to_string(),
            TemplatePart::Value(value) => format!("${{{}}}", expr(value)),
        })
        .collect();
    format!("`{parts}`")
}

fn list(items: &[Expr]) -> String {
    items.iter().map(expr).collect::<Vec<_>>().join(", ")
}

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Text(text) => format!("{text:?}"),
        Shape::Number(number) => number.to_string(),
        Shape::Bool(truth) => truth.to_string(),
        named => format!("{named:?}"),
    }
}

fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::OtherArithmetic => "%",
        BinaryOp::Equal => "==",
        BinaryOp::NotEqual => "!=",
        BinaryOp::Less => "<",
        BinaryOp::LessEqual => "<=",
        BinaryOp::Greater => ">",
        BinaryOp::GreaterEqual => ">=",
        BinaryOp::Other => "<op>",
    }
}
