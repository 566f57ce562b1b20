//! What expressions, templates and conditions mean.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::*;

struct Vars(Value);

impl Scope for Vars {
    fn find(&self, path: &[Segment]) -> Option<(Cow<'_, Value>, usize)> {
        let value = self.0.get(path.first()?.key()?)?;
        Some((Cow::Borrowed(value), 1))
    }
}

fn vars() -> Vars {
    Vars(json!({
        "inputs": {"n": 3, "f": 2.5, "s": "Data/file.tif", "list": [1, 2, 3], "none": null,
                   "obj": {"items": 1, "keys": 2, "values": 3}, "flag": true},
        "index": 1,
        "nodes": {"a": {"output": {"size": 99}}},
    }))
}

fn render(template: Value) -> Result<Value, EvalError> {
    let template = Template::compile(&template).expect("the template compiles");
    template.render(&vars(), &mut Budget::default())
}

#[track_caller]
fn check(template: &str, expected: Value) {
    assert_eq!(render(json!(template)), Ok(expected), "{template}");
}

#[track_caller]
fn fails(template: &str, message: &str) {
    let error = render(json!(template)).expect_err(template).to_string();
    assert!(error.contains(message), "{template}: {error}");
}

#[test]
fn a_lone_expression_keeps_its_json_type() {
    check("{{ inputs.n }}", json!(3));
    check("{{ inputs.list }}", json!([1, 2, 3]));
    check(
        "{{ inputs.obj }}",
        json!({"items": 1, "keys": 2, "values": 3}),
    );
    check("{{ inputs.none }}", json!(null));
    check("{{ inputs.flag }}", json!(true));
    check(
        "n={{ inputs.n }}, f={{ inputs.f }}\n",
        json!("n=3, f=2.5\n"),
    );
    check("no template", json!("no template"));
}

#[test]
fn keys_named_like_methods_are_ordinary_keys() {
    check(
        "{{ inputs.obj.items }}{{ inputs.obj.keys }}{{ inputs.obj['values'] }}",
        json!("123"),
    );
}

#[test]
fn templates_reach_into_nested_values() {
    let value = json!({"a": ["{{ inputs.n }}", {"b": "x{{ index }}"}], "c": 1});
    assert_eq!(render(value), Ok(json!({"a": [3, {"b": "x1"}], "c": 1})));
}

#[test]
fn arithmetic_is_typed_and_checked() {
    check("{{ 7 // 2 }}", json!(3));
    check("{{ -7 // 2 }}", json!(-4));
    check("{{ 7 // -2 }}", json!(-4));
    check("{{ -7 // -2 }}", json!(3));
    check("{{ 8 // -2 }}", json!(-4));
    check("{{ -7 % 3 }}", json!(2));
    check("{{ 7 / 2 }}", json!(3.5));
    check("{{ inputs.n * 2 + 1 }}", json!(7));
    check("{{ inputs.list[index] }}", json!(2));
    check("{{ inputs.list[-1] }}", json!(3));
    check("{{ 'a' ~ 1 ~ 'b' }}", json!("a1b"));
    fails("{{ 1 // 0 }}", "division by zero");
    fails(
        "{{ 9223372036854775807 * 9223372036854775807 }}",
        "too large",
    );
    fails(
        "{{ 'ab' * 100000000 }}",
        "does not work on a string and a number",
    );
    fails(
        "{{ inputs.list * 3 }}",
        "does not work on a list and a number",
    );
}

#[test]
fn logic_compares_without_coercion() {
    check("{{ inputs.n > 2 and not (inputs.f == 2) }}", json!(true));
    check("{{ 1 == 1.0 }}", json!(true));
    check("{{ 1 < inputs.n <= 3 }}", json!(true));
    check("{{ '2' in ['1', '2'] and 'ile' in inputs.s }}", json!(true));
    check("{{ 'big' if inputs.n > 2 else 'small' }}", json!("big"));
    fails(
        "{{ '10' < 9 }}",
        "`<` does not work on a string and a number",
    );
}

#[test]
fn what_is_missing_is_an_error_unless_a_default_is_given() {
    fails("{{ inputs.missing }}", "`inputs.missing` is not defined");
    fails("{{ nodes.b.output.size }}", "not defined");
    check("{{ inputs.missing.deeper | default('x') }}", json!("x"));
    check("{{ inputs.none | default(5) }}", json!(5));
    check("{{ inputs.missing is defined }}", json!(false));
    check(
        "{{ inputs.n is number and inputs.s is string }}",
        json!(true),
    );
}

#[test]
fn filters_do_what_their_names_say() {
    check("{{ inputs.s | lower | basename }}", json!("file.tif"));
    check("{{ inputs.list | join('-') }}", json!("1-2-3"));
    check("{{ inputs.list | sum }}", json!(6));
    check("{{ inputs.list | max - inputs.list | min }}", json!(2));
    check("{{ '42' | int + 1 }}", json!(43));
    check("{{ 2.345 | round(2) }}", json!(2.35));
    check(
        "{{ inputs.s | replace('/', '_') | upper }}",
        json!("DATA_FILE.TIF"),
    );
    check("{{ 'a,b' | split(',') | length }}", json!(2));
    check(
        "{{ inputs.list | first }}{{ inputs.list | last }}",
        json!("13"),
    );
    fails(
        "{{ inputs.n | lower }}",
        "filter `lower` does not work on a number",
    );
}

#[test]
fn parse_errors_say_what_is_wrong() {
    let error = |text: &str| Template::compile(&json!(text)).expect_err(text).remove(0).1;
    assert!(matches!(
        error("{{ inputs.x | lowr }}"),
        ParseError::UnknownFilter { .. }
    ));
    assert!(matches!(
        error("{{ x is prime }}"),
        ParseError::UnknownTest { .. }
    ));
    assert!(matches!(
        error("{% for i in range(9) %}{% endfor %}"),
        ParseError::Statement
    ));
    assert!(matches!(
        error("{% set x = 1 %}{{ x }}"),
        ParseError::Statement
    ));
    assert!(matches!(
        error("{{ range(10) }}"),
        ParseError::Unsupported(_)
    ));
    assert!(matches!(error("{{ 2 ** 64 }}"), ParseError::Unsupported(_)));
    assert!(matches!(error("{{ inputs. }}"), ParseError::Syntax(_)));
    assert!(matches!(
        error("{{ x | default }}"),
        ParseError::WrongArguments { .. }
    ));
    assert_eq!(parse(&"x".repeat(20_000)), Err(ParseError::TooLong));
}

#[test]
fn references_are_listed_with_their_place() {
    let template =
        json!({"a": "{{ inputs.x | default(nodes.n.output.y) }}", "b": ["{{ item.k }}"]});
    let found = Template::compile(&template).expect("compiles").references();
    let text: Vec<_> = found
        .iter()
        .map(|(at, r)| {
            let path: Vec<_> = r.path.iter().map(ToString::to_string).collect();
            format!("{} {} {}", at.join("."), path.join("."), r.optional)
        })
        .collect();
    assert_eq!(
        text,
        [
            "a inputs.x true",
            "a nodes.n.output.y false",
            "b.0 item.k false"
        ]
    );
}

#[test]
fn runaway_expressions_are_stopped() {
    let wide = format!("{{{{ {} }}}}", vec!["x"; 150].join(" ~ "));
    let template = Template::compile(&json!(wide)).expect("compiles");
    let long = Vars(json!({"x": "y".repeat(5_000)}));
    assert_eq!(
        template.render(&long, &mut Budget::default()),
        Err(EvalError::TooLarge)
    );
    let many: Vec<_> = (0..6_000).map(|_| json!("{{ 1 + 1 }}")).collect();
    assert_eq!(render(Value::Array(many)), Err(EvalError::TooManySteps));
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(5_000), ")".repeat(5_000));
    assert!(Template::compile(&json!(deep)).is_err());
    for unary in ["not ", "-", "- "] {
        let deep = format!("{{{{ {}1 }}}}", unary.repeat(4_000 / unary.len() * 3));
        assert!(Template::compile(&json!(deep)).is_err());
        assert_eq!(
            parse(&format!("{}1", unary.repeat(101))),
            Err(ParseError::TooDeep)
        );
        assert!(parse(&format!("{}1", unary.repeat(50))).is_ok());
    }
    for link in ["+", "~", " or ", "|d(a)|d", ".a", "[a]", " if a else "] {
        let long = format!("a{}", format!("{link}a").repeat(16_000 / (link.len() + 1)));
        let long = long.replace("|d(a)|da", "|d(a)");
        let error = parse(&long).expect_err("a chain of thousands");
        assert!(
            matches!(error, ParseError::TooDeep | ParseError::Syntax(_)),
            "{link}: {error}"
        );
    }
    let big = Vars(json!({"x": "y".repeat(300_000)}));
    let template = Template::compile(&json!(["{{ x }}", "{{ x }}"])).expect("compiles");
    assert_eq!(
        template.render(&big, &mut Budget::default()),
        Err(EvalError::TooLarge)
    );
}

#[test]
fn every_condition_operator_has_its_meaning() {
    let holds = |text: &str, value: Value| {
        Condition::parse(text)
            .unwrap_or_else(|e| panic!("{text}: {e}"))
            .holds(&value)
    };
    for (text, value, expected) in [
        ("< 100", json!(99), true),
        ("< 100", json!(100), false),
        ("<= 100", json!(100), true),
        ("<= 100", json!(101), false),
        (">= 100", json!(100), true),
        (">= 100", json!(99), false),
        ("> 100", json!(101), true),
        ("== 5", json!(5.0), true),
        ("== tif", json!("tif"), true),
        ("== 'tif'", json!("tif"), true),
        ("!= \"tif\"", json!("png"), true),
        ("in [\"a\", \"b\"]", json!("b"), true),
        ("in [a, 'b']", json!("b"), true),
        ("not_in [1, 2]", json!(3), true),
        ("contains err", json!("an error"), true),
        ("contains 3", json!([1, 3]), true),
        ("starts_with EPSG", json!("EPSG:4326"), true),
        ("ends_with .tif", json!("a.tif"), true),
        ("is_null", json!(null), true),
        ("is_not_null", json!(0), true),
        ("true", json!(1), true),
        ("false", json!(""), true),
    ] {
        assert_eq!(
            holds(text, value.clone()),
            Ok(expected),
            "{text} on {value}"
        );
    }
    assert!(
        holds("< 100", json!("99")).is_err(),
        "a wrong type is an error, not false"
    );
    assert!(holds("starts_with x", json!(1)).is_err());
}

#[test]
fn bad_conditions_are_refused() {
    let deep = format!("in {}{}", "[".repeat(400_000), "]".repeat(400_000));
    assert_eq!(Condition::parse(&deep), Err(InvalidCondition::TooLong));
    assert!(Condition::parse(&format!("in {}{}", "[".repeat(2_000), "]".repeat(2_000))).is_ok());
    for text in [
        "",
        "100",
        "~ 3",
        "<",
        "internal",
        "is_null 3",
        "in 3",
        "=> 4",
    ] {
        assert!(Condition::parse(text).is_err(), "{text}");
    }
}
