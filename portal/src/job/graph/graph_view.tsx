// The whole graph of a job, from its first second on. Only what is in sight is drawn.
import { Background, Controls, type NodeHandle, Position, ReactFlow, type ReactFlowInstance } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Wait } from '../../ui/notes';
import type { NodeState, Shape } from '../queries';
import './graph.css';
import { GraphEdge, type GraphFlowEdge } from './graph_edge';
import { type GraphFlowNode, GraphNode } from './graph_node';
import { type Direction, type Layout, type Room, useLayout } from './layout';
import { NodeStore, Nodes } from './node_store';
import { Overview } from './overview';
import { useNear } from './use_near';

const nodeTypes = { step: GraphNode };
const edgeTypes = { way: GraphEdge };
const NARROW_PX = 620;
const STEP_PX = 100;
/** Fewer nodes need no small map. */
const OVERVIEW_FROM = 24;
/** With more nodes only a part is drawn at a time: at the least zoom some hundreds fit into the window. */
const LARGE = { from: 800, zoom: 0.3, begin: 0.75 };
const FIT = { padding: { x: '64px', y: '40px' } as const, maxZoom: 1.15, minZoom: 0.03 };

interface Props {
  shape: Shape;
  nodes: readonly NodeState[];
  chosen: string | null;
  onChoose: (id: string | null) => void;
}

export function GraphView({ shape, nodes, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const flow = useRef<ReactFlowInstance<GraphFlowNode, GraphFlowEdge>>(null);
  const [store] = useState(() => new NodeStore());
  const [search, setSearch] = useState('');
  const [direction] = useState<Direction>(() => (innerWidth < NARROW_PX ? 'DOWN' : 'RIGHT'));
  const [room, setRoom] = useState<Room>();
  useLayoutEffect(() => {
    const { clientWidth = 0, clientHeight = 0 } = box.current ?? {};
    // In steps, so that a layout is found again.
    setRoom({ width: Math.max(1, Math.round(clientWidth / STEP_PX)) * STEP_PX, height: Math.max(1, Math.round(clientHeight / STEP_PX)) * STEP_PX });
  }, []);
  const layout = useLayout(shape, direction, room);
  const many = shape.nodes.length;
  const isLarge = many >= LARGE.from;
  useLayoutEffect(() => store.replace(nodes), [store, nodes]);

  const drawn = useMemo(() => drawnNodes(shape, layout, direction), [shape, layout, direction]);
  const edges = useMemo(
    () =>
      shape.edges.map(({ from, to }) => ({
        id: `${from} ${to}`,
        source: from,
        target: to,
        type: 'way' as const,
        data: { way: layout?.ways.get(`${from} ${to}`) },
      })),
    [shape, layout],
  );
  const begin = useMemo(() => (isLarge && layout ? beginning(layout, room) : undefined), [isLarge, layout, room]);
  const near = useNear(drawn, edges, begin, room);
  useLayoutEffect(() => store.mark('chosen', new Set(chosen ? [chosen] : [])), [store, chosen]);

  useEffect(() => {
    const words = search.trim().toLowerCase();
    const found = words ? shape.nodes.filter(({ id }) => id.toLowerCase().includes(words)) : [];
    store.mark('found', new Set(found.map(({ id }) => id)));
    const place = layout?.places.get(found[0]?.id ?? '');
    if (!place) return;
    // Of a large graph the others may not be drawn.
    if (isLarge) flow.current?.setCenter(place.x + place.width / 2, place.y + place.height / 2, { zoom: LARGE.begin });
    else flow.current?.fitView({ nodes: found.map(({ id }) => ({ id })), duration: 250, maxZoom: 1.1 });
  }, [store, shape, search, layout, isLarge]);

  useEffect(() => {
    if (!layout || !box.current) return;
    // The panel beside it came or went.
    const watcher = new ResizeObserver(() => !isLarge && void flow.current?.fitView(FIT));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [layout, isLarge]);

  return (
    <Nodes value={store}>
      <div className="graph card" ref={box} data-graph data-nodes={many} data-laid-out={layout ? true : undefined}>
        {!layout && <Wait what="the graph" />}
        {layout && (
          <ReactFlow<GraphFlowNode, GraphFlowEdge>
            nodes={near.nodes}
            edges={near.edges}
            onMove={near.onMove}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            onInit={(instance) => {
              flow.current = instance;
            }}
            onNodeClick={(_, node) => onChoose(node.id === chosen ? null : node.id)}
            onPaneClick={() => onChoose(null)}
            {...(begin ? { defaultViewport: begin } : { fitView: true, fitViewOptions: FIT })}
            minZoom={isLarge ? LARGE.zoom : FIT.minZoom}
            maxZoom={1.8}
            onlyRenderVisibleElements
            nodesDraggable={false}
            nodesConnectable={false}
            nodesFocusable={false}
            edgesFocusable={false}
            elementsSelectable={false}
            zoomOnDoubleClick={false}
            proOptions={{ hideAttribution: false }}
          >
            <Background gap={22} size={1.2} color="var(--line)" />
            <Controls showInteractive={false} position="bottom-left" />
            {many >= OVERVIEW_FROM && <Overview layout={layout} store={store} onGo={(x, y) => flow.current?.setCenter(x, y, { zoom: 0.8, duration: 250 })} />}
          </ReactFlow>
        )}
        {many > 12 && (
          <input
            className="graph-search"
            type="search"
            placeholder="Find a node  ( / )"
            aria-label="Find a node"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        )}
      </div>
    </Nodes>
  );
}

function drawnNodes(shape: Shape, layout: Layout | undefined, direction: Direction): GraphFlowNode[] {
  if (!layout) return [];
  return shape.nodes.flatMap(({ id, kind, handler }) => {
    const place = layout.places.get(id);
    if (!place) return [];
    const { x, y, width, height } = place;
    const data = { kind, handler, direction };
    // With sizes and handles that are known, only nodes in sight are ever drawn; else each is drawn once to be measured.
    const size = { width, height };
    return [{ id, type: 'step' as const, position: { x, y }, ...size, measured: size, handles: handlesOf(kind, direction, size), data }];
  });
}

function handlesOf(kind: string, direction: Direction, { width, height }: { width: number; height: number }): NodeHandle[] {
  const isAcross = direction === 'RIGHT';
  const [from, to] = isAcross ? [Position.Left, Position.Right] : [Position.Top, Position.Bottom];
  const dot = { width: 1, height: 1 };
  const handles: NodeHandle[] = [
    { type: 'target', position: from, ...dot, x: isAcross ? 0 : width / 2, y: isAcross ? height / 2 : 0 },
    { type: 'source', position: to, ...dot, x: isAcross ? width : width / 2, y: isAcross ? height / 2 : height },
  ];
  return handles.filter(({ type }) => (type === 'target' ? kind !== 'start' : kind !== 'end'));
}

/** A large graph opens where it begins. */
function beginning({ places }: Layout, room: Room | undefined) {
  const [first] = [...places.values()].sort((a, b) => a.x - b.x);
  const y = (room?.height ?? 0) / 2 - (first?.y ?? 0) * LARGE.begin;
  return { x: 40, y, zoom: LARGE.begin };
}
