// When each node was what: waiting, in its queue, at work; and the chain that the length of the job comes from.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import { Empty } from '../../ui/notes';
import { StateIcon, wordOf } from '../../ui/status';
import { between, span, useNow } from '../../ui/time';
import type { JobState, NodeState, Shape } from '../queries';
import { criticalPath } from './critical_path';
import './timeline.css';

const ROW_PX = 34;
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 7_200_000,
  21_600_000, 86_400_000,
];

interface Props {
  job: JobState;
  shape: Shape;
  chosen: string | null;
  onChoose: (id: string) => void;
}

export function TimelineView({ job, shape, chosen, onChoose }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const now = useNow(!job.completedAt && !job.asOf, 500);
  const rows = useMemo(() => job.nodes.filter(({ readyAt, dispatchedAt, startedAt }) => readyAt || dispatchedAt || startedAt), [job]);
  const path = useMemo(() => criticalPath(shape, job.nodes), [shape, job]);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => box.current, estimateSize: () => ROW_PX, overscan: 10 });
  const begin = Date.parse(job.createdAt);
  const end = Math.max(begin + 1, Date.parse(job.completedAt ?? job.asOf?.recordedAt ?? new Date(now).toISOString()));
  const total = end - begin;
  const share = (time: number) => (100 * (Math.min(Math.max(time, begin), end) - begin)) / total;
  if (rows.length === 0)
    return (
      <Empty title="Nothing has begun">
        <p>A line appears here as soon as a node may run.</p>
      </Empty>
    );
  return (
    <div className="card timeline" data-timeline>
      <p className="timeline-key small soft">
        <span className="key-wait" /> waits for its turn <span className="key-queue" /> in its queue <span className="key-work" /> at work
        <span className="key-path" /> the chain that the length of the job comes from
      </p>
      <div className="timeline-axis" aria-hidden="true">
        {ticks(total).map((at) => (
          <span key={at} style={{ left: `${(100 * at) / total}%` }}>
            {span(at)}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="timeline-rows" ref={box} tabIndex={0} role="region" aria-label="Timeline">
        <div style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const node = rows[index];
            return (
              node && (
                <button
                  type="button"
                  key={node.id}
                  className="timeline-row"
                  style={{ transform: `translateY(${start}px)` }}
                  data-state={node.status}
                  data-path={path.has(node.id) || undefined}
                  aria-pressed={node.id === chosen}
                  onClick={() => onChoose(node.id)}
                >
                  <span className="timeline-name cut">
                    <StateIcon state={node.status} /> {node.id}
                    <span className="hidden-text">
                      , {wordOf(node.status)}
                      {path.has(node.id) && ', on the critical path'}, took{' '}
                    </span>
                  </span>
                  <span className="timeline-track">
                    <Bars node={node} share={share} end={end} />
                  </span>
                  <span className="timeline-took num">{between(node.startedAt ?? node.readyAt, node.completedAt, now)}</span>
                </button>
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Bars({ node, share, end }: { node: NodeState; share: (time: number) => number; end: number }) {
  const time = (text: string | null) => (text ? Date.parse(text) : undefined);
  const over = time(node.completedAt) ?? end;
  const ready = time(node.readyAt);
  const began = time(node.startedAt);
  const sent = time(node.dispatchedAt) ?? began ?? over;
  // What ends at once says only that it has ended.
  const worked = began ?? (node.completedAt ? sent : over);
  const bar = (kind: string, from: number | undefined, to: number) =>
    from !== undefined &&
    to >= from && <i className={kind} style={{ left: `${share(from)}%`, width: `max(${kind === 'lane-work' ? 3 : 0}px, ${share(to) - share(from)}%)` }} />;
  return (
    <>
      {bar('lane-wait', ready, sent)}
      {bar('lane-queue', sent, worked)}
      {bar('lane-work', worked, over)}
    </>
  );
}

function ticks(total: number): number[] {
  const step = STEPS.find((size) => total / size <= 6) ?? total / 5;
  const found: number[] = [];
  for (let at = 0; at <= total; at += step) found.push(at);
  return found;
}
