// The job of the page: how it is now, how it was at the event that the address names, and the shape of its graph.
import { useFollow, useQuery } from '../api/use_query';
import { JOB, PROGRESS, REQUEST, SHAPE } from './queries';

export function useJob(id: string, at: number | undefined) {
  const live = useQuery(JOB, { id });
  const then = useQuery(JOB, at === undefined ? undefined : { id, asOf: { pos: at } });
  useFollow(PROGRESS, { id }, live.reload);

  const now = live.data?.job ?? undefined;
  const past = at === undefined ? undefined : (then.data?.job ?? undefined);
  const requestId = now ? undefined : live.data?.openJob?.requestId;
  const { data: asked } = useQuery(REQUEST, requestId ? { id: requestId } : undefined);
  const request = requestId ? (asked?.request ?? undefined) : undefined;

  const of = now ?? request;
  const shape = useQuery(SHAPE, of ? { id: of.workflowId, version: of.workflowVersion } : undefined);
  return {
    now,
    /** What the page shows. */
    shown: at === undefined ? now : past,
    request,
    openJob: live.data?.openJob ?? undefined,
    shape: shape.data?.workflow ?? undefined,
    refusal: live.refusal ?? (at === undefined ? undefined : then.refusal) ?? shape.refusal,
    isMissing: live.data !== undefined && !now && !requestId,
    reload: live.reload,
  };
}
