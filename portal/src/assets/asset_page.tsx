// One asset: where it stands, where it lies, its revisions, its history.
import { lazy, Suspense, useMemo, useState } from 'react';
import { useMe } from '../api/me';
import { useFollow, useQuery } from '../api/use_query';
import { type Footprint, itemsIn } from '../map/footprints';
import { go, hereWith, Link, useParam } from '../router/router';
import { CopyButton, JsonView } from '../ui/json';
import { Empty, Wait, Wrong } from '../ui/notes';
import { When } from '../ui/time';
import { type Act, AssetDialog, assetActs } from './asset_acts';
import './assets.css';
import { Processing, Review } from './badges';
import { History } from './history';
import { ASSET, ASSET_LIVE, type Asset, nameOf } from './queries';
import { Revisions } from './revisions';

const MapView = lazy(() => import('../map/map_view'));

export default function AssetPage({ id }: { id: string }) {
  const [atText, setAt] = useParam('at');
  const at = Number(atText) > 0 ? Number(atText) : undefined;
  const { data, refusal, reload, loading } = useQuery(ASSET, { id, asOf: at === undefined ? undefined : { pos: at } });
  useFollow(ASSET_LIVE, { id }, reload);
  const asset = data?.asset;
  return (
    <main id="main" tabIndex={-1} data-asset={id}>
      {refusal && <Wrong refusal={refusal} />}
      {!asset && !refusal && loading && <Wait what="the asset" />}
      {data && !asset && (
        <Empty isPage title="There is no such asset">
          <p>
            <Link to="/assets">Go to the assets</Link>
          </p>
        </Empty>
      )}
      {asset?.asOf && (
        <div className="note warm" role="note">
          <strong>
            As it was at position {asset.asOf.position}, <When time={asset.asOf.recordedAt} />.
          </strong>
          <span>
            <button type="button" onClick={() => setAt(null)}>
              Back to now
            </button>
          </span>
        </div>
      )}
      {asset && <Body asset={asset} onDone={reload} isPast={at !== undefined} />}
    </main>
  );
}

function Body({ asset, onDone, isPast }: { asset: Asset; onDone: () => void; isPast: boolean }) {
  const { role } = useMe();
  const [act, setAct] = useState<Act>();
  const prints = useMemo(
    () =>
      (asset.currentJob?.nodes ?? []).flatMap(({ id, output }) =>
        itemsIn(output).map((item): Footprint => ({ id, title: id, bbox: item.bbox, geometry: item.geometry })),
      ),
    [asset],
  );
  const acts = isPast ? [] : assetActs(asset, role);
  return (
    <>
      <div className="page-head">
        <div>
          <h1 className="job-title">
            {nameOf(asset)}{' '}
            <span className="job-status">
              <Processing status={asset.processingStatus} />
            </span>{' '}
            <Review approval={asset.approval} />
            {asset.deleted && <span className="badge bad">deleted</span>}
          </h1>
          <p className="job-ids">
            <code className="cut">{asset.id}</code> <CopyButton text={asset.id} what="the id of the asset" />
          </p>
        </div>
        <div className="actions" data-acts>
          {acts.map((one) => (
            <button key={one.id} type="button" className={one.kind} onClick={() => setAct(one)}>
              {one.verb} …
            </button>
          ))}
        </div>
      </div>
      {asset.failure !== null && (
        <div className="note bad" role="note">
          <strong>The last processing failed</strong>
          <JsonView value={asset.failure} label="Failure" />
        </div>
      )}
      <div className="asset-body">
        <div className="stack">
          <Revisions asset={asset} mayReview={role === 'ADMIN' && !isPast} onAct={setAct} />
          <History asset={asset} />
        </div>
        <div className="stack">
          {prints.length > 0 && (
            <Suspense fallback={<div className="map card" />}>
              <MapView prints={prints} chosen={null} onChoose={(node) => go(`/jobs/${asset.currentJobId}?node=${node}`)} />
            </Suspense>
          )}
          <section className="card padded stack">
            <h2>About it</h2>
            <dl className="facts">
              <dt>Platform</dt>
              <dd>{asset.platformId}</dd>
              {Object.entries(asset.platformRefs as Record<string, unknown>).map(([name, value]) => [
                <dt key={name}>{name}</dt>,
                <dd key={`${name} is`}>
                  <code>{String(value)}</code>
                </dd>,
              ])}
              <dt>Clearance</dt>
              <dd>{asset.clearance.toLowerCase()}</dd>
              <dt>Known since</dt>
              <dd>
                <When time={asset.createdAt} />
              </dd>
              {asset.currentJobId && (
                <>
                  <dt>Last job</dt>
                  <dd>
                    <Link to={`/jobs/${asset.currentJobId}`}>{asset.currentJobId.slice(0, 16)}…</Link>
                  </dd>
                </>
              )}
              {asset.contentHash && (
                <>
                  <dt>Content</dt>
                  <dd>
                    <code className="hash">{asset.contentHash}</code>
                  </dd>
                </>
              )}
            </dl>
            {!isPast && (
              <Link to={hereWith({ at: asset.position })} how="push" className="small">
                A link to exactly this state
              </Link>
            )}
          </section>
        </div>
      </div>
      {act && <AssetDialog asset={asset} act={act} onClose={() => setAct(undefined)} onDone={onDone} />}
    </>
  );
}
