// Children of a fan-out, page after page; what is in sight follows the job.
import { useCallback, useEffect, useRef, useState } from 'react';
import { ask, Refusal } from '../../api/client';
import type { ResultOf, VariablesOf } from '../../api/graphql';
import { CHILDREN } from './queries';

type Page = NonNullable<NonNullable<NonNullable<ResultOf<typeof CHILDREN>['job']>['node']>['children']>;
type Child = Page['nodes'][number];
export type ChildState = NonNullable<VariablesOf<typeof CHILDREN>['status']>;

interface Wanted {
  job: string;
  node: string;
  at: number | undefined;
  tick: string;
  status: ChildState | null;
  page: number;
}

/** Pages that are kept up to date while the job runs; further ones are read anew when it has ended. */
const FRESH_PAGES = 5;

export function useChildren({ job, node, at, tick, status, page }: Wanted) {
  const [pages, setPages] = useState<readonly Page[]>([]);
  const [refusal, setRefusal] = useState<Refusal>();
  const count = useRef(1);
  const busy = useRef(false);
  const stale = useRef(false);
  const key = `${job} ${node} ${at} ${status}`;
  const latest = useRef(key);
  latest.current = key;

  const one = useCallback(
    async (after: string | null) => {
      const asOf = at === undefined ? undefined : { pos: at };
      const answer = await ask(CHILDREN, { id: job, node, asOf, first: page, after, status });
      return answer.job?.node?.children;
    },
    [job, node, at, status, page],
  );

  const run = useCallback(
    async (from: 'start' | 'end') => {
      if (busy.current) {
        stale.current = true;
        return;
      }
      busy.current = true;
      const mine = latest.current;
      try {
        let got: Page[] = [];
        setPages((last) => {
          got = [...last];
          return last;
        });
        // React may not have called it yet.
        await Promise.resolve();
        const begin = from === 'start' ? 0 : got.length;
        const end = from === 'start' ? Math.min(Math.max(count.current, 1), FRESH_PAGES) : got.length + 1;
        for (let i = begin; i < end; i += 1) {
          const before = got[i - 1];
          if (before && !before.pageInfo.hasNextPage) break;
          const next = await one(before?.pageInfo.endCursor ?? null);
          if (latest.current !== mine) return;
          if (!next) break;
          got[i] = next;
        }
        count.current = got.length;
        setPages(got);
        setRefusal(undefined);
      } catch (error) {
        if (error instanceof Refusal) setRefusal(error);
      } finally {
        busy.current = false;
        if (stale.current) {
          stale.current = false;
          setTimeout(() => void run('start'), 300);
        }
      }
    },
    [one],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: another question begins anew
  useEffect(() => {
    setPages([]);
    count.current = 1;
  }, [key]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed, so children may have
  useEffect(() => {
    void run('start');
  }, [run, tick]);

  const readMore = useCallback(() => {
    if (!busy.current) void run('end');
  }, [run]);
  const children: Child[] = pages.flatMap(({ nodes }) => nodes);
  return { children, more: pages.at(-1)?.pageInfo.hasNextPage ?? false, readMore, refusal };
}
