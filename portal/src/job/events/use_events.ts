// Events from the end of a history backwards: the first page follows the job, older ones are read when wanted.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { ask } from '../../api/client';
import { useQuery } from '../../api/use_query';
import { EVENTS, type EventRow } from './queries';

const PAGE = 100;

interface Wanted {
  id: string;
  at: number | undefined;
  tick: string;
  type: string | null;
}

export function useEvents({ id, at, tick, type }: Wanted) {
  const asOf = at === undefined ? undefined : { pos: at };
  const types = type ? [type] : undefined;
  const { data, refusal, loading, reload } = useQuery(EVENTS, { id, asOf, types, first: PAGE });
  const [older, setOlder] = useState<{ rows: EventRow[]; cursor: string | null; more: boolean }>();
  const busy = useRef(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another question is another list
  useEffect(() => setOlder(undefined), [id, at, type]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed
  useEffect(() => reload(), [tick]);

  const page = data?.job?.events;
  const events = useMemo(() => {
    const first = page?.nodes ?? [];
    const end = first.at(-1)?.version ?? 0;
    return [...first, ...(older?.rows ?? []).filter(({ version }) => version < end)];
  }, [page, older]);
  const more = older ? older.more : (page?.pageInfo.hasNextPage ?? false);
  const cursor = older ? older.cursor : (page?.pageInfo.endCursor ?? null);
  const readMore = useCallback(async () => {
    if (busy.current || !cursor) return;
    busy.current = true;
    try {
      const { job } = await ask(EVENTS, { id, asOf: at === undefined ? undefined : { pos: at }, types: type ? [type] : undefined, first: PAGE, after: cursor });
      const next = job?.events;
      // The first page moves on while the job runs: what was in it stays.
      if (next)
        setOlder((last) => ({ rows: [...(last?.rows ?? page?.nodes ?? []), ...next.nodes], cursor: next.pageInfo.endCursor, more: next.pageInfo.hasNextPage }));
    } finally {
      busy.current = false;
    }
  }, [cursor, id, at, type, page]);
  return { events, more, readMore, refusal, loading: loading && !page };
}
