// Values as they are: coloured, cut when they are long, and ready to be copied.
import { type ReactNode, useMemo, useState } from 'react';

const CHARACTERS_MAX = 60_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;

function coloured(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let last = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [all, quoted, colon, word] = match;
    parts.push(text.slice(last, match.index));
    const kind = quoted ? (colon ? 'json-key' : 'json-text') : word ? 'json-word' : 'json-num';
    parts.push(
      <span key={match.index} className={kind}>
        {quoted ?? all}
      </span>,
      quoted ? (colon ?? '') : '',
    );
    last = match.index + all.length;
  }
  parts.push(text.slice(last));
  return parts;
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <button type="button" className="copy" onClick={copy} aria-label={`Copy ${what}`}>
      {done ? 'Copied' : 'Copy'}
    </button>
  );
}

export function JsonView({ value, label }: { value: unknown; label: string }) {
  const [whole, setWhole] = useState(false);
  const text = useMemo(() => JSON.stringify(value, null, 2) ?? 'null', [value]);
  const long = text.length > CHARACTERS_MAX;
  const shown = long && !whole ? text.slice(0, CHARACTERS_MAX) : text;
  const parts = useMemo(() => coloured(shown), [shown]);
  return (
    <div className="copyable">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre className="code wrap" tabIndex={0} role="region" aria-label={label}>
        {parts}
      </pre>
      <CopyButton text={text} what={label} />
      {long && !whole && (
        <button type="button" onClick={() => setWhole(true)}>
          Show all {text.length.toLocaleString()} characters
        </button>
      )}
    </div>
  );
}
