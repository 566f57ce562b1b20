// A map with footprints. Everything that it draws comes from this host.
import { type GeoJSONSource, LngLatBounds, Map as MapLibre, NavigationControl, ScaleControl, setWorkerUrl } from 'maplibre-gl';
import 'maplibre-gl/dist/maplibre-gl.css';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?url';
import { useEffect, useRef, useState } from 'react';
import { styleOfMap } from './base';
import { boundsOf, collections, type Footprint } from './footprints';
import './map.css';

setWorkerUrl(workerUrl);

interface Props {
  prints: readonly Footprint[];
  chosen: string | null;
  onChoose: (id: string) => void;
}

const CLICKABLE = ['points', 'prints'];

export default function MapView({ prints, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const map = useRef<MapLibre>(undefined);
  const choose = useRef(onChoose);
  choose.current = onChoose;
  const [ready, setReady] = useState(false);
  const [lost, setLost] = useState(false);

  useEffect(() => {
    if (!box.current) return;
    let made: MapLibre;
    try {
      made = new MapLibre({
        container: box.current,
        style: styleOfMap(),
        center: [10, 22],
        zoom: 0.7,
        attributionControl: false,
        dragRotate: false,
        renderWorldCopies: true,
      });
    } catch {
      // A browser without WebGL: the list beside it tells the same.
      setLost(true);
      return;
    }
    map.current = made;
    made.addControl(new NavigationControl({ showCompass: false }), 'bottom-left');
    made.addControl(new ScaleControl(), 'bottom-right');
    made.on('load', () => setReady(true));
    made.on('click', CLICKABLE, (event) => {
      const id = event.features?.[0]?.properties.id;
      if (typeof id === 'string') choose.current(id);
    });
    made.on('mouseenter', CLICKABLE, () => {
      made.getCanvas().style.cursor = 'pointer';
    });
    made.on('mouseleave', CLICKABLE, () => {
      made.getCanvas().style.cursor = '';
    });
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const recolour = () => made.setStyle(styleOfMap(), { diff: true });
    dark.addEventListener('change', recolour);
    return () => {
      dark.removeEventListener('change', recolour);
      made.remove();
    };
  }, []);

  useEffect(() => {
    if (!ready || !map.current) return;
    const { areas, points } = collections(prints, chosen);
    map.current.getSource<GeoJSONSource>('prints')?.setData(areas);
    map.current.getSource<GeoJSONSource>('points')?.setData(points);
  }, [ready, prints, chosen]);

  const known = prints.map(({ id }) => id).join(' ');
  // biome-ignore lint/correctness/useExhaustiveDependencies: it moves when others are shown, not when one changes
  useEffect(() => {
    const around = boundsOf(chosen ? prints.filter(({ id }) => id === chosen) : prints);
    if (!ready || !around) return;
    const [west, south, east, north] = around;
    map.current?.fitBounds(new LngLatBounds([west, south], [east, north]), { padding: 60, maxZoom: 10, duration: 400 });
  }, [ready, known, chosen]);

  return (
    <div className="map card" data-map data-prints={prints.length} data-ready={ready || undefined}>
      <div ref={box} className="map-canvas" role="region" aria-label={`Map with ${prints.length} footprints`} />
      {lost && <p className="map-lost soft">This browser draws no maps (WebGL is off). The list tells the same.</p>}
    </div>
  );
}
