// What can be done with a job. Each action says first what it will do.
import { type ReactNode, useState } from 'react';
import { ask, Refusal } from '../api/client';
import { useMayWrite } from '../api/me';
import { go } from '../router/router';
import { useKey } from '../shell/keys';
import { doneOf } from '../ui/counts';
import { Dialog } from '../ui/dialog';
import { Wrong } from '../ui/notes';
import { CANCEL, type JobState, PAUSE, RELEASE, RESUME, RETRY } from './queries';

type Deed = 'cancel' | 'pause' | 'resume' | 'retry' | 'release';

interface Props {
  id: string;
  job: JobState | undefined;
  quarantined: boolean;
  onDone: () => void;
}

const nodes = (n: number) => (n === 1 ? '1 node' : `${n.toLocaleString()} nodes`);

function deedsOf(job: JobState | undefined, quarantined: boolean): Deed[] {
  const ended = job && job.status !== 'PENDING' && job.status !== 'RUNNING';
  if (ended) return job.status === 'COMPLETED' ? [] : ['retry'];
  const held = quarantined ? (['release'] as const) : [];
  if (!job) return [...held, 'cancel'];
  return [...held, job.paused ? 'resume' : 'pause', 'cancel'];
}

const verbs: Record<Deed, string> = { cancel: 'Cancel', pause: 'Pause', resume: 'Resume', retry: 'Retry', release: 'Release' };

function preview(deed: Deed, job: JobState | undefined): ReactNode {
  const counts = job?.progress.counts;
  if (!counts) return deed === 'cancel' ? 'The request is taken back; nothing of it has run.' : null;
  const atWork = counts.running + counts.dispatched;
  const rest = counts.pending + counts.ready;
  switch (deed) {
    case 'cancel':
      return (
        <>
          The job ends: <strong>{nodes(atWork)}</strong> at work are stopped, <strong>{nodes(rest)}</strong> never run, {nodes(doneOf(counts))} stay as they
          are. This cannot be undone, but the job can be retried.
        </>
      );
    case 'pause':
      return (
        <>
          <strong>{nodes(rest)}</strong> are held back until somebody resumes the job; {nodes(atWork)} at work go on to their end.
        </>
      );
    case 'resume':
      return (
        <>
          <strong>{nodes(rest)}</strong> that were held back go on.
        </>
      );
    case 'retry':
      return (
        <>
          A new job takes over the results of <strong>{nodes(counts.completed)}</strong> and runs the others again,{' '}
          <strong>{nodes(counts.total - counts.completed)}</strong> at most. This job stays as it is.
        </>
      );
    case 'release':
      return <>Orchestrators that took this job ended without a word, so it was left alone. It is tried once more.</>;
  }
}

export function JobActions({ id, job, quarantined, onDone }: Props) {
  const mayWrite = useMayWrite();
  const [deed, setDeed] = useState<Deed>();
  const deeds = mayWrite ? deedsOf(job, quarantined) : [];
  useKey((key) => {
    if (key === 'x' && deeds.includes('cancel')) setDeed('cancel');
  });
  return (
    <>
      {deeds.map((one) => (
        <button key={one} type="button" onClick={() => setDeed(one)} className={one === 'cancel' ? 'danger' : one === 'retry' ? 'main-action' : ''}>
          {verbs[one]} …
        </button>
      ))}
      {deed && <DeedDialog id={id} deed={deed} job={job} onClose={() => setDeed(undefined)} onDone={onDone} />}
    </>
  );
}

function DeedDialog({ id, deed, job, onClose, onDone }: { id: string; deed: Deed; job: JobState | undefined; onClose: () => void; onDone: () => void }) {
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const run = async () => {
    setBusy(true);
    try {
      if (deed === 'retry') {
        const { retryJob } = await ask(RETRY, { id });
        if (retryJob.newJobId) return go(`/jobs/${retryJob.newJobId}`);
      } else if (deed === 'cancel') await ask(CANCEL, { id, reason: reason || null });
      else if (deed === 'pause') await ask(PAUSE, { id, reason: reason || null });
      else if (deed === 'resume') await ask(RESUME, { id });
      else await ask(RELEASE, { id });
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
      setBusy(false);
    }
  };
  const asksWhy = deed === 'cancel' || deed === 'pause';
  return (
    <Dialog title={`${verbs[deed]} this job?`} onClose={onClose} onSubmit={run} action={`${verbs[deed]} the job`} danger={deed === 'cancel'} busy={busy}>
      <p data-preview={deed}>{preview(deed, job)}</p>
      {asksWhy && (
        <div className="field">
          <label htmlFor="why">Reason</label>
          <input id="why" value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} aria-describedby="why-hint" />
          <span id="why-hint" className="hint">
            It stands in the history of the job.
          </span>
        </div>
      )}
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}
