// Going back to an earlier revision: a worker looks at its artifacts first, and what it found decides.
import { useEffect, useRef, useState } from 'react';
import { ask, Refusal } from '../api/client';
import { Dialog } from '../ui/dialog';
import { Wrong } from '../ui/notes';
import type { Act } from './asset_acts';
import { type Asset, CHECK, CHECKED, nameOf, ROLLBACK } from './queries';

const LOOK_EVERY_MS = 500;
/** Nobody can verify it; whoever looks at it may take it all the same. */
const NOT_VERIFIABLE = 'NOT_VERIFIABLE';

export function RollbackDialog({ asset, act, onClose, onDone }: { asset: Asset; act: Act; onClose: () => void; onDone: () => void }) {
  const to = act.revision ?? 0;
  const [reason, setReason] = useState('');
  const [accepts, setAccepts] = useState(false);
  const [step, setStep] = useState<'idle' | 'looking' | 'going back'>('idle');
  const [refusal, setRefusal] = useState<Refusal>();
  // A look holds for an hour, so that accepting what it found needs no second one.
  const looked = useRef<string>(undefined);
  // Nothing to look at: the revision lists no artifacts.
  const [isBare, setBare] = useState(false);
  const closed = useRef<AbortController>(undefined);
  useEffect(() => {
    const ends = new AbortController();
    closed.current = ends;
    return () => ends.abort();
  }, []);
  const run = async () => {
    const signal = closed.current?.signal;
    setRefusal(undefined);
    try {
      setStep('looking');
      if (!isBare) looked.current ??= await look(asset.id, to, signal);
      setStep('going back');
      await ask(ROLLBACK, { id: asset.id, to, reason, job: looked.current ?? null, accept: accepts }, signal);
      onDone();
      onClose();
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof Refusal) {
        setRefusal(error);
        if (error.code === NOT_VERIFIABLE) setBare(looked.current === undefined);
        else looked.current = undefined;
      }
      setStep('idle');
    }
  };
  const asksToAccept = accepts || refusal?.code === NOT_VERIFIABLE;
  return (
    <Dialog title={`${act.verb}: ${nameOf(asset)}`} onClose={onClose} onSubmit={run} action={act.verb} busy={step !== 'idle' || reason.trim() === ''}>
      <p data-preview={act.id}>
        {act.effect} A worker looks first whether its artifacts are still there and what they were. Items of the catalog stay as they are.
      </p>
      <div className="field">
        <label htmlFor="act-reason">
          Reason <span className="required">required</span>
        </label>
        <input id="act-reason" value={reason} maxLength={500} required onChange={(event) => setReason(event.target.value)} />
      </div>
      {asksToAccept && (
        <label>
          <input id="act-accept" type="checkbox" checked={accepts} onChange={(event) => setAccepts(event.target.checked)} /> I have looked at it: bring it back
          though nobody can verify it
        </label>
      )}
      {step !== 'idle' && (
        <p className="wait" role="status">
          {step === 'looking' ? 'A worker looks at the artifacts …' : 'Going back …'}
        </p>
      )}
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}

/** Has a worker look, and waits for it; the job that did. */
async function look(id: string, revision: number, signal?: AbortSignal): Promise<string> {
  const { jobId } = (await ask(CHECK, { id, revision }, signal)).checkArtifacts;
  while (!signal?.aborted) {
    const found = (await ask(CHECKED, { job: jobId }, signal)).artifactCheck;
    if (found?.status === 'failed') {
      throw new Refusal(
        `nobody could look: ${found.failure ?? 'the job failed'}`,
        'CHECK_FAILED',
        'conflict',
        `open the job ${jobId}, mend what it says and try again`,
      );
    }
    if (found?.status === 'ended') break;
    await new Promise((done) => setTimeout(done, LOOK_EVERY_MS));
  }
  return jobId;
}
