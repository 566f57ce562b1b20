//! Who stands in which layer, and in which order: layers by longest path, order by barycenters.
//!
//! An arrow over several layers gets a point in each layer between, so that it has a place of its own
//! there and crosses no box. The label of an arrow is such a point with a width.

use super::picture::Picture;

/// Sweeps of the ordering; each goes down and up once.
const SWEEPS: usize = 6;

/// A box or a point of an arrow, in one layer.
pub(super) struct Vertex {
    pub(super) layer: usize,
    pub(super) width: f64,
    pub(super) height: f64,
    /// Neighbours in the layer above and in the layer below.
    pub(super) above: Vec<usize>,
    pub(super) below: Vec<usize>,
    pub(super) is_point: bool,
}

/// The layers from the top. Vertices below the number of nodes are those nodes.
pub(super) struct Layers {
    pub(super) vertices: Vec<Vertex>,
    pub(super) rows: Vec<Vec<usize>>,
    /// The vertices of each edge, from its start to its end.
    pub(super) chains: Vec<Vec<usize>>,
}

/// Width and height of the nodes and of the labels, in the order of the picture.
pub(super) struct Sizes {
    pub(super) nodes: Vec<(f64, f64)>,
    pub(super) labels: Vec<Option<(f64, f64)>>,
    /// Width of the lane of an arrow that passes a layer.
    pub(super) lane: f64,
}

pub(super) fn layers(picture: &Picture, sizes: &Sizes) -> Layers {
    let layer_of = longest_paths(picture);
    let mut vertices: Vec<Vertex> = layer_of
        .iter()
        .zip(&sizes.nodes)
        .map(|(&layer, &size)| vertex(layer, size, false))
        .collect();
    let mut chains = Vec::with_capacity(picture.edges.len());
    for (edge, label) in picture.edges.iter().zip(&sizes.labels) {
        let (from, to) = (at(&layer_of, edge.from), at(&layer_of, edge.to));
        let mut chain = vec![edge.from];
        for layer in from + 1..to {
            let label = label.filter(|_| layer == from + 1);
            chain.push(vertices.len());
            vertices.push(vertex(layer, label.unwrap_or((sizes.lane, 0.0)), true));
        }
        chain.push(edge.to);
        for pair in chain.windows(2) {
            if let &[upper, lower] = pair {
                link(&mut vertices, upper, lower);
            }
        }
        chains.push(chain);
    }
    let mut rows = vec![Vec::new(); layer_of.iter().max().map_or(0, |last| last + 1)];
    for (ix, vertex) in vertices.iter().enumerate() {
        if let Some(row) = rows.get_mut(vertex.layer) {
            row.push(ix);
        }
    }
    let rows = with_few_crossings(&vertices, rows);
    Layers {
        vertices,
        rows,
        chains,
    }
}

fn vertex(layer: usize, (width, height): (f64, f64), is_point: bool) -> Vertex {
    Vertex {
        layer,
        width,
        height,
        above: Vec::new(),
        below: Vec::new(),
        is_point,
    }
}

fn link(vertices: &mut [Vertex], upper: usize, lower: usize) {
    if let Some(vertex) = vertices.get_mut(upper) {
        vertex.below.push(lower);
    }
    if let Some(vertex) = vertices.get_mut(lower) {
        vertex.above.push(upper);
    }
}

fn at(list: &[usize], ix: usize) -> usize {
    list.get(ix).copied().unwrap_or_default()
}

/// The layer of each node: as deep as its longest way from the start. A label needs a layer too.
fn longest_paths(picture: &Picture) -> Vec<usize> {
    let mut layers = vec![0; picture.nodes.len()];
    // Nodes stand in topological order, so a node's own layer is known before its arrows are followed.
    let mut edges: Vec<_> = picture.edges.iter().collect();
    edges.sort_by_key(|edge| edge.from);
    for edge in edges {
        let below = at(&layers, edge.from) + 1 + usize::from(edge.label.is_some());
        if let Some(layer) = layers.get_mut(edge.to) {
            *layer = below.max(*layer);
        }
    }
    layers
}

/// The best order that a few barycenter sweeps find.
fn with_few_crossings(vertices: &[Vertex], mut rows: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut best = rows.clone();
    let mut fewest = crossings(vertices, &rows);
    for _ in 0..SWEEPS {
        if fewest == 0 {
            break;
        }
        for layer in 1..rows.len() {
            sort_row(vertices, &mut rows, layer, layer - 1);
        }
        for layer in (1..rows.len()).rev() {
            sort_row(vertices, &mut rows, layer - 1, layer);
        }
        let found = crossings(vertices, &rows);
        if found < fewest {
            fewest = found;
            best.clone_from(&rows);
        }
    }
    best
}

/// Sorts a row by the mean place of each vertex's neighbours in the row `beside` it.
fn sort_row(vertices: &[Vertex], rows: &mut [Vec<usize>], row: usize, beside: usize) {
    let places = places(vertices, rows.get(beside).map_or(&[][..], |r| r));
    let Some(sorted) = rows.get_mut(row) else {
        return;
    };
    let mut keyed: Vec<(f64, usize)> = sorted
        .iter()
        .enumerate()
        .map(|(own, &ix)| {
            let neighbours = vertices
                .get(ix)
                .map_or(&[][..], |v| if beside < row { &v.above } else { &v.below });
            let sum: f64 = neighbours.iter().map(|&n| float(at(&places, n))).sum();
            let mean = if neighbours.is_empty() {
                float(own)
            } else {
                sum / float(neighbours.len())
            };
            (mean, ix)
        })
        .collect();
    // Stable, so that equal means keep their order and the picture stays the same.
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    *sorted = keyed.into_iter().map(|(_, ix)| ix).collect();
}

fn places(vertices: &[Vertex], row: &[usize]) -> Vec<usize> {
    let mut places = vec![0; vertices.len()];
    for (place, &ix) in row.iter().enumerate() {
        if let Some(slot) = places.get_mut(ix) {
            *slot = place;
        }
    }
    places
}

/// How many arrows cross, over all layers.
fn crossings(vertices: &[Vertex], rows: &[Vec<usize>]) -> usize {
    let mut count = 0;
    for pair in rows.windows(2) {
        let [upper, lower] = pair else { continue };
        let below = places(vertices, lower);
        let ends: Vec<Vec<usize>> = upper
            .iter()
            .map(|&ix| {
                let below_it = vertices.get(ix).map_or(&[][..], |v| &v.below);
                below_it.iter().map(|&n| at(&below, n)).collect()
            })
            .collect();
        for (ix, left) in ends.iter().enumerate() {
            let right = ends.iter().skip(ix + 1).flatten();
            count += right
                .map(|end| left.iter().filter(|l| *l > end).count())
                .sum::<usize>();
        }
    }
    count
}

/// Counts are far below the precision of a float.
pub(super) fn float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
