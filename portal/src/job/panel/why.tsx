// Why a node is not running, told by what the scheduler itself decides by.
import { useEffect } from 'react';
import { useQuery } from '../../api/use_query';
import { WHY } from './queries';
import { whyText } from './why_text';

export function Why({ job, node, tick }: { job: string; node: string; tick: string }) {
  const { data, reload } = useQuery(WHY, { id: job, node });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed, so the reason may have
  useEffect(() => reload(), [tick]);
  const why = data?.job?.node?.why;
  if (!why || typeof why !== 'object' || Array.isArray(why)) return null;
  return (
    <div className="note" data-why role="note">
      <h3>Why it is not done</h3>
      <p>{whyText(why)}</p>
    </div>
  );
}
