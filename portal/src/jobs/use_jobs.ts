// The rows of the list: the first page is live, older pages are read when somebody scrolls to them.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ask } from '../api/client';
import { useFollow, useQuery } from '../api/use_query';
import type { JobFilter } from './filter';
import { JOBS, JOBS_LIVE, type JobRow } from './queries';

const PAGE = 100;
/** Rows that a page keeps; who wants more narrows the filter. */
const ROWS_MAX = 5_000;

interface Older {
  rows: JobRow[];
  cursor: string | null;
  more: boolean;
}

export function useJobs(filter: JobFilter) {
  const { data, refusal, loading, reload } = useQuery(JOBS, { filter, first: PAGE });
  const [older, setOlder] = useState<Older>();
  const [changed, setChanged] = useState<ReadonlyMap<string, JobRow>>(new Map());
  const reading = useRef(false);
  const key = JSON.stringify(filter);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => {
    setOlder(undefined);
    setChanged(new Map());
  }, [key]);

  useFollow(JOBS_LIVE, { filter }, (message) => {
    reload();
    const jobs = message?.jobs.jobs ?? [];
    if (jobs.length > 0) setChanged((last) => recent(last, jobs));
  });

  const page = data?.jobs;
  const rows = useMemo(() => {
    const first = page?.nodes ?? [];
    const seen = new Set(first.map(({ id }) => id));
    const rest = (older?.rows ?? []).filter(({ id }) => !seen.has(id));
    return [...first, ...rest.map((row) => changed.get(row.id) ?? row)];
  }, [page, older, changed]);

  const more = older ? older.more : (page?.pageInfo.hasNextPage ?? false);
  const cursor = older ? older.cursor : (page?.pageInfo.endCursor ?? null);
  const readMore = useCallback(async () => {
    if (reading.current || !more || !cursor || rows.length >= ROWS_MAX) return;
    reading.current = true;
    try {
      const { jobs } = await ask(JOBS, { filter: JSON.parse(key), first: PAGE, after: cursor });
      const { endCursor, hasNextPage } = jobs.pageInfo;
      setOlder((last) => ({ rows: [...(last?.rows ?? page?.nodes ?? []), ...jobs.nodes], cursor: endCursor, more: hasNextPage }));
    } finally {
      reading.current = false;
    }
  }, [more, cursor, key, rows.length, page]);

  const counts = useMemo(() => new Map((page?.counts ?? []).map(({ status, count }) => [status as string, count])), [page]);
  return { rows, counts, more, readMore, refusal, loading: loading && !page, reload, isFull: rows.length >= ROWS_MAX };
}

const CHANGED_MAX = 2_000;

function recent(last: ReadonlyMap<string, JobRow>, jobs: readonly JobRow[]): Map<string, JobRow> {
  const next = new Map(last.size > CHANGED_MAX ? [] : last);
  for (const job of jobs) next.set(job.id, job);
  return next;
}
