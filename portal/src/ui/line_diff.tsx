// Two texts side by side in one column: what went and what came.
import { diffLines } from 'diff';
import { useMemo } from 'react';

const CONTEXT = 3;

export function LineDiff({ before, after, label }: { before: string; after: string; label: string }) {
  const lines = useMemo(() => linesOf(before, after), [before, after]);
  if (lines.every(({ sign }) => sign === ' ')) return <p className="soft">They are the same.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <pre className="code line-diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map(({ sign, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no name but their place
        <span key={index} data-sign={sign}>
          {sign} {text}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}

interface Line {
  sign: '+' | '-' | ' ' | '…';
  text: string;
}

/** Lines that differ, with a few around them. */
function linesOf(before: string, after: string): Line[] {
  return diffLines(before, after).flatMap(({ value, added, removed }): Line[] => {
    const texts = value.replace(/\n$/, '').split('\n');
    const sign = added ? '+' : removed ? '-' : ' ';
    if (sign !== ' ' || texts.length <= 2 * CONTEXT + 1) return texts.map((text) => ({ sign, text }));
    const as = (text: string): Line => ({ sign, text });
    const left = texts.length - 2 * CONTEXT;
    return [...texts.slice(0, CONTEXT).map(as), { sign: '…', text: `${left} lines are the same` }, ...texts.slice(-CONTEXT).map(as)];
  });
}
