// Where on earth something lies: found in whatever a task has returned.
import type { Feature, FeatureCollection, Geometry, Position } from 'geojson';
import type { Json } from '../api/graphql';

export interface Footprint {
  /** What a click on it chooses. */
  id: string;
  title: string;
  bbox: readonly [number, number, number, number];
  geometry: Geometry;
}

const DEPTH_MAX = 6;
const ENTRIES_MAX = 200;

interface Item {
  bbox: [number, number, number, number];
  geometry: Geometry;
}

function isItem(value: object): value is Item {
  const { bbox, geometry } = value as { bbox?: unknown; geometry?: { type?: string } };
  const isBox = Array.isArray(bbox) && bbox.length === 4 && bbox.every((side) => typeof side === 'number' && Math.abs(side) <= 360);
  return isBox && (geometry?.type === 'Polygon' || geometry?.type === 'MultiPolygon');
}

/** Every STAC item in a value. */
export function itemsIn(value: Json | unknown, depth = 0): Item[] {
  if (value === null || typeof value !== 'object' || depth > DEPTH_MAX) return [];
  if (isItem(value)) return [value];
  return Object.values(value)
    .slice(0, ENTRIES_MAX)
    .flatMap((inner) => itemsIn(inner, depth + 1));
}

export function collections(prints: readonly Footprint[], chosen: string | null): { areas: FeatureCollection; points: FeatureCollection } {
  const properties = ({ id, title }: Footprint) => ({ id, title, chosen: id === chosen });
  const area = (print: Footprint): Feature => ({ type: 'Feature', properties: properties(print), geometry: print.geometry });
  const point = (print: Footprint): Feature => ({ type: 'Feature', properties: properties(print), geometry: { type: 'Point', coordinates: middle(print) } });
  return {
    areas: { type: 'FeatureCollection', features: prints.map(area) },
    points: { type: 'FeatureCollection', features: prints.map(point) },
  };
}

const middle = ({ bbox: [west, south, east, north] }: Footprint): Position => [(west + east) / 2, (south + north) / 2];

/** The box around all of them. */
export function boundsOf(prints: readonly Footprint[]): [number, number, number, number] | undefined {
  const [first, ...rest] = prints.map(({ bbox }) => bbox);
  if (!first) return undefined;
  return rest.reduce<[number, number, number, number]>(
    ([west, south, east, north], box) => [Math.min(west, box[0]), Math.min(south, box[1]), Math.max(east, box[2]), Math.max(north, box[3])],
    [...first],
  );
}
