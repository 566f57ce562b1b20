// What a job was given and what came out of it, and who is told.
import { useEffect } from 'react';
import { graphql } from '../api/graphql';
import { useQuery } from '../api/use_query';
import { Link } from '../router/router';
import { JsonView } from '../ui/json';
import { Wait, Wrong } from '../ui/notes';

const VALUES = graphql(`
  query Values($id: String!, $asOf: AsOf) {
    job(id: $id, asOf: $asOf) {
      inputs result failure requestId ownerId workflowHash
      asset { id title platformId }
      callbacks { id url status lastStatusCode lastError }
    }
  }
`);

export function ValuesView({ id, at, tick }: { id: string; at: number | undefined; tick: string }) {
  const { data, refusal, reload } = useQuery(VALUES, { id, asOf: at === undefined ? undefined : { pos: at } });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed
  useEffect(() => reload(), [tick]);
  const job = data?.job;
  if (refusal) return <Wrong refusal={refusal} />;
  if (!job) return <Wait what="the values" />;
  return (
    <div className="values">
      <section className="card padded stack">
        <h2>Inputs</h2>
        <JsonView value={job.inputs} label="Inputs" />
      </section>
      <section className="card padded stack" data-result>
        <h2>Result</h2>
        {job.result === null ? <p className="soft">There is a result when the job has completed.</p> : <JsonView value={job.result} label="Result" />}
        {job.failure !== null && (
          <>
            <h3>Failure</h3>
            <JsonView value={job.failure} label="Failure" />
          </>
        )}
      </section>
      <section className="card padded stack">
        <h2>Where it comes from</h2>
        <dl className="facts">
          <dt>Request</dt>
          <dd>
            <code>{job.requestId}</code>
          </dd>
          <dt>Definition</dt>
          <dd>
            <code className="hash">{job.workflowHash}</code>
          </dd>
          {job.ownerId && (
            <>
              <dt>Orchestrator</dt>
              <dd>
                <code>{job.ownerId}</code>
              </dd>
            </>
          )}
          {job.asset && (
            <>
              <dt>Asset</dt>
              <dd>
                <Link to={`/assets/${job.asset.id}`}>{job.asset.title ?? job.asset.id}</Link> of {job.asset.platformId}
              </dd>
            </>
          )}
        </dl>
        {job.callbacks.length > 0 && (
          <>
            <h3>Callbacks</h3>
            <ul className="stack small">
              {job.callbacks.map((callback) => (
                <li key={callback.id}>
                  <span className="badge">{callback.status.replace('_', ' ')}</span> <code>{callback.url}</code> {callback.lastError}
                </li>
              ))}
            </ul>
          </>
        )}
      </section>
    </div>
  );
}
