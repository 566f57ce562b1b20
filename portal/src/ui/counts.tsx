// How many nodes have each state: as a bar, as a ring, and as words.
import { wordOf } from './status';

export interface Counts {
  pending: number;
  ready: number;
  dispatched: number;
  running: number;
  completed: number;
  failed: number;
  skipped: number;
  total: number;
}

/** From what is done to what is not. */
const ORDER = ['completed', 'skipped', 'failed', 'running', 'dispatched', 'ready', 'pending'] as const;

export const partsOf = (counts: Counts) => ORDER.map((key) => ({ state: key.toUpperCase(), count: counts[key] })).filter((part) => part.count > 0);

export const doneOf = (counts: Counts): number => counts.completed + counts.skipped + counts.failed;

export function countsText(counts: Counts): string {
  const parts = partsOf(counts).map(({ state, count }) => `${count.toLocaleString()} ${wordOf(state).toLowerCase()}`);
  return parts.join(', ') || 'nothing yet';
}

export function CountsBar({ counts, label }: { counts: Counts; label: string }) {
  return (
    <div className="bar" role="img" aria-label={`${label}: ${countsText(counts)}`}>
      {partsOf(counts).map(({ state, count }) => (
        <i key={state} data-state={state} style={{ width: `${(100 * count) / counts.total}%` }} />
      ))}
    </div>
  );
}

const RADIUS = 15;
const ROUND = 2 * Math.PI * RADIUS;

export function CountsRing({ counts }: { counts: Counts }) {
  let before = 0;
  const share = counts.total === 0 ? 0 : doneOf(counts) / counts.total;
  return (
    <svg viewBox="0 0 40 40" className="ring" aria-hidden="true">
      <circle cx="20" cy="20" r={RADIUS} fill="none" stroke="var(--line)" strokeWidth="6" />
      {partsOf(counts).map(({ state, count }) => {
        const length = (ROUND * count) / counts.total;
        const offset = -before;
        before += length;
        if (state === 'PENDING') return null;
        return (
          <circle
            key={state}
            data-state={state}
            cx="20"
            cy="20"
            r={RADIUS}
            fill="none"
            stroke="var(--state)"
            strokeWidth="6"
            strokeDasharray={`${length} ${ROUND - length}`}
            strokeDashoffset={offset}
            transform="rotate(-90 20 20)"
          />
        );
      })}
      <text x="20" y="23.5" textAnchor="middle" fontSize="10" fontWeight="650" fill="var(--ink)">
        {Math.floor(share * 100)}
      </text>
    </svg>
  );
}
