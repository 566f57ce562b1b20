// What an event says, in a few words.
import type { Json } from '../../api/graphql';
import type { EventRow } from './queries';

export const TYPES = [
  'job_created',
  'job_claimed',
  'job_started',
  'job_paused',
  'job_resumed',
  'job_completed',
  'job_failed',
  'job_cancelled',
  'nodes_ready',
  'nodes_skipped',
  'node_passed',
  'branch_taken',
  'fan_out_expanded',
  'node_dispatched',
  'node_redispatched',
  'node_started',
  'checkpoint_saved',
  'node_completed',
  'node_failed',
  'run_lost',
  'run_released',
  'report_ignored',
  'outputs_reused',
  'node_reused',
  'children_reused',
];

type Data = { [key: string]: Json };

function names(value: Json | undefined): string {
  if (!Array.isArray(value)) return '';
  const shown = value.slice(0, 4).join(', ');
  return value.length > 4 ? `${shown} and ${value.length - 4} more` : shown;
}

function message(value: Json | undefined): string {
  const { message: text } = (value ?? {}) as { message?: string };
  return text ?? '';
}

const tried = (data: Data) => (Number(data.attempt) > 1 ? `, attempt ${data.attempt}` : '');

const told: Record<string, (data: Data) => string> = {
  job_created: ({ workflow }) => `${(workflow as Data)?.id} v${(workflow as Data)?.version}`,
  job_claimed: ({ owner }) => `by orchestrator ${String(owner).slice(0, 8)}`,
  job_failed: ({ failure }) => message(failure),
  job_cancelled: ({ reason }) => String(reason ?? ''),
  job_paused: ({ reason }) => String(reason ?? ''),
  nodes_ready: ({ nodes }) => names(nodes),
  nodes_skipped: ({ nodes, because }) => `${names(nodes)}, because of ${because}`,
  branch_taken: ({ node, branch }) => `${node}, branch ${Number(branch) + 1}`,
  fan_out_expanded: ({ node, items }) => `${node} into ${(items as Data)?.count ?? '?'} children`,
  node_dispatched: (data) => `${data.node} to ${data.queue}${tried(data)}`,
  node_started: (data) => `${data.node} on ${data.worker}${tried(data)}`,
  node_completed: (data) => `${data.node}${tried(data)}`,
  node_failed: (data) => `${data.node}${tried(data)}: ${message(data.failure)}`,
};

export function summary({ type, data, node }: EventRow): string {
  const tell = told[type];
  const known = data && typeof data === 'object' && !Array.isArray(data);
  return tell && known ? tell(data) : (node ?? '');
}
