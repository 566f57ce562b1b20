// Where an asset stands: its processing and its review, as words with a sign.
import { Status } from '../ui/status';

const STATES: Record<string, string> = { pending: 'PENDING', processing: 'RUNNING', completed: 'COMPLETED', failed: 'FAILED' };

export const Processing = ({ status }: { status: string }) => (
  <Status state={STATES[status] ?? 'PENDING'}>
    {status[0]?.toUpperCase()}
    {status.slice(1)}
  </Status>
);

const REVIEWS: Record<string, [string, string]> = {
  PENDING_REVIEW: ['waits for review', 'warm'],
  APPROVED: ['✓ approved', 'good'],
  REJECTED: ['✕ rejected', 'bad'],
  REVOKED: ['⊘ revoked', 'bad'],
};

export function Review({ approval }: { approval: string }) {
  const [words, kind] = REVIEWS[approval] ?? [approval, ''];
  return (
    <span className={`badge ${kind}`} data-approval={approval}>
      {words}
    </span>
  );
}
