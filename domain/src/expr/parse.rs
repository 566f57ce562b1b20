//! From text to [`Expr`], through minijinja's parser.

use std::fmt;
use std::sync::Arc;

use minijinja::machinery::{Token, Tokenizer, ast, parse_expr};
use minijinja::syntax::SyntaxConfig;
use serde_json::Value;

use super::filter::{Filter, Test};

/// Longest template or condition.
pub(super) const SOURCE_BYTES_MAX: usize = 16 * 1024;

/// Deepest expression. Long chains such as `a + b + c` are as deep as they are long, and everything
/// that walks an expression recurses.
const DEPTH_MAX: usize = 200;
/// Most unary operators in a row.
const UNARY_MAX: usize = 100;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Const(Value),
    /// A name and the constant keys behind it: `nodes.validate.output.size`.
    Path(Vec<Segment>),
    /// A key that is computed: `inputs.list[index]`.
    Item(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Arithmetic(Arithmetic, Box<Expr>, Box<Expr>),
    /// `a < b <= c` means `a < b and b <= c`.
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    If {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Filter(Filter, Box<Expr>, Vec<Expr>),
    Test(Test, Box<Expr>),
    List(Vec<Expr>),
    Map(Vec<(String, Expr)>),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    Key(Arc<str>),
    Index(i64),
}

/// Operators that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Remainder,
    Concat,
}

/// Operators that compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
}

/// Something that an expression reads from its scope.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    pub path: Vec<Segment>,
    /// Its absence is handled: it stands below `default` or `is defined`.
    pub optional: bool,
}

/// Why a text is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("{0}")]
    Syntax(String),
    #[error("statements such as `{{% if %}}` are not supported; use an expression in `{{{{ }}}}`")]
    Statement,
    #[error("{0} is not supported in expressions")]
    Unsupported(String),
    #[error("unknown filter `{name}`; known filters: {}", Filter::NAMES.join(", "))]
    UnknownFilter { name: String },
    #[error("unknown test `is {name}`; known tests: {}", Test::NAMES.join(", "))]
    UnknownTest { name: String },
    #[error("filter `{name}` takes {expected}, not {found}")]
    WrongArguments {
        name: &'static str,
        expected: &'static str,
        found: usize,
    },
    #[error("the text is longer than {SOURCE_BYTES_MAX} bytes")]
    TooLong,
    #[error("more than {DEPTH_MAX} operations hang on each other; split the expression")]
    TooDeep,
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

impl Segment {
    /// The key, if it is one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Index(_) => None,
        }
    }
}

/// Parses one expression, such as a `when:` condition.
pub fn parse(source: &str) -> Result<Expr, ParseError> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(ParseError::TooLong);
    }
    check_unary_runs(source, true)?;
    let tree = parse_expr(source).map_err(syntax_error)?;
    Expr::from_tree(&tree, 0)
}

/// Refuses long rows of `-` and `not`, by which minijinja's parser would recurse without limit.
pub(super) fn check_unary_runs(source: &str, is_expression: bool) -> Result<(), ParseError> {
    let mut tokens = Tokenizer::new(source, "", is_expression, SyntaxConfig::default());
    let mut run = 0;
    // What the tokenizer refuses, the parser will explain.
    while let Ok(Some((token, _))) = tokens.next_token() {
        run = match token {
            Token::Minus | Token::Ident("not") => run + 1,
            _ => 0,
        };
        if run > UNARY_MAX {
            return Err(ParseError::TooDeep);
        }
    }
    Ok(())
}

pub(super) fn syntax_error(error: minijinja::Error) -> ParseError {
    ParseError::Syntax(error.detail().unwrap_or("syntax error").to_owned())
}

impl Expr {
    /// Everything that the expression reads.
    pub fn references(&self, found: &mut Vec<Reference>) {
        self.collect(false, found);
    }

    fn collect(&self, optional: bool, found: &mut Vec<Reference>) {
        match self {
            Self::Const(_) => {}
            Self::Path(path) => found.push(Reference {
                path: path.clone(),
                optional,
            }),
            Self::Not(a) | Self::Negate(a) => a.collect(optional, found),
            Self::Item(a, b) | Self::And(a, b) | Self::Or(a, b) | Self::Arithmetic(_, a, b) => {
                a.collect(optional, found);
                b.collect(optional, found);
            }
            Self::Compare(first, rest) => {
                first.collect(optional, found);
                rest.iter().for_each(|(_, e)| e.collect(optional, found));
            }
            Self::If {
                test,
                then,
                otherwise,
            } => {
                for part in [test, then, otherwise] {
                    part.collect(optional, found);
                }
            }
            Self::Filter(filter, inner, args) => {
                inner.collect(optional || *filter == Filter::Default, found);
                args.iter().for_each(|e| e.collect(optional, found));
            }
            Self::Test(test, inner) => inner.collect(optional || test.takes_undefined(), found),
            Self::List(items) => items.iter().for_each(|e| e.collect(optional, found)),
            Self::Map(entries) => entries.iter().for_each(|(_, e)| e.collect(optional, found)),
        }
    }

    pub(super) fn from_tree(tree: &ast::Expr<'_>, depth: usize) -> Result<Self, ParseError> {
        if depth > DEPTH_MAX {
            return Err(ParseError::TooDeep);
        }
        let depth = depth + 1;
        let boxed = |e: &ast::Expr<'_>| Self::from_tree(e, depth).map(Box::new);
        Ok(match tree {
            ast::Expr::Var(var) => Self::Path(vec![Segment::Key(var.id.into())]),
            ast::Expr::Const(constant) => Self::Const(constant_value(&constant.value)?),
            ast::Expr::GetAttr(get) => {
                Self::from_tree(&get.expr, depth)?.at(Self::Const(get.name.into()))
            }
            ast::Expr::GetItem(get) => {
                Self::from_tree(&get.expr, depth)?.at(Self::from_tree(&get.subscript_expr, depth)?)
            }
            ast::Expr::UnaryOp(op) => match op.op {
                ast::UnaryOpKind::Not => Self::Not(boxed(&op.expr)?),
                ast::UnaryOpKind::Neg => Self::Negate(boxed(&op.expr)?),
            },
            ast::Expr::BinOp(op) => binary(op.op, boxed(&op.left)?, boxed(&op.right)?)?,
            ast::Expr::Compare(chain) => {
                let rest = chain
                    .ops
                    .iter()
                    .map(|op| Ok((comparison(op.op), Self::from_tree(&op.expr, depth)?)));
                Self::Compare(boxed(&chain.expr)?, rest.collect::<Result<_, _>>()?)
            }
            ast::Expr::IfExpr(choice) => Self::If {
                test: boxed(&choice.test_expr)?,
                then: boxed(&choice.true_expr)?,
                otherwise: match &choice.false_expr {
                    Some(e) => boxed(e)?,
                    None => Box::new(Self::Const(Value::Null)),
                },
            },
            ast::Expr::Filter(filter) => filter_call(filter, depth)?,
            ast::Expr::Test(test) => {
                if !test.args.is_empty() {
                    return Err(ParseError::Unsupported("a test with arguments".to_owned()));
                }
                let known = Test::find(test.name).ok_or_else(|| ParseError::UnknownTest {
                    name: test.name.to_owned(),
                })?;
                Self::Test(known, boxed(&test.expr)?)
            }
            ast::Expr::List(list) => Self::List(many(&list.items, depth)?),
            ast::Expr::Tuple(tuple) => Self::List(many(&tuple.items, depth)?),
            ast::Expr::Map(map) => Self::Map(map_entries(map, depth)?),
            ast::Expr::Slice(_) => return Err(ParseError::Unsupported("a slice".to_owned())),
            ast::Expr::Call(_) => {
                return Err(ParseError::Unsupported("a function call".to_owned()));
            }
        })
    }

    /// `self[key]`, folded into the path when both are constant.
    fn at(self, key: Self) -> Self {
        match (self, key) {
            (Self::Path(mut path), Self::Const(Value::String(key))) => {
                path.push(Segment::Key(key.into()));
                Self::Path(path)
            }
            (Self::Path(mut path), Self::Const(Value::Number(n))) if n.is_i64() => {
                path.push(Segment::Index(n.as_i64().unwrap_or_default()));
                Self::Path(path)
            }
            (inner, key) => Self::Item(Box::new(inner), Box::new(key)),
        }
    }
}

fn many(trees: &[ast::Expr<'_>], depth: usize) -> Result<Vec<Expr>, ParseError> {
    trees
        .iter()
        .map(|tree| Expr::from_tree(tree, depth))
        .collect()
}

fn map_entries(map: &ast::Map<'_>, depth: usize) -> Result<Vec<(String, Expr)>, ParseError> {
    map.keys
        .iter()
        .zip(&map.values)
        .map(|(key, value)| match Expr::from_tree(key, depth)? {
            Expr::Const(Value::String(key)) => Ok((key, Expr::from_tree(value, depth)?)),
            _ => Err(ParseError::Unsupported(
                "an object key that is not a string".to_owned(),
            )),
        })
        .collect()
}

fn filter_call(call: &ast::Filter<'_>, depth: usize) -> Result<Expr, ParseError> {
    let filter = Filter::find(call.name).ok_or_else(|| ParseError::UnknownFilter {
        name: call.name.to_owned(),
    })?;
    let inner = call
        .expr
        .as_ref()
        .ok_or_else(|| ParseError::Unsupported("a filter block".to_owned()))?;
    let args: Vec<Expr> = call
        .args
        .iter()
        .map(|arg| match arg {
            ast::CallArg::Pos(e) => Expr::from_tree(e, depth),
            _ => Err(ParseError::Unsupported("a named argument".to_owned())),
        })
        .collect::<Result<_, _>>()?;
    let (least, most, expected) = filter.arity();
    if args.len() < least || args.len() > most {
        return Err(ParseError::WrongArguments {
            name: filter.name(),
            expected,
            found: args.len(),
        });
    }
    Ok(Expr::Filter(
        filter,
        Box::new(Expr::from_tree(inner, depth)?),
        args,
    ))
}

fn binary(op: ast::BinOpKind, left: Box<Expr>, right: Box<Expr>) -> Result<Expr, ParseError> {
    use ast::BinOpKind as B;
    let compare = |op, left, right: Box<Expr>| Expr::Compare(left, vec![(op, *right)]);
    Ok(match op {
        B::ScAnd => Expr::And(left, right),
        B::ScOr => Expr::Or(left, right),
        B::Add => Expr::Arithmetic(Arithmetic::Add, left, right),
        B::Sub => Expr::Arithmetic(Arithmetic::Subtract, left, right),
        B::Mul => Expr::Arithmetic(Arithmetic::Multiply, left, right),
        B::Div => Expr::Arithmetic(Arithmetic::Divide, left, right),
        B::FloorDiv => Expr::Arithmetic(Arithmetic::FloorDivide, left, right),
        B::Rem => Expr::Arithmetic(Arithmetic::Remainder, left, right),
        B::Concat => Expr::Arithmetic(Arithmetic::Concat, left, right),
        B::Eq => compare(Comparison::Equal, left, right),
        B::Ne => compare(Comparison::NotEqual, left, right),
        B::Lt => compare(Comparison::Less, left, right),
        B::Lte => compare(Comparison::LessOrEqual, left, right),
        B::Gt => compare(Comparison::Greater, left, right),
        B::Gte => compare(Comparison::GreaterOrEqual, left, right),
        B::In => compare(Comparison::In, left, right),
        B::Pow => {
            return Err(ParseError::Unsupported(
                "the power operator `**`".to_owned(),
            ));
        }
    })
}

fn comparison(op: ast::CompareOpKind) -> Comparison {
    use ast::CompareOpKind as C;
    match op {
        C::Eq => Comparison::Equal,
        C::Ne => Comparison::NotEqual,
        C::Lt => Comparison::Less,
        C::Lte => Comparison::LessOrEqual,
        C::Gt => Comparison::Greater,
        C::Gte => Comparison::GreaterOrEqual,
        C::In => Comparison::In,
        C::NotIn => Comparison::NotIn,
    }
}

fn constant_value(value: &minijinja::Value) -> Result<Value, ParseError> {
    let unsupported = || ParseError::Unsupported(format!("the constant `{value}`"));
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Some(text) = value.as_str() {
        return Ok(text.into());
    }
    if let Ok(flag) = bool::try_from(value.clone())
        && matches!(value.kind(), minijinja::value::ValueKind::Bool)
    {
        return Ok(flag.into());
    }
    if value.is_integer() {
        return i64::try_from(value.clone())
            .map(Value::from)
            .map_err(|_| unsupported());
    }
    f64::try_from(value.clone())
        .ok()
        .and_then(serde_json::Number::from_f64)
        .map(Value::Number)
        .ok_or_else(unsupported)
}
