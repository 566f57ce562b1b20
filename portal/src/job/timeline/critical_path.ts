// The chain of nodes that the length of a job comes from: from the last one to end, back along whoever ended last.
import type { NodeState, Shape } from '../queries';

const ended = (node: NodeState | undefined): number => (node?.completedAt ? Date.parse(node.completedAt) : 0);

export function criticalPath(shape: Shape, nodes: readonly NodeState[]): ReadonlySet<string> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const before = new Map<string, string[]>();
  for (const { from, to } of shape.edges) before.set(to, [...(before.get(to) ?? []), from]);
  const ran = nodes.filter(({ status }) => status === 'COMPLETED' || status === 'FAILED');
  const path = new Set<string>();
  let here = latest(ran);
  while (here && !path.has(here.id)) {
    path.add(here.id);
    const earlier = (before.get(here.id) ?? []).flatMap((id) => byId.get(id) ?? []);
    here = latest(earlier.filter(({ status }) => status === 'COMPLETED'));
  }
  return path;
}

function latest(nodes: readonly NodeState[]): NodeState | undefined {
  let best: NodeState | undefined;
  // Of two that ended together it is the later one in the order of the graph.
  for (const node of nodes) if (!best || ended(node) >= ended(best)) best = node;
  return best;
}
