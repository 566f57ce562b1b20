// One wish about all jobs of the filter: first it is only counted, then asked for.
import { useEffect, useState } from 'react';
import { ask, Refusal } from '../api/client';
import type { ResultOf } from '../api/graphql';
import { Dialog } from '../ui/dialog';
import { Wrong } from '../ui/notes';
import type { JobFilter } from './filter';
import { STEER } from './queries';

export type Wish = 'CANCEL' | 'RETRY' | 'PAUSE' | 'RESUME';
type Effect = ResultOf<typeof STEER>['steerJobs'];

export const WISHES: Record<Wish, { verb: string; what: string }> = {
  CANCEL: { verb: 'Cancel', what: 'They end, and what runs in them is stopped.' },
  RETRY: { verb: 'Retry', what: 'Each gets a new job that takes over what was finished.' },
  PAUSE: { verb: 'Pause', what: 'What is not dispatched yet is held back.' },
  RESUME: { verb: 'Resume', what: 'What was held back goes on.' },
};

const jobs = (n: number) => (n === 1 ? '1 job' : `${n.toLocaleString()} jobs`);

export function BulkDialog({
  wish,
  filter,
  words,
  onClose,
  onDone,
}: {
  wish: Wish;
  filter: JobFilter;
  words: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const { verb, what } = WISHES[wish];
  const [preview, setPreview] = useState<Effect>();
  const [effect, setEffect] = useState<Effect>();
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState(false);
  const [reason, setReason] = useState('');

  useEffect(() => {
    const abort = new AbortController();
    ask(STEER, { wish, filter, dryRun: true }, abort.signal).then(
      ({ steerJobs }) => setPreview(steerJobs),
      (error) => abort.signal.aborted || setRefusal(error),
    );
    return () => abort.abort();
  }, [wish, filter]);

  const run = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const { steerJobs } = await ask(STEER, { wish, filter, reason: reason || null, dryRun: false });
      setEffect(steerJobs);
      onDone();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
    } finally {
      setBusy(false);
    }
  };

  const count = preview?.matched ?? 0;
  const action = effect || !preview || count === 0 ? undefined : `${verb} ${jobs(count)}`;
  return (
    <Dialog title={`${verb}: ${words}`} onClose={onClose} onSubmit={run} action={action} danger={wish === 'CANCEL'} busy={busy}>
      {refusal && <Wrong refusal={refusal} />}
      {!effect && !preview && !refusal && <p role="status">Counting …</p>}
      {!effect && preview && (
        <p role="status" data-bulk="preview">
          {count === 0 ? (
            'There is no job that this makes sense for.'
          ) : (
            <>
              <strong>{jobs(count)}</strong> would change. {what}
            </>
          )}
          {preview.more && ' There are more than one call takes; call again afterwards.'}
        </p>
      )}
      {!effect && count > 0 && wish === 'CANCEL' && (
        <div className="field">
          <label htmlFor="reason">Reason</label>
          <input id="reason" value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} aria-describedby="reason-hint" />
          <span className="hint" id="reason-hint">
            It stands in the history of each job.
          </span>
        </div>
      )}
      {effect && <Report effect={effect} verb={verb} />}
    </Dialog>
  );
}

function Report({ effect, verb }: { effect: Effect; verb: string }) {
  const { done, failed } = effect;
  return (
    <div role="status" data-bulk="done" className="stack">
      <p>
        <strong>
          {verb}: done for {jobs(done.length)}
        </strong>
        {failed.length > 0 && `, not for ${jobs(failed.length)}`}.
      </p>
      {failed.length > 0 && (
        <ul className="stack small">
          {failed.slice(0, 20).map(({ jobId, error }) => (
            <li key={jobId}>
              <code>{jobId}</code>: {(error as { message?: string }).message}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
