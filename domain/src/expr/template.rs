//! JSON values with `{{ }}` in their strings.

use std::borrow::Cow;

use minijinja::machinery::{ast, parse as parse_template};
use serde_json::Value;

use super::eval::{Budget, EvalError, Scope, display, evaluate, owned};
use super::parse::{Expr, ParseError, Reference, SOURCE_BYTES_MAX, check_unary_runs, syntax_error};

/// Deepest nesting of a value with templates; the YAML reader allows no more either.
const DEPTH_MAX: usize = 100;

/// A compiled template.
///
/// A string that is exactly one `{{ ... }}` keeps the JSON type of its value; in a longer string the
/// values are written out as text.
#[derive(Debug, Clone, PartialEq)]
pub enum Template {
    Literal(Value),
    Expr(Expr),
    Text(Vec<Part>),
    List(Vec<Template>),
    Map(Vec<(String, Template)>),
}

/// A piece of a longer string.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    Raw(String),
    Expr(Expr),
}

impl Template {
    /// Compiles all strings of `value`; errors come with the path of the string below it.
    pub fn compile(value: &Value) -> Result<Self, Vec<(Vec<String>, ParseError)>> {
        let mut errors = Vec::new();
        let template = compile(value, &mut Vec::new(), &mut errors);
        if errors.is_empty() {
            Ok(template)
        } else {
            Err(errors)
        }
    }

    /// The value with all expressions evaluated in `scope`.
    pub fn render(&self, scope: &dyn Scope, budget: &mut Budget) -> Result<Value, EvalError> {
        match self {
            Self::Literal(value) => owned(Cow::Borrowed(value), budget),
            Self::Expr(expr) => {
                let value = evaluate(expr, scope, budget)?;
                owned(value, budget)
            }
            Self::Text(parts) => {
                let mut text = String::new();
                for part in parts {
                    match part {
                        Part::Raw(raw) => {
                            budget.produce(raw.len())?;
                            text.push_str(raw);
                        }
                        Part::Expr(expr) => {
                            let shown = display(&*evaluate(expr, scope, budget)?);
                            budget.produce(shown.len())?;
                            text.push_str(&shown);
                        }
                    }
                }
                Ok(Value::String(text))
            }
            Self::List(items) => items
                .iter()
                .map(|item| item.render(scope, budget))
                .collect(),
            Self::Map(entries) => entries
                .iter()
                .map(|(key, item)| Ok((key.clone(), item.render(scope, budget)?)))
                .collect::<Result<serde_json::Map<_, _>, _>>()
                .map(Value::Object),
        }
    }

    /// Everything that the template reads, with the path of the string that reads it.
    #[must_use]
    pub fn references(&self) -> Vec<(Vec<String>, Reference)> {
        let mut found = Vec::new();
        self.collect(&mut Vec::new(), &mut found);
        found
    }

    fn collect(&self, path: &mut Vec<String>, found: &mut Vec<(Vec<String>, Reference)>) {
        let mut add = |expr: &Expr, path: &[String]| {
            let mut references = Vec::new();
            expr.references(&mut references);
            found.extend(references.into_iter().map(|r| (path.to_vec(), r)));
        };
        match self {
            Self::Literal(_) => {}
            Self::Expr(expr) => add(expr, path),
            Self::Text(parts) => {
                for part in parts {
                    if let Part::Expr(expr) = part {
                        add(expr, path);
                    }
                }
            }
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(index.to_string());
                    item.collect(path, found);
                    path.pop();
                }
            }
            Self::Map(entries) => {
                for (key, item) in entries {
                    path.push(key.clone());
                    item.collect(path, found);
                    path.pop();
                }
            }
        }
    }
}

fn compile(
    value: &Value,
    path: &mut Vec<String>,
    errors: &mut Vec<(Vec<String>, ParseError)>,
) -> Template {
    if path.len() > DEPTH_MAX {
        errors.push((
            path.clone(),
            ParseError::Unsupported("nesting this deep".to_owned()),
        ));
        return Template::Literal(Value::Null);
    }
    let template = match value {
        Value::String(text) => match compile_text(text) {
            Ok(template) => template,
            Err(error) => {
                errors.push((path.clone(), error));
                Template::Literal(Value::Null)
            }
        },
        Value::Array(items) => {
            let each = |(index, item): (usize, &Value)| {
                path.push(index.to_string());
                let template = compile(item, path, errors);
                path.pop();
                template
            };
            Template::List(items.iter().enumerate().map(each).collect())
        }
        Value::Object(map) => {
            let each = |(key, item): (&String, &Value)| {
                path.push(key.clone());
                let template = compile(item, path, errors);
                path.pop();
                (key.clone(), template)
            };
            Template::Map(map.iter().map(each).collect())
        }
        other => Template::Literal(other.clone()),
    };
    fold_literals(template)
}

/// A list or map without any expression is one literal.
fn fold_literals(template: Template) -> Template {
    let literal = |t: &Template| matches!(t, Template::Literal(_));
    let value = |t: Template| match t {
        Template::Literal(value) => value,
        _ => Value::Null,
    };
    match template {
        Template::List(items) if items.iter().all(literal) => {
            Template::Literal(items.into_iter().map(value).collect())
        }
        Template::Map(entries) if entries.iter().all(|(_, t)| literal(t)) => Template::Literal(
            Value::Object(entries.into_iter().map(|(k, t)| (k, value(t))).collect()),
        ),
        other => other,
    }
}

fn compile_text(text: &str) -> Result<Template, ParseError> {
    if !["{{", "{%", "{#"].iter().any(|mark| text.contains(mark)) {
        return Ok(Template::Literal(text.into()));
    }
    if text.len() > SOURCE_BYTES_MAX {
        return Err(ParseError::TooLong);
    }
    check_unary_runs(text, false)?;
    let tree = parse_template(text, "template", minijinja::syntax::SyntaxConfig::default())
        .map_err(syntax_error)?;
    let ast::Stmt::Template(root) = tree else {
        return Err(ParseError::Statement);
    };
    let mut parts = Vec::with_capacity(root.children.len());
    for child in &root.children {
        parts.push(match child {
            ast::Stmt::EmitRaw(raw) => Part::Raw(raw.raw.to_owned()),
            ast::Stmt::EmitExpr(emit) => Part::Expr(Expr::from_tree(&emit.expr, 0)?),
            _ => return Err(ParseError::Statement),
        });
    }
    // The parser drops one newline at the end. That suits a lone `{{ }}` in a block scalar; a longer
    // text gets it back.
    if let Some(newline) = ["\r\n", "\n"].iter().find(|end| text.ends_with(**end))
        && !matches!(parts.as_slice(), [Part::Expr(_)])
    {
        parts.push(Part::Raw((*newline).to_owned()));
    }
    Ok(match <[Part; 1]>::try_from(parts) {
        Ok([Part::Expr(expr)]) => Template::Expr(expr),
        Ok([Part::Raw(raw)]) => Template::Literal(raw.into()),
        Err(parts) => Template::Text(parts),
    })
}
