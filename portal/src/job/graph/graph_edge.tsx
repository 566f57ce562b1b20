// One arrow: it shows whether the way was taken.
import { BaseEdge, type Edge, type EdgeProps, getSmoothStepPath } from '@xyflow/react';
import { memo } from 'react';
import type { Point } from './layout';
import { useShown } from './node_store';

export type GraphFlowEdge = Edge<{ way: readonly Point[] | undefined }, 'way'>;

const CORNER = 9;

export const GraphEdge = memo(function GraphEdge(props: EdgeProps<GraphFlowEdge>) {
  const from = useShown(props.source).state?.status;
  const to = useShown(props.target).state?.status;
  const points = props.data?.way ?? [];
  const path = points.length > 1 ? rounded(points) : getSmoothStepPath(props)[0];
  const way = from === 'SKIPPED' || to === 'SKIPPED' ? 'left' : from === 'COMPLETED' ? 'taken' : 'open';
  return <BaseEdge path={path} className={`way-${way}`} />;
});

/** A line through these points, round at its corners. */
function rounded(points: readonly Point[]): string {
  const parts = points.map((point, index) => {
    const before = points[index - 1];
    const after = points[index + 1];
    if (!before) return `M${point.x} ${point.y}`;
    if (!after) return `L${point.x} ${point.y}`;
    const start = towards(point, before);
    const end = towards(point, after);
    return `L${start.x} ${start.y}Q${point.x} ${point.y} ${end.x} ${end.y}`;
  });
  return parts.join('');
}

function towards(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const share = Math.min(CORNER, length / 2) / length;
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}
