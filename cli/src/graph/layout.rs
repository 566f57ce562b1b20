//! Sizes and places of everything in the SVG picture. Only numbers; `svg` draws them.

use super::order::{Sizes, float, layers};
use super::picture::{Item, Picture, Shape};
use super::place::middles;

/// Size of the names, and the width of one of their letters: the font is monospaced.
pub(super) const NAME_SIZE: f64 = 14.0;
/// Size of everything else in boxes.
pub(super) const LINE_SIZE: f64 = 12.0;
/// Room for the icon at the left of a box.
pub(super) const ICON: f64 = 26.0;
/// How far the back sheets of a fan-out stand out.
pub(super) const SHEETS: f64 = 8.0;
/// How far the points of a hexagon and the slopes of a funnel stand out.
pub(super) const SLOPE: f64 = 16.0;

const LETTER: f64 = 0.61;
const PADDING: f64 = 14.0;
const LINE_HEIGHT: f64 = 17.0;
const LAYER_GAP: f64 = 40.0;
const LABEL_LAYER_GAP: f64 = 24.0;

/// A rectangle, by its left upper corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An arrow: the corner points between which its curve runs, and the place of its label.
pub(super) struct Route {
    /// Pairs of points; lines inside a pair, curves between pairs.
    pub(super) steps: Vec<[(f64, f64); 2]>,
    pub(super) label: Option<Rect>,
}

pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) height: f64,
    /// One per node of the picture.
    pub(super) boxes: Vec<Rect>,
    /// One per edge of the picture.
    pub(super) routes: Vec<Route>,
}

impl Rect {
    pub(super) fn middle(self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    pub(super) fn bottom(self) -> f64 {
        self.y + self.height
    }
}

pub(super) fn lay_out(picture: &Picture) -> Layout {
    let label_size = |label: &String| (text_width(label, LINE_SIZE) + 12.0, 20.0);
    let sizes = Sizes {
        nodes: picture.nodes.iter().map(box_size).collect(),
        labels: picture
            .edges
            .iter()
            .map(|e| e.label.as_ref().map(label_size))
            .collect(),
        lane: 10.0,
    };
    let layers = layers(picture, &sizes);
    let x = middles(&layers);
    let mut bands = Vec::with_capacity(layers.rows.len());
    let mut y = 0.0;
    for row in &layers.rows {
        let members = || row.iter().filter_map(|ix| layers.vertices.get(*ix));
        let height = members().map(|v| v.height).fold(0.0, f64::max);
        let only_points = members().all(|v| v.is_point);
        // A label belongs to the box above it, so that layer is closer.
        if only_points && y > 0.0 {
            y -= LAYER_GAP - LABEL_LAYER_GAP;
        }
        bands.push((y, height));
        y += height + LAYER_GAP;
    }
    let rect = |ix: usize| {
        let vertex = layers.vertices.get(ix)?;
        let (top, band) = bands.get(vertex.layer)?;
        Some(Rect {
            x: x.get(ix)? - vertex.width / 2.0,
            y: top + (band - vertex.height) / 2.0,
            width: vertex.width,
            height: vertex.height,
        })
    };
    let band = |ix: usize| {
        let layer = layers.vertices.get(ix).map_or(0, |v| v.layer);
        let (top, height) = bands.get(layer).copied().unwrap_or_default();
        (top, top + height)
    };
    let routes = layers.chains.iter().zip(&picture.edges);
    let routes = routes.map(|(chain, edge)| Route {
        steps: steps(chain, &rect, &band),
        label: chain
            .get(1)
            .and_then(|ix| rect(*ix))
            .filter(|_| edge.label.is_some()),
    });
    let right = layers
        .vertices
        .iter()
        .zip(&x)
        .map(|(v, x)| x + v.width / 2.0);
    Layout {
        width: right.fold(0.0, f64::max),
        height: (y - LAYER_GAP).max(0.0),
        boxes: (0..picture.nodes.len()).filter_map(rect).collect(),
        routes: routes.collect(),
    }
}

/// Down through every layer on the way: straight past the boxes, curved only between layers.
fn steps(
    chain: &[usize],
    rect: &impl Fn(usize) -> Option<Rect>,
    band: &impl Fn(usize) -> (f64, f64),
) -> Vec<[(f64, f64); 2]> {
    let last = chain.len().saturating_sub(1);
    let step = |(place, &ix): (usize, &usize)| {
        let rect = rect(ix)?;
        let (x, _) = rect.middle();
        let (top, bottom) = band(ix);
        Some(match place {
            0 => [(x, rect.bottom()), (x, bottom)],
            place if place == last => [(x, top), (x, rect.y)],
            _ => [(x, top), (x, bottom)],
        })
    };
    chain.iter().enumerate().filter_map(step).collect()
}

fn box_size(item: &Item) -> (f64, f64) {
    let name = text_width(&item.short_name(), NAME_SIZE);
    let lines = item.lines.iter().map(|line| text_width(line, LINE_SIZE));
    let text = lines.fold(name, f64::max);
    let extra = match item.shape {
        Shape::Start | Shape::End => 10.0,
        Shape::Task => 0.0,
        Shape::Conditional | Shape::FanIn => 2.0 * SLOPE,
        Shape::FanOut => SHEETS,
    };
    let times = item
        .times
        .as_ref()
        .map_or(0.0, |t| text_width(t, LINE_SIZE) + 22.0);
    let below = match item.shape {
        Shape::FanOut => SHEETS,
        _ => 0.0,
    };
    let height = 20.0 + LINE_HEIGHT * (1.0 + float(item.lines.len())) + below;
    (
        (text + ICON + 2.0 * PADDING + extra + times).max(110.0),
        height,
    )
}

pub(super) fn text_width(text: &str, size: f64) -> f64 {
    float(text.chars().count()) * size * LETTER
}
