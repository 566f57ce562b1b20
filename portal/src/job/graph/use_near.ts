// Of a large graph only what is near the view is handed to React Flow: it looks at every node that it has with every step of a drag.
import type { Viewport } from '@xyflow/react';
import { useCallback, useMemo, useState } from 'react';
import type { GraphFlowEdge } from './graph_edge';
import type { GraphFlowNode } from './graph_node';
import type { Room } from './layout';

/** So much of a window is there on each side before somebody drags to it. */
const MARGIN = 0.75;

interface Frame {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function frameOf({ x, y, zoom }: Viewport, { width, height }: Room, margin: number): Frame {
  const [wide, high] = [width / zoom, height / zoom];
  const [left, top] = [-x / zoom, -y / zoom];
  return { left: left - margin * wide, top: top - margin * high, right: left + wide * (1 + margin), bottom: top + high * (1 + margin) };
}

const contains = (outer: Frame, inner: Frame): boolean =>
  outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom;

function isIn({ left, top, right, bottom }: Frame, { position: { x, y }, width = 0, height = 0 }: GraphFlowNode): boolean {
  return x + width >= left && x <= right && y + height >= top && y <= bottom;
}

/** The nodes and edges around the view, and what to call when it moves. */
export function useNear(nodes: GraphFlowNode[], edges: GraphFlowEdge[], begin: Viewport | undefined, room: Room | undefined) {
  const [moved, setMoved] = useState<Frame>();
  const frame = moved ?? (begin && room ? frameOf(begin, room, MARGIN) : undefined);
  const near = useMemo(() => {
    if (!frame) return { nodes, edges };
    const inside = nodes.filter((node) => isIn(frame, node));
    const ids = new Set(inside.map(({ id }) => id));
    return { nodes: inside, edges: edges.filter(({ source, target }) => ids.has(source) && ids.has(target)) };
  }, [nodes, edges, frame]);
  const onMove = useCallback(
    (_: unknown, view: Viewport) => {
      if (!begin || !room) return;
      // Only when the view leaves what is there.
      setMoved((last) => {
        const known = last ?? frameOf(begin, room, MARGIN);
        return contains(known, frameOf(view, room, 0)) && view.zoom >= begin.zoom / 4 ? last : frameOf(view, room, MARGIN);
      });
    },
    [begin, room],
  );
  return { ...near, onMove };
}
