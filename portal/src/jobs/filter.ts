// The filter of the list, as the address has it.
import { useMemo } from 'react';
import type { VariablesOf } from '../api/graphql';
import { usePlace } from '../router/router';
import type { JOBS } from './queries';

export type JobFilter = NonNullable<VariablesOf<typeof JOBS>['filter']>;
export type JobStatus = NonNullable<NonNullable<JobFilter['status']>[number]>;

export const STATUSES: readonly JobStatus[] = ['PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED'];

export const SINCE: Record<string, [string, number]> = {
  '1h': ['the last hour', 3_600_000],
  '1d': ['the last day', 86_400_000],
  '7d': ['the last week', 604_800_000],
};

const MINUTE_MS = 60_000;

export function useFilter(): { filter: JobFilter; isEmpty: boolean } {
  const { search } = usePlace();
  const text = search.toString();
  return useMemo(() => {
    const asked = new URLSearchParams(text);
    const status = asked.getAll('status').filter((word): word is JobStatus => STATUSES.includes(word as JobStatus));
    const since = SINCE[asked.get('since') ?? ''];
    const filter: JobFilter = {};
    if (status.length > 0) filter.status = status;
    const workflow = asked.get('workflow');
    if (workflow) filter.workflow = workflow;
    const words = asked.get('q');
    if (words) filter.text = words;
    // Whole minutes, so that the same address asks the same question for a while.
    if (since) filter.createdFrom = new Date(Math.floor((Date.now() - since[1]) / MINUTE_MS) * MINUTE_MS).toISOString();
    return { filter, isEmpty: Object.keys(filter).length === 0 };
  }, [text]);
}

/** The filter in words. */
export function filterText(filter: JobFilter, since: string | null): string {
  const parts = [
    filter.status?.map((word) => String(word).toLowerCase()).join(' or '),
    filter.workflow && `of ${filter.workflow}`,
    filter.text && `with “${filter.text}”`,
    since && SINCE[since] && `of ${SINCE[since][0]}`,
  ];
  return parts.filter(Boolean).join(', ') || 'all jobs';
}
