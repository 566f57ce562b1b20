// A plain picture of a large graph, in milliseconds: each node in the layer after its last predecessor, layers ordered by where the
// predecessors are. ELK would find a better one, in many seconds.
import type { Shape } from '../queries';
import type { Direction, Layout, Place } from './layout';

const GAP = { along: 60, across: 24 };

export function inLayers(shape: Shape, direction: Direction, size: (kind: string) => { width: number; height: number }): Layout {
  const after = new Map<string, string[]>(shape.nodes.map(({ id }) => [id, []]));
  const before = new Map<string, string[]>(shape.nodes.map(({ id }) => [id, []]));
  for (const { from, to } of shape.edges) {
    after.get(from)?.push(to);
    before.get(to)?.push(from);
  }
  const layers: string[][] = [];
  const open = new Map([...before].map(([id, ids]) => [id, ids.length]));
  let layer = shape.nodes.filter(({ id }) => open.get(id) === 0).map(({ id }) => id);
  const rank = new Map<string, number>();
  while (layer.length > 0) {
    const weight = (id: string) => {
      const ranks = (before.get(id) ?? []).map((other) => rank.get(other) ?? 0);
      return ranks.length === 0 ? 0 : ranks.reduce((sum, one) => sum + one, 0) / ranks.length;
    };
    const weights = new Map(layer.map((id) => [id, weight(id)]));
    layer.sort((a, b) => (weights.get(a) ?? 0) - (weights.get(b) ?? 0));
    for (const [index, id] of layer.entries()) rank.set(id, index - layer.length / 2);
    layers.push(layer);
    const next: string[] = [];
    for (const to of layer.flatMap((id) => after.get(id) ?? [])) {
      const left = (open.get(to) ?? 0) - 1;
      open.set(to, left);
      if (left === 0) next.push(to);
    }
    layer = next;
  }
  return { places: placed(shape, layers, direction, size), ways: new Map() };
}

function placed(
  shape: Shape,
  layers: readonly string[][],
  direction: Direction,
  size: (kind: string) => { width: number; height: number },
): Map<string, Place> {
  const kinds = new Map(shape.nodes.map(({ id, kind }) => [id, kind]));
  const step = size('task');
  const isAcross = direction === 'RIGHT';
  const [along, across] = isAcross ? [step.width + GAP.along, step.height + GAP.across] : [step.height + GAP.along, step.width + GAP.across];
  const widest = Math.max(...layers.map((ids) => ids.length));
  const places = new Map<string, Place>();
  layers.forEach((ids, depth) => {
    const offset = ((widest - ids.length) * across) / 2;
    ids.forEach((id, index) => {
      const own = size(kinds.get(id) ?? 'task');
      const [far, wide] = [depth * along, offset + index * across];
      const [x, y] = isAcross ? [far, wide] : [wide, far];
      places.set(id, { x: x + (step.width - own.width) / 2, y: y + (step.height - own.height) / 2, ...own });
    });
  });
  return places;
}
