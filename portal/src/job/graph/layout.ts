// Where the nodes of a graph are drawn. ELK finds it in a worker, once per definition and direction.
import ELK, { type ElkExtendedEdge, type ElkNode, type LayoutOptions } from 'elkjs/lib/elk-api.js';
import workerUrl from 'elkjs/lib/elk-worker.min.js?url';
import { useEffect, useState } from 'react';
import type { Shape } from '../queries';
import { inLayers } from './layers';

export type Direction = 'RIGHT' | 'DOWN';

export interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  places: ReadonlyMap<string, Place>;
  /** The corners of each arrow. */
  ways: ReadonlyMap<string, readonly Point[]>;
}

const NODE = { width: 196, height: 62 };
const END = { width: 100, height: 40 };

/** From so many nodes on, a plain picture now is worth more than a better one in a minute. */
const LARGE = 400;

const CAREFUL: LayoutOptions = {
  'elk.layered.nodePlacement.strategy': 'NETWORK_SIMPLEX',
  'elk.layered.nodePlacement.favorStraightEdges': 'true',
  'elk.layered.considerModelOrder.strategy': 'NODES_AND_EDGES',
  'elk.edgeRouting': 'ORTHOGONAL',
};

/** A long chain goes on in the next row, as text does. */
const ROWS: LayoutOptions = {
  'elk.layered.wrapping.strategy': 'MULTI_EDGE',
  'elk.layered.wrapping.correctionFactor': '1.2',
};

let elk: InstanceType<typeof ELK> | undefined;

function engine() {
  elk ??= new ELK({ workerFactory: () => new Worker(workerUrl) });
  return elk;
}

export const isEnd = (kind: string): boolean => kind === 'start' || kind === 'end';

const sizeOf = (kind: string) => (isEnd(kind) ? END : NODE);

/** The room that there is. */
export interface Room {
  width: number;
  height: number;
}

/** ELK begins a new row sooner than it must. */
const ROWS_WIDER = 1.3;

/** Smaller than this nobody can read it. */
const READABLE = 0.72;

async function layOut(shape: Shape, direction: Direction, room: Room): Promise<Layout> {
  if (shape.nodes.length > LARGE) return inLayers(shape, direction, sizeOf);
  const line = await placed(shape, direction, room, CAREFUL);
  const scale = scaleOf(line, room);
  if (direction === 'DOWN' || scale >= READABLE) return line;
  const rows = await placed(shape, direction, room, { ...CAREFUL, ...ROWS });
  return scaleOf(rows, room) > scale ? rows : line;
}

/** How large it can be drawn. */
function scaleOf({ places }: Layout, room: Room): number {
  const all = [...places.values()];
  const width = Math.max(...all.map(({ x, width: w }) => x + w));
  const height = Math.max(...all.map(({ y, height: h }) => y + h));
  return Math.min(room.width / width, room.height / height);
}

async function placed(shape: Shape, direction: Direction, room: Room, how: LayoutOptions): Promise<Layout> {
  const children = shape.nodes.map(({ id, kind }) => ({ id, ...sizeOf(kind) }));
  const edges = shape.edges.map(({ from, to }) => ({ id: `${from} ${to}`, sources: [from], targets: [to] }));
  const graph: ElkNode = {
    id: 'graph',
    children,
    edges,
    layoutOptions: {
      'elk.algorithm': 'layered',
      'elk.direction': direction,
      'elk.aspectRatio': ((ROWS_WIDER * room.width) / room.height).toFixed(1),
      'elk.spacing.nodeNode': '24',
      'elk.layered.spacing.nodeNodeBetweenLayers': direction === 'RIGHT' ? '40' : '36',
      'elk.layered.spacing.edgeNodeBetweenLayers': '16',
      ...how,
    },
  };
  const done = await engine().layout(graph);
  const places = (done.children ?? []).map(({ id, x = 0, y = 0, width = 0, height = 0 }) => [id, { x, y, width, height }] as const);
  const ways = (done.edges ?? []).map((edge) => [edge.id, pointsOf(edge)] as const);
  return { places: new Map(places), ways: new Map(ways) };
}

function pointsOf({ sections }: ElkExtendedEdge): Point[] {
  return (sections ?? []).flatMap(({ startPoint, bendPoints = [], endPoint }) => [startPoint, ...bendPoints, endPoint]);
}

const KEPT_MAX = 24;
const kept = new Map<string, Promise<Layout>>();

function layoutOf(shape: Shape, direction: Direction, room: Room): Promise<Layout> {
  const key = `${shape.hash} ${direction} ${room.width} ${room.height}`;
  let layout = kept.get(key);
  if (!layout) {
    if (kept.size >= KEPT_MAX) kept.clear();
    layout = layOut(shape, direction, room);
    kept.set(key, layout);
  }
  return layout;
}

export function useLayout(shape: Shape, direction: Direction, room: Room | undefined): Layout | undefined {
  const [layout, setLayout] = useState<Layout>();
  useEffect(() => {
    if (!room) return;
    let wanted = true;
    layoutOf(shape, direction, room).then((found) => {
      if (wanted) setLayout(found);
    });
    return () => {
      wanted = false;
    };
  }, [shape, direction, room]);
  return layout;
}
