// Rows of jobs; only those in sight are in the page.
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { Link } from '../router/router';
import { CountsBar } from '../ui/counts';
import { Status } from '../ui/status';
import { between, useNow, When } from '../ui/time';
import type { JobRow } from './queries';

const ROW_PX = 58;
const NARROW_ROW_PX = 92;
const BEFORE_END = 20;

function useNarrow(): boolean {
  const query = '(max-width: 760px)';
  const [narrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const change = () => setNarrow(media.matches);
    media.addEventListener('change', change);
    return () => media.removeEventListener('change', change);
  }, []);
  return narrow;
}

export function JobList({ rows, readMore }: { rows: readonly JobRow[]; readMore: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => setTop(box.current?.offsetTop ?? 0), []);
  const height = useNarrow() ? NARROW_ROW_PX : ROW_PX;
  const virtual = useWindowVirtualizer({ count: rows.length, estimateSize: () => height, overscan: 8, scrollMargin: top, getItemKey: (i) => rows[i]?.id ?? i });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another height are measured anew
  useLayoutEffect(() => virtual.measure(), [virtual, height]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - BEFORE_END) readMore();
  }, [last, rows.length, readMore]);
  const now = useNow(rows.some(({ completedAt }) => !completedAt));
  return (
    <div className="card job-list" ref={box}>
      <ul style={{ height: virtual.getTotalSize() }} aria-label="Jobs">
        {items.map(({ index, start, size, key }) => {
          const job = rows[index];
          return (
            job && (
              <li key={key} style={{ transform: `translateY(${start - top}px)`, height: size }}>
                <Row job={job} now={now} />
              </li>
            )
          );
        })}
      </ul>
    </div>
  );
}

function Row({ job, now }: { job: JobRow; now: number }) {
  const state = job.paused && !job.completedAt ? 'PAUSED' : job.status;
  const { progress } = job;
  return (
    <Link to={`/jobs/${job.id}`} className="job-row" data-row data-job={job.id} data-status={job.status}>
      <span className="job-state">
        <Status state={state} />
      </span>
      <span className="job-name">
        <span className="cut">
          <strong>{job.workflowId}</strong> <span className="soft">v{job.workflowVersion}</span>
          {job.priority !== 'NORMAL' && (
            <>
              {' '}
              <span className="badge">{job.priority.toLowerCase()}</span>
            </>
          )}
          {job.origin && (
            <>
              {' '}
              <span className="badge">retry</span>
            </>
          )}
        </span>
        <span className="mono soft small cut">{job.id}</span>
      </span>
      <span className="job-progress">
        {progress.total > 0 && <CountsBar counts={progress.counts} label="Progress" />}
        <span className="small soft num cut">{failureText(job) ?? `${progress.done.toLocaleString()} of ${progress.total.toLocaleString()} nodes`}</span>
      </span>
      <span className="job-times num">
        <When time={job.createdAt} />
        <span className="small soft">{between(job.createdAt, job.completedAt, now)}</span>
      </span>
    </Link>
  );
}

export function failureText({ failure }: { failure: unknown }): string | undefined {
  if (failure === null || typeof failure !== 'object') return undefined;
  const { message, reason, code } = failure as { message?: string; reason?: string; code?: string };
  return message ?? reason ?? code;
}
