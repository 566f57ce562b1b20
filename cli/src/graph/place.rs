//! Where the vertices of each layer stand from left to right.
//!
//! Each vertex wants to stand below or above its neighbours; a layer is then spread so that nothing
//! overlaps and the sum of squared wishes missed is smallest (pool adjacent violators). At the end
//! whatever has one way in and one way out is put in a straight line with its neighbours, as far as
//! the room between its neighbours to the left and right allows.

use super::order::{Layers, Vertex, float};

/// Free space between two vertices of a layer.
pub(super) const GAP: f64 = 28.0;

/// Sweeps of the placing; each goes down and up once.
const SWEEPS: usize = 10;

/// Passes of the straightening: what one line gives way, the next may use.
const STRAIGHTENINGS: usize = 4;

/// The middle of each vertex, the leftmost edge being 0.
pub(super) fn middles(layers: &Layers) -> Vec<f64> {
    let vertices = &layers.vertices;
    let mut x = vec![0.0; vertices.len()];
    for row in &layers.rows {
        spread(vertices, row, &vec![0.0; row.len()], &mut x);
    }
    for sweep in 0..SWEEPS {
        for row in &layers.rows {
            settle(vertices, row, &mut x, |v| (&v.above, &[]));
        }
        for row in layers.rows.iter().rev() {
            settle(vertices, row, &mut x, |v| (&v.below, &[]));
        }
        if sweep + 1 == SWEEPS {
            for row in &layers.rows {
                settle(vertices, row, &mut x, |v| (&v.above, &v.below));
            }
        }
    }
    for _ in 0..STRAIGHTENINGS {
        for run in runs(vertices) {
            straighten(layers, &run, &mut x);
        }
    }
    let left = vertices.iter().zip(&x).map(|(v, x)| x - v.width / 2.0);
    let least = left.fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        x.iter_mut().for_each(|x| *x -= least);
    }
    x
}

type Neighbours<'v> = (&'v [usize], &'v [usize]);

/// Moves a row towards its neighbours.
fn settle(
    vertices: &[Vertex],
    row: &[usize],
    x: &mut [f64],
    neighbours: impl Fn(&Vertex) -> Neighbours<'_>,
) {
    let place = |ix: usize| x.get(ix).copied().unwrap_or_default();
    let wishes: Vec<f64> = row
        .iter()
        .map(|&ix| {
            let (some, more) = vertices.get(ix).map_or((&[][..], &[][..]), &neighbours);
            let all = some.iter().chain(more);
            let count = some.len() + more.len();
            if count == 0 {
                place(ix)
            } else {
                all.map(|&n| place(n)).sum::<f64>() / float(count)
            }
        })
        .collect();
    spread(vertices, row, &wishes, x);
}

/// A run of vertices that touch: its weight, and the place of its start that suits it best.
struct Block {
    weight: f64,
    sum: f64,
    count: usize,
}

/// Puts a row as near to its wishes as its widths allow.
fn spread(vertices: &[Vertex], row: &[usize], wishes: &[f64], x: &mut [f64]) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut offsets = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    let mut last_half = None;
    for (&ix, wish) in row.iter().zip(wishes) {
        let Some(vertex) = vertices.get(ix) else {
            continue;
        };
        let half = vertex.width / 2.0;
        offset += last_half.map_or(0.0, |last: f64| last + GAP + half);
        last_half = Some(half);
        offsets.push(offset);
        // Long arrows look best straight, so their points insist more.
        let weight = if vertex.is_point { 2.0 } else { 1.0 };
        let mut block = Block {
            weight,
            sum: weight * (wish - offset),
            count: 1,
        };
        while let Some(before) = blocks.pop_if(|b| b.sum / b.weight > block.sum / block.weight) {
            block.weight += before.weight;
            block.sum += before.sum;
            block.count += before.count;
        }
        blocks.push(block);
    }
    let starts = blocks
        .iter()
        .flat_map(|b| std::iter::repeat_n(b.sum / b.weight, b.count));
    for ((&ix, offset), start) in row.iter().zip(offsets).zip(starts) {
        if let Some(x) = x.get_mut(ix) {
            *x = start + offset;
        }
    }
}

/// Ways down on which nothing joins and nothing leaves, longest part each.
fn runs(vertices: &[Vertex]) -> Vec<Vec<usize>> {
    let next = |ix: usize| match vertices.get(ix)?.below.as_slice() {
        &[next] if vertices.get(next)?.above.len() == 1 => Some(next),
        _ => None,
    };
    let mut inside = vec![false; vertices.len()];
    for next in (0..vertices.len()).filter_map(next) {
        if let Some(inside) = inside.get_mut(next) {
            *inside = true;
        }
    }
    let starts = (0..vertices.len()).filter(|ix| inside.get(*ix) == Some(&false));
    let run = |start| std::iter::successors(Some(start), |ix| next(*ix)).collect();
    starts
        .map(run)
        .filter(|run: &Vec<usize>| run.len() > 1)
        .collect()
}

/// Puts the vertices of a run below each other; where that is not possible, with as few steps as can be.
fn straighten(layers: &Layers, run: &[usize], x: &mut [f64]) {
    let mut part: Vec<usize> = Vec::new();
    let mut room = (f64::NEG_INFINITY, f64::INFINITY);
    for &ix in run {
        let (least, most) = room_of(layers, ix, x);
        let common = (least.max(room.0), most.min(room.1));
        if common.0 <= common.1 {
            room = common;
        } else {
            align(&part, room, x);
            part.clear();
            room = (least, most);
        }
        part.push(ix);
    }
    align(&part, room, x);
}

fn align(part: &[usize], (least, most): (f64, f64), x: &mut [f64]) {
    let sum: f64 = part.iter().filter_map(|ix| x.get(*ix)).sum();
    let middle = (sum / float(part.len().max(1))).max(least).min(most);
    for ix in part {
        if let Some(x) = x.get_mut(*ix) {
            *x = middle;
        }
    }
}

/// How far a vertex may move before it comes too near to its neighbours in the layer.
fn room_of(layers: &Layers, ix: usize, x: &[f64]) -> (f64, f64) {
    let vertices = &layers.vertices;
    let half = |ix: usize| vertices.get(ix).map_or(0.0, |v| v.width / 2.0);
    let at = |ix: usize| x.get(ix).copied().unwrap_or_default();
    let layer = vertices.get(ix).map_or(0, |v| v.layer);
    let row = layers.rows.get(layer).map_or(&[][..], |row| row);
    let place = row.iter().position(|other| *other == ix).unwrap_or(0);
    let left = place.checked_sub(1).and_then(|left| row.get(left));
    let right = row.get(place + 1);
    (
        left.map_or(f64::NEG_INFINITY, |&l| at(l) + half(l) + GAP + half(ix)),
        right.map_or(f64::INFINITY, |&r| at(r) - half(r) - GAP - half(ix)),
    )
}
