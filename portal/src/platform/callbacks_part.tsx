// Who is told when a job ends, and what came of it; whatever was settled can be sent again.
import { useState } from 'react';
import { ask, Refusal } from '../api/client';
import { graphql } from '../api/graphql';
import { useMayWrite } from '../api/me';
import { Link, useParam } from '../router/router';
import { Dialog } from '../ui/dialog';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Table, Unseen } from '../ui/table';
import { span, When } from '../ui/time';
import { usePolled } from './use_polled';

const CALLBACKS = graphql(`
  query Callbacks($status: String) {
    callbacks(status: $status, first: 100) {
      nodes {
        id jobId jobStatus url secretRef status attempts dueAt createdAt settledAt lastStatusCode lastErrorCode lastError
        deliveries { attempt at durationMs statusCode errorCode error byHand }
      }
    }
  }
`);

const REDELIVER = graphql(`mutation Redeliver($id: String!) { redeliverCallback(id: $id) { callbackId position } }`);

const STATES: Record<string, [string, string]> = {
  waiting: ['waits for the job', ''],
  due: ['due', 'warm'],
  delivered: ['✓ delivered', 'good'],
  given_up: ['✕ given up', 'bad'],
};

export function CallbacksPart() {
  const [status, setStatus] = useParam('status');
  const mayWrite = useMayWrite();
  const { data, refusal, reload } = usePolled(CALLBACKS, { status });
  const [again, setAgain] = useState<{ id: string; url: string }>();
  const rows = data?.callbacks.nodes;
  return (
    <div className="stack">
      <div className="filter">
        <select aria-label="State of the callbacks" value={status ?? ''} onChange={(event) => setStatus(event.target.value)}>
          <option value="">All callbacks</option>
          {Object.keys(STATES).map((one) => (
            <option key={one} value={one}>
              {one.replace('_', ' ')}
            </option>
          ))}
        </select>
      </div>
      {refusal && <Wrong refusal={refusal} />}
      {!rows && !refusal && <Wait what="callbacks" />}
      {rows?.length === 0 && (
        <Empty title={status ? 'No callback has this state' : 'No callbacks yet'}>
          <p>A submission that names an address is called back when its job ends.</p>
        </Empty>
      )}
      {rows && rows.length > 0 && (
        <Table label="Callbacks" head={['State', 'Address', 'Job', 'Tries', 'Last answer', <Unseen key="acts">Actions</Unseen>]}>
          {rows.map((one) => (
            <tr key={one.id} data-callback={one.id}>
              <td>
                <span className={`badge ${STATES[one.status]?.[1] ?? ''}`}>{STATES[one.status]?.[0] ?? one.status}</span>
              </td>
              <td>
                <code className="hash">{one.url}</code>
              </td>
              <td>
                <Link to={`/jobs/${one.jobId}`}>{one.jobId.slice(0, 12)}…</Link>
              </td>
              <td>
                {one.deliveries.length === 0 ? (
                  <span className="num">{one.attempts}</span>
                ) : (
                  <details>
                    <summary className="num">{one.attempts}</summary>
                    <ul className="small stack-tight">
                      {one.deliveries.map((try_) => (
                        <li key={`${try_.attempt} ${try_.at}`}>
                          <When time={try_.at} /> {try_.statusCode ?? try_.errorCode}{' '}
                          <span className="soft">
                            {span(try_.durationMs)}
                            {try_.byHand && ', by hand'}
                          </span>{' '}
                          {try_.error}
                        </li>
                      ))}
                    </ul>
                  </details>
                )}
              </td>
              <td className="small">
                {one.lastStatusCode ?? one.lastErrorCode ?? '–'} {one.lastError}
                {one.status === 'due' && one.dueAt && (
                  <>
                    {' '}
                    next at <When time={one.dueAt} />
                  </>
                )}
              </td>
              <td className="right">
                {mayWrite && (one.status === 'delivered' || one.status === 'given_up') && (
                  <button type="button" onClick={() => setAgain(one)}>
                    Send again …
                  </button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {again && <AgainDialog callback={again} onClose={() => setAgain(undefined)} onDone={reload} />}
    </div>
  );
}

function AgainDialog({ callback, onClose, onDone }: { callback: { id: string; url: string }; onClose: () => void; onDone: () => void }) {
  const [refusal, setRefusal] = useState<Refusal>();
  const run = async () => {
    try {
      await ask(REDELIVER, { id: callback.id });
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
    }
  };
  return (
    <Dialog title="Send this callback again?" action="Send it again" onClose={onClose} onSubmit={run}>
      <p>
        The same message goes to <code className="hash">{callback.url}</code> once more, under the same <code>webhook-id</code>: a receiver that keeps to the
        standard knows that it had it.
      </p>
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}
