// Orchestrators with their leases, and workers with their load.
import { graphql } from '../api/graphql';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Table } from '../ui/table';
import { between, span } from '../ui/time';
import { usePolled } from './use_polled';

const FLEET = graphql(`
  query Fleet {
    orchestrators { id host isAlive heartbeatAt leaseSeconds openJobs openNodes startedAt }
    workers { id running silenceSeconds queues { queue slots } }
  }
`);

export function WorkersPart() {
  const { data, refusal } = usePolled(FLEET, {});
  if (!data) return refusal ? <Wrong refusal={refusal} /> : <Wait what="the fleet" />;
  return (
    <div className="stack">
      {refusal && <Wrong refusal={refusal} />}
      <h2>Orchestrators</h2>
      {data.orchestrators.length === 0 ? (
        <Empty title="No orchestrator">
          <p>Nothing is decided without one. Start one:</p>
          <code>strata orchestrator</code>
        </Empty>
      ) : (
        <Table label="Orchestrators" head={['Id', 'Host', 'Lease', 'Last heartbeat', 'Open jobs', 'Open nodes', 'Runs for']}>
          {data.orchestrators.map((one) => (
            <tr key={one.id}>
              <td>
                <code>{one.id.slice(0, 8)}</code>
              </td>
              <td>{one.host}</td>
              <td>
                {one.isAlive ? <span className="badge good">✓ alive</span> : <span className="badge bad">✕ expired</span>}{' '}
                <span className="small soft">{span(one.leaseSeconds * 1_000)}</span>
              </td>
              <td>{between(one.heartbeatAt, null)} ago</td>
              <td className="num">{one.openJobs.toLocaleString()}</td>
              <td className="num">{one.openNodes.toLocaleString()}</td>
              <td>{between(one.startedAt, null)}</td>
            </tr>
          ))}
        </Table>
      )}
      <h2>Workers</h2>
      {data.workers.length === 0 ? (
        <Empty title="No worker was heard">
          <p>Tasks wait in their queues until there is one:</p>
          <code>strata worker</code>
        </Empty>
      ) : (
        <Table label="Workers" head={['Id', 'Load', 'Queues and slots', 'Last heard']}>
          {data.workers.map((worker) => {
            const slots = worker.queues.reduce((sum, { slots: more }) => sum + more, 0);
            return (
              <tr key={worker.id}>
                <td>
                  <code>{worker.id}</code>
                </td>
                <td className="load">
                  <meter min={0} max={Math.max(slots, 1)} value={Math.min(worker.running, slots)} aria-label={`Load of ${worker.id}`} />{' '}
                  <span className="num">
                    {worker.running} of {slots}
                  </span>
                </td>
                <td>
                  {worker.queues.map(({ queue, slots: n }) => (
                    <span key={queue} className="badge">
                      {queue} {n}
                    </span>
                  ))}
                </td>
                <td>{span(worker.silenceSeconds * 1_000)} ago</td>
              </tr>
            );
          })}
        </Table>
      )}
    </div>
  );
}
