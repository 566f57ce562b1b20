// Times for people, with the exact one a hover away.
import { useEffect, useState } from 'react';

const UNITS: [number, string][] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
  [1, 's'],
];

/** Such as `3 min` or `2.4 s`. */
export function span(ms: number): string {
  if (ms < 0) return '0 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const first = UNITS.findIndex(([size]) => seconds >= size);
  const [size, unit] = UNITS[first] ?? [1, 's'];
  const next = UNITS[first + 1];
  const rest = next ? Math.floor((seconds % size) / next[0]) : 0;
  return `${Math.floor(seconds / size)} ${unit}${next && rest > 0 ? ` ${rest} ${next[1]}` : ''}`;
}

/** Between two moments. */
export function between(from: string | null | undefined, to: string | null | undefined, now = Date.now()): string {
  if (!from) return '–';
  return span((to ? Date.parse(to) : now) - Date.parse(from));
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

export const exact = (at: string): string => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');

export function at(time: string): string {
  const moment = new Date(time);
  const today = moment.toDateString() === new Date().toDateString();
  return today ? clock.format(moment) : `${day.format(moment)}, ${clock.format(moment)}`;
}

export function When({ time }: { time: string | null | undefined }) {
  if (!time) return <span className="soft">–</span>;
  return (
    <time dateTime={time} title={exact(time)}>
      {at(time)}
    </time>
  );
}

/** Ticks while something is open. */
export function useNow(running: boolean, every = 1_000): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [running, every]);
  return now;
}
