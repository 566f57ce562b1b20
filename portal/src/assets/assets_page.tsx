// All assets: as a list, and on a map.
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import { ask } from '../api/client';
import type { ResultOf } from '../api/graphql';
import { useEvery, useQuery } from '../api/use_query';
import { type Footprint, itemsIn } from '../map/footprints';
import { go, Link, useParam, usePlace } from '../router/router';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Tabs } from '../ui/tabs';
import { When } from '../ui/time';
import './assets.css';
import { AssetFilterBar, useAssetFilter } from './asset_filter';
import { Processing, Review } from './badges';
import { ASSETS, nameOf, PLACES } from './queries';

const MapView = lazy(() => import('../map/map_view'));
const PAGE = 100;
const ON_MAP = 50;
const FRESH_MS = 5_000;
const VIEWS = [
  { id: 'list', title: 'List' },
  { id: 'map', title: 'Map' },
] as const;

type Row = ResultOf<typeof ASSETS>['assets']['nodes'][number];

export default function AssetsPage(_: { id: string }) {
  const { search } = usePlace();
  const filter = useAssetFilter(search);
  const { data, refusal, reload } = useQuery(ASSETS, { filter, first: PAGE });
  const [older, setOlder] = useState<{ rows: Row[]; cursor: string | null }>();
  const [view] = useParam('view');
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => setOlder(undefined), [key]);
  useEvery(FRESH_MS, reload);
  const page = data?.assets;
  const rows = useMemo(() => {
    const first = page?.nodes ?? [];
    const seen = new Set(first.map(({ id }) => id));
    return [...first, ...(older?.rows ?? []).filter(({ id }) => !seen.has(id))];
  }, [page, older]);
  const cursor = older ? older.cursor : page?.pageInfo.hasNextPage ? (page.pageInfo.endCursor ?? null) : null;
  const readMore = useCallback(async () => {
    const { assets } = await ask(ASSETS, { filter: JSON.parse(key), first: PAGE, after: cursor });
    setOlder((last) => ({ rows: [...(last?.rows ?? []), ...assets.nodes], cursor: assets.pageInfo.hasNextPage ? (assets.pageInfo.endCursor ?? null) : null }));
  }, [key, cursor]);
  const isFiltered = search.size > (search.has('view') ? 1 : 0);
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>Assets</h1>
          <p>Datasets of partners, and everything that was made of them.</p>
        </div>
      </div>
      <AssetFilterBar platforms={data?.platforms ?? []} />
      <Tabs tabs={VIEWS} active={view === 'map' ? 'map' : 'list'} label="Views" param="view" />
      {refusal && <Wrong refusal={refusal} />}
      {!data && !refusal && <Wait what="assets" />}
      {data &&
        rows.length === 0 &&
        (isFiltered ? (
          <Empty title="No asset fits this filter">
            <p>
              <Link to="/assets">Show all assets</Link>
            </p>
          </Empty>
        ) : (
          <Empty title="No assets yet">
            <p>
              A job that is submitted for an asset of a platform makes one. Choose the platform in the <Link to="/submit">form of a new job</Link>, or send it
              as a partner does:
            </p>
            <code>POST /api/platform/submit</code>
          </Empty>
        ))}
      {rows.length > 0 && view === 'map' && (
        <Suspense fallback={<Wait what="the map" />}>
          <AssetMap filter={filter} />
        </Suspense>
      )}
      {rows.length > 0 && view !== 'map' && (
        <div className="card">
          <ul className="asset-list" aria-label="Assets">
            {rows.map((asset) => (
              <AssetRow key={asset.id} asset={asset} />
            ))}
          </ul>
        </div>
      )}
      {view !== 'map' && cursor && (
        <button type="button" onClick={readMore}>
          Show older ones
        </button>
      )}
    </main>
  );
}

function AssetRow({ asset }: { asset: Row }) {
  return (
    <li>
      <Link to={`/assets/${asset.id}`} className="asset-row" data-row data-asset={asset.id}>
        <span className="stack-tight">
          <strong className="cut">{nameOf(asset)}</strong>
          <span className="soft small cut">
            {asset.platformId} · <span className="mono">{asset.id}</span>
          </span>
        </span>
        <Processing status={asset.processingStatus} />
        <span>
          {asset.revision ? (
            <>
              revision {asset.revision} <Review approval={asset.approval} />
            </>
          ) : (
            <span className="soft">no revision yet</span>
          )}
          {asset.deleted && (
            <>
              {' '}
              <span className="badge bad">deleted</span>
            </>
          )}
        </span>
        <span className="right num">
          <When time={asset.updatedAt} />
        </span>
      </Link>
    </li>
  );
}

function AssetMap({ filter }: { filter: ReturnType<typeof useAssetFilter> }) {
  const { data, refusal } = useQuery(PLACES, { filter, first: ON_MAP });
  const prints = useMemo(
    () =>
      (data?.assets.nodes ?? []).flatMap((asset) => {
        const items = (asset.currentJob?.nodes ?? []).flatMap(({ output }) => itemsIn(output));
        return items.map((item): Footprint => ({ id: asset.id, title: nameOf(asset), bbox: item.bbox, geometry: item.geometry }));
      }),
    [data],
  );
  if (refusal) return <Wrong refusal={refusal} />;
  if (!data) return <Wait what="the places" />;
  return (
    <div className="map-and-list">
      <MapView prints={prints} chosen={null} onChoose={(id) => go(`/assets/${id}`)} />
      <div className="card padded stack">
        <h2>On the map</h2>
        {prints.length === 0 && <p className="soft">None of the newest {ON_MAP} assets has a footprint yet.</p>}
        <ul className="stack-tight">
          {prints.map(({ id, title, bbox }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an asset may have several footprints
            <li key={`${id} ${index}`}>
              <Link to={`/assets/${id}`}>{title}</Link> <span className="small soft num">{bbox.map((side) => side.toFixed(2)).join(', ')}</span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  );
}
