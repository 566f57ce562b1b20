// One node of the graph: a step, a choice, or a fan-out folded to one node with its counts.
import { type Node as FlowNode, Handle, type NodeProps, Position } from '@xyflow/react';
import { memo } from 'react';
import { CountsRing, countsText, doneOf } from '../../ui/counts';
import { StateIcon, wordOf } from '../../ui/status';
import { between } from '../../ui/time';
import type { NodeState } from '../queries';
import type { Direction } from './layout';
import { isEnd } from './layout';
import { useShown } from './node_store';

export interface GraphNodeData extends Record<string, unknown> {
  kind: string;
  handler: string | null;
  direction: Direction;
}

export type GraphFlowNode = FlowNode<GraphNodeData, 'step'>;

const kinds: Record<string, string> = { conditional: 'choice', fan_out: 'fan-out', fan_in: 'gathers' };

function detail(state: NodeState | undefined): string {
  if (!state) return wordOf('PENDING');
  const word = wordOf(state.status);
  if (state.status === 'COMPLETED') {
    const took = state.startedAt ? ` in ${between(state.startedAt, state.completedAt)}` : '';
    return `${word}${took}`;
  }
  return word;
}

/** Tries are told when there was more than one; success after some of them is not hidden. */
function Tries({ state }: { state: NodeState | undefined }) {
  const tries = (state?.retryCount ?? 0) + 1;
  if (tries < 2) return null;
  return <span className="badge warm">{state?.status === 'COMPLETED' ? `after ${tries} tries` : `try ${tries}`}</span>;
}

export const GraphNode = memo(function GraphNode({ id, data }: NodeProps<GraphFlowNode>) {
  const { state, chosen, found } = useShown(id);
  const status = state?.status ?? 'PENDING';
  const { kind, direction } = data;
  const counts = kind === 'fan_out' ? state?.childCounts : undefined;
  const [from, to] = direction === 'RIGHT' ? [Position.Left, Position.Right] : [Position.Top, Position.Bottom];
  const words = counts && counts.total > 0 ? `${doneOf(counts).toLocaleString()} of ${counts.total.toLocaleString()}` : detail(state);
  return (
    <>
      {kind !== 'start' && <Handle type="target" position={from} isConnectable={false} />}
      <button
        type="button"
        className="step"
        data-node={id}
        data-kind={kind}
        data-state={status}
        data-chosen={chosen || undefined}
        data-found={found || undefined}
        aria-pressed={chosen}
      >
        {counts && counts.total > 0 ? <CountsRing counts={counts} /> : <StateIcon state={status} />}
        <span className="step-words">
          <span className="step-name cut">{id}</span>
          {!isEnd(kind) && (
            <span className="step-detail cut">
              <span className="step-state">{words}</span>
              <span className="soft"> · {data.handler ?? kinds[kind] ?? kind}</span>
            </span>
          )}
        </span>
        {counts && <span className="hidden-text">, children: {countsText(counts)}</span>}
        <Tries state={state} />
      </button>
      {kind !== 'end' && <Handle type="source" position={to} isConnectable={false} />}
    </>
  );
});
