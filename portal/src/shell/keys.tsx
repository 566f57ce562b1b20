// The keyboard: what each key does, and the keys that work on every page.
import { useEffect, useRef } from 'react';
import { go } from '../router/router';
import { Dialog } from '../ui/dialog';

const KEYS: [string, string][] = [
  ['g j', 'Jobs'],
  ['g a', 'Assets'],
  ['g w', 'Workflows'],
  ['g p', 'Platform'],
  ['n', 'New job'],
  ['/', 'Search'],
  ['j k', 'Next and previous row'],
  ['Enter', 'Open the row'],
  ['x', 'Cancel the job that is open'],
  ['[ ]', 'One event back and forth in a job'],
  ['Esc', 'Close the panel'],
  ['?', 'This list'],
];

const PLACES: Record<string, string> = { j: '/', a: '/assets', w: '/workflows', p: '/platform' };

/** Whether somebody is writing, or a dialog is open. */
export function isBusy(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  const writes = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && (target as HTMLInputElement).type !== 'range';
  return writes || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') !== null;
}

/** Calls back on a key, unless somebody writes. */
export function useKey(run: (key: string, event: KeyboardEvent) => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const down = (event: KeyboardEvent) => {
      if (!isBusy(event)) latest.current(event.key, event);
    };
    addEventListener('keydown', down);
    return () => removeEventListener('keydown', down);
  }, []);
}

export function useKeys(help: () => void): void {
  const leader = useRef(false);
  useKey((key, event) => {
    const place = leader.current ? PLACES[key] : undefined;
    leader.current = key === 'g';
    if (place) {
      event.preventDefault();
      go(place);
    } else if (key === 'n') {
      event.preventDefault();
      go('/submit');
    } else if (key === '?') help();
    else if (key === '/') {
      const search = document.querySelector<HTMLInputElement>('input[type="search"]');
      if (search) {
        event.preventDefault();
        search.focus();
      }
    } else if (key === 'j' || key === 'k') step(key === 'j' ? 1 : -1);
  });
}

/** The focus goes from row to row. */
function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row]')];
  const here = rows.indexOf(document.activeElement as HTMLElement);
  const next = rows[here === -1 ? (by > 0 ? 0 : rows.length - 1) : here + by];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

export function KeysDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose} onSubmit={onClose}>
      <dl className="facts">
        {KEYS.map(([keys, what]) => [
          <dt key={keys}>
            {keys.split(' ').map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>,
          <dd key={what}>{what}</dd>,
        ])}
      </dl>
    </Dialog>
  );
}
