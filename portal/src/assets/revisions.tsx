// The revisions of an asset, the newest first: what belongs to each, what made it, and what can be done with it.
import { Link } from '../router/router';
import { When } from '../ui/time';
import { type Act, revisionActs } from './asset_acts';
import { Review } from './badges';
import type { Asset, Revision } from './queries';

interface Artifact {
  name?: string;
  uri?: string;
  bytes?: number;
  sha256?: string;
}

function size(bytes: number | undefined): string {
  if (bytes === undefined) return '';
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function Revisions({ asset, mayReview, onAct }: { asset: Asset; mayReview: boolean; onAct: (act: Act) => void }) {
  const revisions = [...asset.revisions].reverse();
  return (
    <section className="card padded stack" aria-label="Revisions">
      <h2>Revisions</h2>
      {revisions.length === 0 && <p className="soft">There is a revision as soon as a job for it completes.</p>}
      <ol className="revisions">
        {revisions.map((revision) => (
          <li key={revision.number} data-revision={revision.number} data-current={revision.number === asset.revision || undefined}>
            <div className="page-head">
              <div>
                <strong>Revision {revision.number}</strong> {revision.number === asset.revision && <span className="badge good">current</span>}{' '}
                <Review approval={revision.approval} />
                <p className="small">
                  <When time={revision.createdAt} /> · <Origin revision={revision} />
                </p>
              </div>
              {mayReview && (
                <div className="actions">
                  {revisionActs(asset, revision).map((act) => (
                    <button key={act.id} type="button" className={act.kind} data-act={act.id} onClick={() => onAct(act)}>
                      {act.verb} …
                    </button>
                  ))}
                </div>
              )}
            </div>
            {revision.approvalReason && <p className="small">Reason: {revision.approvalReason}</p>}
            <ul className="artifacts small">
              {((revision.artifacts ?? []) as Artifact[]).map((artifact) => (
                <li key={artifact.uri ?? artifact.name}>
                  <span className="badge">{artifact.name}</span> <code className="cut">{artifact.uri}</code>{' '}
                  <span className="soft num">{size(artifact.bytes)}</span>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Origin({ revision }: { revision: Revision }) {
  const origin = revision.origin as { kind?: string; job_id?: string; revision?: number; to?: number; from?: number };
  const { job } = revision;
  // The job that made it, as it was when it had.
  if (job)
    return (
      <>
        made by <Link to={`/jobs/${job.id}?at=${job.position}&tab=events`}>{job.workflowId}, its last event</Link>
      </>
    );
  if (origin.job_id)
    return (
      <>
        made by <Link to={`/jobs/${origin.job_id}`}>{origin.job_id.slice(0, 16)}…</Link>
      </>
    );
  const source = origin.revision ?? origin.to ?? origin.from;
  return <>{origin.kind === 'rollback' && source ? `a rollback to revision ${source}` : (origin.kind ?? 'unknown')}</>;
}
