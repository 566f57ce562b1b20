// What waits in which queue, for how long, and how much is at work.
import { graphql } from '../api/graphql';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Table } from '../ui/table';
import { span } from '../ui/time';
import { usePolled } from './use_polled';

const QUEUES = graphql(`query Queues { queues { queue priority depth inFlight oldestAgeSeconds } }`);

export function QueuesPart() {
  const { data, refusal } = usePolled(QUEUES, {});
  if (!data) return refusal ? <Wrong refusal={refusal} /> : <Wait what="queues" />;
  if (data.queues.length === 0)
    return (
      <Empty title="No queues yet">
        <p>A queue appears with the first task for it.</p>
      </Empty>
    );
  return (
    <div className="stack">
      {refusal && <Wrong refusal={refusal} />}
      <Table label="Queues" head={['Queue', 'Priority', 'Waiting', 'At work', 'Oldest waits for']}>
        {data.queues.map(({ queue, priority, depth, inFlight, oldestAgeSeconds }) => (
          <tr key={`${queue} ${priority}`}>
            <td>
              <code>{queue}</code>
            </td>
            <td>{priority.toLowerCase()}</td>
            <td className="num">{depth.toLocaleString()}</td>
            <td className="num">{inFlight.toLocaleString()}</td>
            <td className="num">{oldestAgeSeconds === null ? '–' : span(oldestAgeSeconds * 1_000)}</td>
          </tr>
        ))}
      </Table>
      <p className="small soft">Waiting are messages that no worker has taken. What is ready beyond that waits with the orchestrators.</p>
    </div>
  );
}
