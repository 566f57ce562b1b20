// What differs between two events of a job, field by field.
import { useMemo } from 'react';
import { useQuery } from '../../api/use_query';
import { Wait, Wrong } from '../../ui/notes';
import { When } from '../../ui/time';
import { STATE_DIFF, type StateDiff } from './queries';

const TEXT_MAX = 160;

function short(value: unknown): string {
  if (value === null || value === undefined) return '–';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)} …` : text;
}

export function DiffView({ id, from, to }: { id: string; from: number; to: number }) {
  const { data, refusal } = useQuery(STATE_DIFF, { id, from, to });
  const diff = data?.stateDiff;
  return (
    <section className="card padded stack" aria-label="What changed" data-diff>
      <h2>What changed</h2>
      {refusal && <Wrong refusal={refusal} />}
      {!diff && !refusal && <Wait what="the differences" />}
      {diff && <Changes diff={diff} />}
    </section>
  );
}

function Changes({ diff }: { diff: StateDiff }) {
  const groups = useMemo(() => {
    const found = new Map<string, StateDiff['changes'][number][]>();
    for (const change of diff.changes) {
      const key = change.node ?? '';
      found.set(key, [...(found.get(key) ?? []), change]);
    }
    return [...found];
  }, [diff]);
  return (
    <>
      <p className="small soft">
        From position {diff.from.position} (<When time={diff.from.recordedAt} />) to {diff.to.position} (<When time={diff.to.recordedAt} />
        ): {diff.changed.toLocaleString()} fields of the job and {diff.nodesTouched.toLocaleString()} nodes.
        {diff.nodesLeftOut > 0 && ` ${diff.nodesLeftOut.toLocaleString()} more nodes are not told.`}
      </p>
      {groups.length === 0 && <p>Nothing differs.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="diff-groups stack" tabIndex={0} role="region" aria-label="Fields that differ">
        {groups.map(([node, changes]) => (
          <div key={node}>
            <h3>{node || 'The job'}</h3>
            <dl className="diff-list">
              {changes.map(({ field, before, after }) => (
                <div key={field}>
                  <dt>{field}</dt>
                  <dd>
                    <del>{short(before)}</del> <span aria-hidden="true">→</span> <ins>{short(after)}</ins>
                  </dd>
                </div>
              ))}
            </dl>
          </div>
        ))}
      </div>
    </>
  );
}
