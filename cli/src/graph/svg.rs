//! The picture as SVG, drawn without outside programs.
//!
//! Types are told by outline, icon and word; colour only helps. The text is escaped, and the same
//! workflow always gives the same bytes.

use std::fmt::Write as _;

use super::layout::{
    ICON, LINE_SIZE, Layout, NAME_SIZE, Rect, Route, SHEETS, SLOPE, lay_out, text_width,
};
use super::picture::{Item, Picture, Shape};

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

struct Svg(String);

impl Svg {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
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

    /// Draws the outline and says where the front of the box is.
    fn outline(&mut self, shape: Shape, rect: Rect) -> Rect {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        let (right, bottom) = (x + width, y + height);
        let fill = match shape {
            Shape::Start | Shape::End => "#e3e7eb",
            Shape::Task => "#e6f0fb",
            Shape::Conditional => "#fdf3d7",
            Shape::FanOut => "#e7f5ea",
            Shape::FanIn => "#f3e9f8",
        };
        match shape {
            Shape::Start | Shape::End => self.sheet(rect, height / 2.0, fill),
            Shape::Task => self.sheet(rect, 6.0, fill),
            Shape::FanOut => {
                let sheet = |by: f64| Rect {
                    x: x + by,
                    y: y + by,
                    width: width - SHEETS,
                    height: height - SHEETS,
                };
                for by in [SHEETS, SHEETS / 2.0, 0.0] {
                    self.sheet(sheet(by), 6.0, fill);
                }
                return sheet(0.0);
            }
            Shape::Conditional => {
                let (_, middle) = rect.middle();
                let (near, far) = (x + SLOPE, right - SLOPE);
                self.line(format_args!(
                    "<path class=\"box\" fill=\"{fill}\" d=\"M{x:.1} {middle:.1}L{near:.1} {y:.1}H{far:.1}\
                     L{right:.1} {middle:.1}L{far:.1} {bottom:.1}H{near:.1}z\"/>"
                ));
            }
            Shape::FanIn => {
                let (near, far) = (x + SLOPE, right - SLOPE);
                self.line(format_args!(
                    "<path class=\"box\" fill=\"{fill}\" d=\"M{x:.1} {y:.1}H{right:.1}L{far:.1} {bottom:.1}\
                     H{near:.1}z\"/>"
                ));
            }
        }
        rect
    }

    fn sheet(&mut self, rect: Rect, radius: f64, fill: &str) {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        self.line(format_args!(
            "<rect class=\"box\" fill=\"{fill}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"{radius:.1}\"/>"
        ));
    }

    /// A sign around the point (x, y), about 16 wide.
    fn icon(&mut self, shape: Shape, x: f64, y: f64) {
        let place = format!("transform=\"translate({x:.1} {y:.1})\"");
        let path = match shape {
            Shape::Start => "<path class=\"solid\" d=\"M-5 -7L7 0L-5 7z\" @/>",
            Shape::End => "<path class=\"solid\" d=\"M-6 -6H6V6H-6z\" @/>",
            // A cog: a ring with eight teeth.
            Shape::Task => {
                "<path class=\"icon\" d=\"M0 -4A4 4 0 1 1 0 4A4 4 0 1 1 0 -4M0 -7.5V-5M0 7.5V5\
                 M-7.5 0H-5M7.5 0H5M-5.3 -5.3L-3.6 -3.6M5.3 5.3L3.6 3.6M-5.3 5.3L-3.6 3.6M5.3 -5.3L3.6 -3.6\" @/>"
            }
            // A fork in the road, one arrow out of two, one into many, many into one.
            Shape::Conditional => {
                "<path class=\"icon\" d=\"M-7 0H-2L5 -6M-2 0L5 6M1.5 -6H5V-2.5M1.5 6H5V2.5\" @/>"
            }
            Shape::FanOut => "<path class=\"icon\" d=\"M-7 0H7M-3 0L7 -6M-3 0L7 6\" @/>",
            Shape::FanIn => "<path class=\"icon\" d=\"M-7 0H7M-7 -6L3 0M-7 6L3 0\" @/>",
        };
        self.line(format_args!("{}", path.replace('@', &place)));
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

/// How far the content of a box stands off because of its outline.
fn inset(shape: Shape) -> f64 {
    match shape {
        Shape::Start | Shape::End => 5.0,
        Shape::Task | Shape::FanOut => 0.0,
        Shape::Conditional | Shape::FanIn => SLOPE,
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
