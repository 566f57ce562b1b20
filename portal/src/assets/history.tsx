// What happened to an asset, the newest first; each line leads to the asset as it was then.
import { hereWith, Link } from '../router/router';
import { JsonView } from '../ui/json';
import { When } from '../ui/time';
import type { Asset } from './queries';

export function History({ asset }: { asset: Asset }) {
  const events = asset.events.nodes;
  return (
    <section className="card padded stack" aria-label="History">
      <h2>History</h2>
      <ol className="history">
        {events.map((event) => (
          <li key={event.version}>
            <Link to={hereWith({ at: event.position })} how="push" className="num" title="Show the asset as it was after this event">
              {event.version}
            </Link>
            <details>
              <summary>
                <When time={event.recordedAt} /> <code>{event.type}</code>
              </summary>
              <p className="small soft">
                Position {event.position} of the log
                {event.actor && (
                  <>
                    , by <code>{event.actor}</code>
                  </>
                )}
              </p>
              <JsonView value={event.data} label={`Event ${event.version}`} />
            </details>
          </li>
        ))}
      </ol>
    </section>
  );
}
