//! The document as one plain page: no scripts, and nothing from elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}\
    code,pre{font:14px/1.4 ui-monospace,monospace;background:#f4f4f2;border-radius:4px}code{padding:.1em .3em}\
    pre{padding:.8rem;overflow-x:auto}h2{margin-top:2.5rem;border-top:1px solid #ddd;padding-top:1.5rem}\
    .m{font-weight:700;text-transform:uppercase}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem .8rem \
    .2rem 0;vertical-align:top}@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}code,pre{background:#242424}}";

/// The page of a document.
pub(super) fn html(document: &Value) -> String {
    let mut page = String::from("<!doctype html><html lang=en><meta charset=utf-8>");
    let title = text(document.pointer("/info/title"));
    let _ = write!(
        page,
        "<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>"
    );
    let _ = write!(
        page,
        "<p>{}</p>",
        text(document.pointer("/info/description"))
    );
    page.push_str(
        "<p>The same for programs: <a href=/api/openapi.json>/api/openapi.json</a></p><ul>",
    );
    let all: Vec<(&String, &String, &Value)> = operations(document).collect();
    for (path, method, operation) in &all {
        let id = text(operation.get("operationId"));
        let summary = text(operation.get("summary"));
        let path = escape(path);
        let _ = write!(
            page,
            "<li><a href=#{id}><span class=m>{method}</span> <code>{path}</code></a> {summary}"
        );
    }
    page.push_str("</ul>");
    for (path, method, operation) in all {
        section(&mut page, path, method, operation);
    }
    page.push_str("<h2>Schemas</h2>");
    for (name, schema) in document
        .pointer("/components/schemas")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let (name, schema) = (escape(name), json(schema));
        let _ = write!(page, "<h3 id=schema-{name}>{name}</h3><pre>{schema}</pre>");
    }
    page.push_str("</html>");
    page
}

fn operations(document: &Value) -> impl Iterator<Item = (&String, &String, &Value)> {
    let paths = document.get("paths").and_then(Value::as_object);
    paths.into_iter().flatten().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path, method, operation))
    })
}

fn section(page: &mut String, path: &str, method: &str, operation: &Value) {
    let id = text(operation.get("operationId"));
    let path = escape(path);
    let _ = write!(
        page,
        "<h2 id={id}><span class=m>{method}</span> <code>{path}</code></h2>"
    );
    let _ = write!(page, "<p>{}</p>", text(operation.get("summary")));
    let _ = write!(page, "<p>{}</p>", text(operation.get("description")));
    let _ = write!(
        page,
        "<p>Role: {}</p>",
        text(operation.get("x-strata-role"))
    );
    page.push_str("<table>");
    for parameter in operation
        .get("parameters")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let (name, place) = (text(parameter.get("name")), text(parameter.get("in")));
        let about = text(parameter.get("description"));
        let _ = write!(page, "<tr><td><code>{name}</code><td>{place}<td>{about}");
    }
    page.push_str("</table>");
    if let Some(content) = operation.pointer("/requestBody/content/application~1json") {
        let schema = content.get("schema").map(json).unwrap_or_default();
        let _ = write!(page, "<p>Body</p><pre>{schema}</pre>");
        for example in content
            .get("examples")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(|all| all.values())
        {
            let value = example.get("value").map(json).unwrap_or_default();
            let _ = write!(
                page,
                "<p>Example: {}</p><pre>{value}</pre>",
                text(example.get("summary"))
            );
        }
    }
    page.push_str("<table>");
    for (code, response) in operation
        .get("responses")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let schema = response
            .pointer("/content/application~1json/schema/$ref")
            .and_then(Value::as_str);
        let schema = escape(
            schema
                .and_then(|name| name.rsplit('/').next())
                .unwrap_or_default(),
        );
        let about = text(response.get("description"));
        let _ = write!(
            page,
            "<tr><td>{}<td><a href=#schema-{schema}>{schema}</a><td>{about}",
            escape(code)
        );
    }
    page.push_str("</table>");
}

fn json(value: &Value) -> String {
    escape(&serde_json::to_string_pretty(value).unwrap_or_default())
}

fn text(value: Option<&Value>) -> String {
    escape(value.and_then(Value::as_str).unwrap_or_default())
}

fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_shows_every_operation_and_asks_nobody_else() {
        let document = super::super::openapi();
        let page = html(&document);
        for (path, _, operation) in operations(&document) {
            assert!(page.contains(&format!("<code>{path}</code>")), "{path}");
            assert!(page.contains(&format!("id={}", text(operation.get("operationId")))));
        }
        for outside in ["src=", "<script", "<link", "@import", "href=http"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(
            escape("<a href='x'>&\""),
            "&lt;a href=&#39;x&#39;&gt;&amp;&quot;"
        );
    }
}
