// The ground of every map: land, borders and a graticule, out of a package, so that no tile is fetched from anywhere.
import type { Feature, FeatureCollection, MultiLineString } from 'geojson';
import type { StyleSpecification } from 'maplibre-gl';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import atlas from 'world-atlas/countries-50m.json';

type World = Topology<{ land: GeometryCollection; countries: GeometryCollection }>;

const world = atlas as unknown as World;
const land = feature(world, world.objects.land) as FeatureCollection;
const borders = mesh(world, world.objects.countries as never, (a, b) => a !== b) as MultiLineString;

const EVERY_DEGREES = 10;

function graticule(): Feature<MultiLineString> {
  const lines: [number, number][][] = [];
  for (let x = -180; x <= 180; x += EVERY_DEGREES)
    lines.push([
      [x, -80],
      [x, 80],
    ]);
  for (let y = -80; y <= 80; y += EVERY_DEGREES)
    lines.push([
      [-180, y],
      [180, y],
    ]);
  return { type: 'Feature', properties: {}, geometry: { type: 'MultiLineString', coordinates: lines } };
}

export const NOTHING: FeatureCollection = { type: 'FeatureCollection', features: [] };

function token(name: string): string {
  // The canvas does not know variables; what they are worth depends on the theme.
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

export function styleOfMap(): StyleSpecification {
  const source = (data: GeoJSON.GeoJSON) => ({ type: 'geojson' as const, data });
  return {
    version: 8,
    sources: {
      land: source(land),
      borders: source({ type: 'Feature', properties: {}, geometry: borders }),
      graticule: source(graticule()),
      prints: source(NOTHING),
      points: source(NOTHING),
    },
    layers: [
      { id: 'sea', type: 'background', paint: { 'background-color': token('map-sea') } },
      { id: 'land', type: 'fill', source: 'land', paint: { 'fill-color': token('map-land') } },
      { id: 'graticule', type: 'line', source: 'graticule', paint: { 'line-color': token('line'), 'line-width': 0.6 } },
      { id: 'borders', type: 'line', source: 'borders', paint: { 'line-color': token('map-border'), 'line-width': 0.8 } },
      { id: 'prints', type: 'fill', source: 'prints', paint: { 'fill-color': token('accent'), 'fill-opacity': ['case', ['get', 'chosen'], 0.45, 0.22] } },
      { id: 'print-lines', type: 'line', source: 'prints', paint: { 'line-color': token('accent'), 'line-width': ['case', ['get', 'chosen'], 3.5, 1.8] } },
      // From far away a footprint is smaller than a pixel.
      {
        id: 'points',
        type: 'circle',
        source: 'points',
        maxzoom: 9,
        paint: {
          'circle-radius': ['case', ['get', 'chosen'], 9, 6],
          'circle-color': token('accent'),
          'circle-stroke-color': token('panel'),
          'circle-stroke-width': 2,
        },
      },
    ],
  };
}
