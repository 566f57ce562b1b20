// The attempts of a node, each for itself.
import { JsonView } from '../../ui/json';
import { Status } from '../../ui/status';
import { When } from '../../ui/time';
import type { AttemptRow } from './queries';

export function Attempts({ attempts }: { attempts: readonly AttemptRow[] }) {
  if (attempts.length === 0) return <p className="soft">No attempt has reported yet.</p>;
  return (
    <ol className="attempts stack" reversed>
      {[...attempts].reverse().map((attempt) => (
        <li key={attempt.taskId}>
          <details open={attempt.number === attempts.length}>
            <summary>
              <strong>Attempt {attempt.number}</strong> <Status state={attempt.status} />{' '}
              <span className="soft small">
                <When time={attempt.reportedAt} />
              </span>
            </summary>
            <div className="stack">
              {attempt.errorMessage && (
                <div className="note bad" role="note">
                  {attempt.errorMessage}
                </div>
              )}
              <p className="small soft">
                by <code>{attempt.workerId ?? 'nobody'}</code>, task <code>{attempt.taskId}</code>
              </p>
              {attempt.failure !== null && <JsonView value={attempt.failure} label={`Failure of attempt ${attempt.number}`} />}
              {attempt.output !== null && <JsonView value={attempt.output} label={`Output of attempt ${attempt.number}`} />}
              {attempt.metrics !== null && <JsonView value={attempt.metrics} label={`What attempt ${attempt.number} measured`} />}
            </div>
          </details>
        </li>
      ))}
    </ol>
  );
}
