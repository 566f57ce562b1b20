// The whole graph of a job, from its first second on. Only what is in sight is drawn.
import { Background, Controls, MiniMap, ReactFlow, type ReactFlowInstance } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Wait } from '../../ui/notes';
import type { NodeState, Shape } from '../queries';
import './graph.css';
import { GraphEdge, type GraphFlowEdge } from './graph_edge';
import { type GraphFlowNode, GraphNode } from './graph_node';
import { type Direction, type Room, useLayout } from './layout';
import { NodeStore, Nodes } from './node_store';

const nodeTypes = { step: GraphNode };
const edgeTypes = { way: GraphEdge };
const NARROW_PX = 620;
const STEP_PX = 100;
/** Fewer nodes need no small map, and of more it would only be a stain. */
const SMALL_MAP = { from: 24, upto: 1_500 };
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
  useLayoutEffect(() => store.replace(nodes), [store, nodes]);

  const drawn = useMemo(() => drawnNodes(shape, layout, direction, chosen, search), [shape, layout, direction, chosen, search]);
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
  const finding = useMemo(() => drawn.filter(({ data }) => data.found).map(({ id }) => ({ id })), [drawn]);

  useEffect(() => {
    if (finding.length > 0) flow.current?.fitView({ nodes: finding, duration: 250, maxZoom: 1.1 });
  }, [finding]);

  useEffect(() => {
    if (!layout || !box.current) return;
    // The panel beside it came or went.
    const watcher = new ResizeObserver(() => void flow.current?.fitView(FIT));
    watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [layout]);

  const many = shape.nodes.length;
  return (
    <Nodes value={store}>
      <div className="graph card" ref={box} data-graph data-nodes={many} data-laid-out={layout ? true : undefined}>
        {!layout && <Wait what="the graph" />}
        {layout && (
          <ReactFlow<GraphFlowNode, GraphFlowEdge>
            nodes={drawn}
            edges={edges}
            nodeTypes={nodeTypes}
            edgeTypes={edgeTypes}
            onInit={(instance) => {
              flow.current = instance;
            }}
            onNodeClick={(_, node) => onChoose(node.id === chosen ? null : node.id)}
            onPaneClick={() => onChoose(null)}
            fitView
            fitViewOptions={FIT}
            minZoom={0.03}
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
            {many >= SMALL_MAP.from && many <= SMALL_MAP.upto && (
              <MiniMap pannable zoomable ariaLabel="The whole graph, small" nodeClassName={(node) => `small-${store.get(node.id)?.status ?? 'PENDING'}`} />
            )}
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

function drawnNodes(shape: Shape, layout: ReturnType<typeof useLayout>, direction: Direction, chosen: string | null, search: string): GraphFlowNode[] {
  if (!layout) return [];
  const words = search.trim().toLowerCase();
  return shape.nodes.flatMap(({ id, kind, handler }) => {
    const place = layout.places.get(id);
    if (!place) return [];
    const { x, y, width, height } = place;
    const found = words !== '' && id.toLowerCase().includes(words);
    const data = { kind, handler, direction, chosen: id === chosen, found };
    return [{ id, type: 'step' as const, position: { x, y }, width, height, data }];
  });
}
