//! The picture as SVG, drawn without outside programs.
//!
//! Types are told by outline, icon and word; colour only helps. The text is escaped, and the same
//! workflow always gives the same bytes.

use std::fmt::Write as _;

use super::layout::{ICON, LINE_SIZE, Layout, NAME_SIZE, Rect, Route, lay_out, text_width};
use super::picture::{Item, Picture};
use super::shape::inset;

const MARGIN: f64 = 28.0;
const TITLE: f64 = 52.0;

const STYLE: &str = "\
text { font-family: ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: #1f2933; }\n\
.title { font-family: system-ui, 'DejaVu Sans', sans-serif; font-size: 17px; font-weight: 600; }\n\
.name { font-size: 14px; font-weight: 600; }\n\
.line { font-size: 12px; fill: #52606d; }\n\
.edge { fill: none; stroke: #616e7c; stroke-width: 1.5; }\n\
.box { stroke: #3e4c59; stroke-width: 1.4; stroke-linejoin: round; }\n\
.icon { fill: none; stroke: #3e4c59; stroke-width: 1.6; stroke-linecap: round; stroke-linejoin: round; }\n\
.solid { fill: #3e4c59; }\n";

pub(super) fn draw(picture: &Picture) -> String {
    let layout = lay_out(picture);
    let title = format!("{} · {}", picture.title, picture.id);
    let width = layout.width.max(text_width(&title, 17.0)) + 2.0 * MARGIN;
    let height = layout.height + 2.0 * MARGIN + TITLE;
    // The graph stands in the middle below its title.
    let left = (width - layout.width) / 2.0;
    let mut svg = Svg(String::new());
    svg.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">"
    ));
    svg.line(format_args!("<title>{}</title>", escape(&title)));
    svg.line(format_args!("<style>\n{STYLE}</style>"));
    svg.line(format_args!(
        "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" fill=\"#616e7c\"/></marker></defs>"
    ));
    svg.line(format_args!(
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    ));
    svg.line(format_args!(
        "<text class=\"title\" x=\"{MARGIN:.0}\" y=\"40\">{}</text>",
        escape(&title)
    ));
    svg.line(format_args!(
        "<g transform=\"translate({left:.1} {:.1})\">",
        MARGIN + TITLE
    ));
    svg.content(picture, &layout);
    svg.line(format_args!("</g>\n</svg>"));
    svg.0
}

pub(super) struct Svg(String);

impl Svg {
    pub(super) fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{text}");
    }

    fn content(&mut self, picture: &Picture, layout: &Layout) {
        for route in &layout.routes {
            self.line(format_args!(
                "<path class=\"edge\" d=\"{}\" marker-end=\"url(#arrow)\"/>",
                curve(route)
            ));
        }
        for (edge, route) in picture.edges.iter().zip(&layout.routes) {
            if let (Some(label), Some(rect)) = (&edge.label, route.label) {
                self.label(label, rect);
            }
        }
        for (item, rect) in picture.nodes.iter().zip(&layout.boxes) {
            self.node(item, *rect);
        }
    }

    fn label(&mut self, text: &str, rect: Rect) {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        let (middle, centre) = rect.middle();
        self.line(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" \
             fill=\"#ffffff\" stroke=\"#cbd2d9\"/>"
        ));
        self.line(format_args!(
            "<text class=\"line\" text-anchor=\"middle\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text>",
            centre + 4.0,
            escape(text)
        ));
    }

    fn node(&mut self, item: &Item, rect: Rect) {
        self.line(format_args!("<g><title>{}</title>", escape(&item.name)));
        let front = self.outline(item.shape, rect);
        let text = front.x + inset(item.shape) + ICON + 12.0;
        self.icon(
            item.shape,
            front.x + inset(item.shape) + 20.0,
            front.y + front.height / 2.0,
        );
        let mut y = front.y + 24.0;
        self.line(format_args!(
            "<text class=\"name\" x=\"{text:.1}\" y=\"{y:.1}\">{}</text>",
            escape(&item.short_name())
        ));
        for line in &item.lines {
            y += 17.0;
            self.line(format_args!(
                "<text class=\"line\" x=\"{text:.1}\" y=\"{y:.1}\">{}</text>",
                escape(line)
            ));
        }
        if let Some(times) = &item.times {
            self.badge(times, front);
        }
        self.line(format_args!("</g>"));
    }

    /// The number of children, at the right of a fan-out.
    fn badge(&mut self, text: &str, front: Rect) {
        let width = text_width(text, LINE_SIZE) + 14.0;
        let x = front.x + front.width - width - 8.0;
        let y = front.y + 8.0;
        self.line(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"10\" fill=\"#ffffff\" \
             stroke=\"#3e4c59\"/>"
        ));
        self.line(format_args!(
            "<text class=\"line\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            x + width / 2.0,
            y + NAME_SIZE,
            escape(text)
        ));
    }
}

/// Lines past the layers, curves from layer to layer.
fn curve(route: &Route) -> String {
    let mut path = String::new();
    let mut last: Option<(f64, f64)> = None;
    for [(x, top), (_, bottom)] in &route.steps {
        // Writing to a string cannot fail.
        let _ = match last {
            None => write!(path, "M{x:.1} {top:.1}"),
            Some((from, y)) if (from - x).abs() < 0.5 => {
                let _ = y;
                write!(path, "L{x:.1} {top:.1}")
            }
            Some((from, y)) => {
                let half = (y + top) / 2.0;
                write!(
                    path,
                    "C{from:.1} {half:.1} {x:.1} {half:.1} {x:.1} {top:.1}"
                )
            }
        };
        if (bottom - top).abs() > 0.05 {
            let _ = write!(path, "V{bottom:.1}");
        }
        last = Some((*x, *bottom));
    }
    path
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML has no way to write most of them.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
