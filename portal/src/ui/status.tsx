// A state is told by its icon, its shape, its word and its colour; each of them alone is enough.
import type { ReactNode } from 'react';

const icons: Record<string, ReactNode> = {
  PENDING: <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.6" strokeDasharray="2.4 2.3" />,
  READY: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <circle cx="8" cy="8" r="2.2" fill="currentColor" />
    </>
  ),
  DISPATCHED: <path d="M1.8 13.6 15 8 1.8 2.4l2 5.6z" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinejoin="round" />,
  RUNNING: (
    <>
      <circle cx="8" cy="8" r="6" fill="none" stroke="currentColor" strokeWidth="1.6" opacity=".35" />
      <path className="turns" d="M8 2a6 6 0 0 1 6 6" fill="none" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" />
    </>
  ),
  COMPLETED: (
    <>
      <circle cx="8" cy="8" r="7" fill="currentColor" />
      <path d="m4.8 8.2 2.3 2.3 4.2-4.7" fill="none" stroke="var(--panel)" strokeWidth="1.8" strokeLinecap="round" strokeLinejoin="round" />
    </>
  ),
  FAILED: (
    <>
      <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" fill="currentColor" />
      <path d="m5.6 5.6 4.8 4.8m0-4.8-4.8 4.8" stroke="var(--panel)" strokeWidth="1.8" strokeLinecap="round" />
    </>
  ),
  SKIPPED: (
    <>
      <path d="M8 1.5 14.5 8 8 14.5 1.5 8z" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinejoin="round" />
      <path d="M5.4 8h5.2" stroke="currentColor" strokeWidth="1.7" strokeLinecap="round" />
    </>
  ),
  CANCELLED: (
    <>
      <rect x="1.5" y="1.5" width="13" height="13" rx="3" fill="none" stroke="currentColor" strokeWidth="1.6" />
      <path d="M4.8 11.2 11.2 4.8" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round" />
    </>
  ),
  PAUSED: <path d="M5 3v10M11 3v10" stroke="currentColor" strokeWidth="2.6" strokeLinecap="round" />,
};

const words: Record<string, string> = {
  PENDING: 'Pending',
  READY: 'Ready',
  DISPATCHED: 'Dispatched',
  RUNNING: 'Running',
  COMPLETED: 'Completed',
  FAILED: 'Failed',
  SKIPPED: 'Skipped',
  CANCELLED: 'Cancelled',
  PAUSED: 'Paused',
};

export const wordOf = (state: string): string => words[state] ?? state;

export function StateIcon({ state }: { state: string }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" data-state={state} style={{ color: 'var(--state)' }}>
      {icons[state] ?? icons.PENDING}
    </svg>
  );
}

export function Status({ state, children }: { state: string; children?: ReactNode }) {
  return (
    <span className="status" data-state={state}>
      <StateIcon state={state} />
      {children ?? wordOf(state)}
    </span>
  );
}
