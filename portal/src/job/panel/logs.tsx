// What the handler wrote, attempt by attempt.
import { useEffect } from 'react';
import { useQuery } from '../../api/use_query';
import { Wait, Wrong } from '../../ui/notes';
import { LOGS } from './queries';

export function Logs({ job, node, tick }: { job: string; node: string; tick: string }) {
  const { data, refusal, reload } = useQuery(LOGS, { id: job, node });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed, so there may be more
  useEffect(() => reload(), [tick]);
  if (refusal) return <Wrong refusal={refusal} />;
  const attempts = data?.job?.node?.attempts;
  if (!attempts) return <Wait what="the logs" />;
  const lines = attempts.flatMap(({ number, logs }) => logs.map((line) => ({ number, ...line })));
  if (lines.length === 0) return <p className="soft">No lines yet. A worker hands them over when an attempt ends.</p>;
  const many = attempts.length > 1;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre className="code wrap logs" tabIndex={0} role="region" aria-label="Logs">
      {lines.map(({ number, time, level, message }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
        <span key={index} data-level={level?.toLowerCase()}>
          {many && <b>#{number} </b>}
          <time className="soft">{time?.slice(11, 23)}</time> <em>{level}</em> {message}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
