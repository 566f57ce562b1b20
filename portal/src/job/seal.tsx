// The seal: whether the history of a job is what was written, and the proof of it for whoever has no database.
import { useEffect, useState } from 'react';
import { ask, Refusal } from '../api/client';
import { graphql, type ResultOf } from '../api/graphql';
import { Dialog } from '../ui/dialog';
import { CopyButton } from '../ui/json';
import { Wrong } from '../ui/notes';

const PROOF = graphql(`query Proof($id: String!) { job(id: $id) { proof { events key file } } }`);

type Proof = NonNullable<ResultOf<typeof PROOF>['job']>['proof'];

export function Seal({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)} data-seal-button>
        Verify …
      </button>
      {open && <SealDialog id={id} onClose={() => setOpen(false)} />}
    </>
  );
}

/** The newest events are signed a moment after they were written. */
const SIGNED_SOON_MS = 1_000;
const TRIES_MAX = 10;

function SealDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [proof, setProof] = useState<Proof>();
  const [refusal, setRefusal] = useState<Refusal>();
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (triesLeft: number) => {
      try {
        setProof((await ask(PROOF, { id }, abort.signal)).job?.proof);
      } catch (error) {
        if (abort.signal.aborted || !(error instanceof Refusal)) return;
        if (error.code === 'NOT_SIGNED' && triesLeft > 0) timer = setTimeout(() => look(triesLeft - 1), SIGNED_SOON_MS);
        else setRefusal(error);
      }
    };
    void look(TRIES_MAX);
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return (
    <Dialog title="Is this history what was written?" onClose={onClose} onSubmit={onClose}>
      {!proof && !refusal && <p role="status">Making the proof, and checking it …</p>}
      {refusal && (
        <>
          <p className="seal" data-seal={refusal.code}>
            <strong>Not verified</strong>
          </p>
          <Wrong refusal={refusal} />
        </>
      )}
      {proof && <Verified id={id} proof={proof} />}
    </Dialog>
  );
}

function Verified({ id, proof }: { id: string; proof: Proof }) {
  const name = `${id}.proof`;
  const check = `strata audit check ${name} --key ${proof.key}`;
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([proof.file], { type: 'application/octet-stream' }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [proof]);
  return (
    <div className="stack">
      <p className="seal good" data-seal="verified">
        <strong>✓ Verified just now</strong>
        <span>
          {proof.events === 1 ? 'Its event is' : `All ${proof.events.toLocaleString()} events are`} in the log that the checkpoint signs; none was changed, left
          out or put in later.
        </span>
      </p>
      <p>So says this server. The file says it without any server, to whoever knows the key from elsewhere:</p>
      <div className="copyable">
        <pre className="code wrap">{check}</pre>
        <CopyButton text={check} what="the command" />
      </div>
      <a className="button main-action" href={address} download={name}>
        Download the proof
      </a>
    </div>
  );
}
