// Whether everything is well, and why not.
import { graphql } from '../api/graphql';
import { Wait, Wrong } from '../ui/notes';
import { usePolled } from './use_polled';

const HEALTH = graphql(`query Health { health { status reasons version position lag orchestratorsAlive workersHeard } }`);

export function HealthPart() {
  const { data, refusal } = usePolled(HEALTH, {});
  const health = data?.health;
  if (!health) return refusal ? <Wrong refusal={refusal} /> : <Wait what="the health" />;
  const isOk = health.status === 'ok';
  const numbers: [string, string, string][] = [
    ['Orchestrators alive', health.orchestratorsAlive.toLocaleString(), 'They decide what runs next.'],
    ['Workers heard', health.workersHeard.toLocaleString(), 'They do the work.'],
    ['Read models behind', `${health.lag.toLocaleString()} events`, 'What these pages show comes from them.'],
    ['End of the log', health.position.toLocaleString(), 'Events that were ever recorded.'],
  ];
  return (
    <div className="stack">
      {refusal && <Wrong refusal={refusal} />}
      <div className={`card padded health ${isOk ? 'well' : 'unwell'}`} role="status" data-health={health.status}>
        <svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="2.4" strokeLinecap="round" strokeLinejoin="round">
          {isOk ? (
            <>
              <circle cx="12" cy="12" r="10" />
              <path d="m7.5 12.5 3 3 6-6.5" />
            </>
          ) : (
            <>
              <path d="M12 2.5 22.5 21h-21z" />
              <path d="M12 9.5v5M12 17.8h.01" />
            </>
          )}
        </svg>
        <div>
          <h2>{isOk ? 'Everything is well' : 'Something needs a look'}</h2>
          {health.reasons.length > 0 ? (
            <ul>
              {health.reasons.map((reason) => (
                <li key={reason}>{reason}</li>
              ))}
            </ul>
          ) : (
            <p className="soft">Strata {health.version}</p>
          )}
        </div>
      </div>
      <dl className="tiles">
        {numbers.map(([name, value, what]) => (
          <div key={name} className="card padded">
            <dt>{name}</dt>
            <dd className="num">{value}</dd>
            <dd className="small soft">{what}</dd>
          </div>
        ))}
      </dl>
      <p className="small soft">
        The same numbers for machines: <a href="/readyz">readiness</a>, <a href="/metrics">metrics</a>. To ask more: <a href="/graphiql">GraphQL explorer</a>,{' '}
        <a href="/api/docs">REST for platforms</a>.
      </p>
    </div>
  );
}
