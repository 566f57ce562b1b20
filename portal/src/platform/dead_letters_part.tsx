// Messages that nobody could make sense of.
import { useState } from 'react';
import { ask, Refusal } from '../api/client';
import { graphql } from '../api/graphql';
import { Dialog } from '../ui/dialog';
import { Empty, Wait, Wrong } from '../ui/notes';
import { When } from '../ui/time';
import { usePolled } from './use_polled';

const LETTERS = graphql(`query DeadLetters { deadLetters(first: 100) { id subject reason payload sizeBytes isWhole receivedAt } }`);
const REPLAY = graphql(`mutation ReplayLetter($id: Int!) { replayDeadLetter(id: $id) { outcome } }`);
const DISCARD = graphql(`mutation DiscardLetter($id: Int!) { discardDeadLetter(id: $id) { outcome } }`);

interface Wish {
  id: number;
  deed: 'replay' | 'discard';
}

export function DeadLettersPart() {
  const { data, refusal, reload } = usePolled(LETTERS, {}, 5_000);
  const [wish, setWish] = useState<Wish>();
  const letters = data?.deadLetters;
  if (!letters) return refusal ? <Wrong refusal={refusal} /> : <Wait what="dead letters" />;
  if (letters.length === 0)
    return (
      <Empty title="No dead letters">
        <p>Every message was understood. One that is not would lie here, with the reason.</p>
      </Empty>
    );
  return (
    <div className="stack">
      {letters.map((letter) => (
        <section key={letter.id} className="card padded stack" aria-label={`Dead letter ${letter.id}`}>
          <div className="page-head">
            <div>
              <h2>{letter.reason}</h2>
              <p className="small">
                <code>{letter.subject}</code> · <When time={letter.receivedAt} /> · {letter.sizeBytes.toLocaleString()} bytes
              </p>
            </div>
            <div className="actions">
              {letter.isWhole && (
                <button type="button" onClick={() => setWish({ id: letter.id, deed: 'replay' })}>
                  Send again …
                </button>
              )}
              <button type="button" className="danger" onClick={() => setWish({ id: letter.id, deed: 'discard' })}>
                Discard …
              </button>
            </div>
          </div>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre className="code wrap" tabIndex={0} role="region" aria-label="What is kept of it">
            {letter.payload}
          </pre>
        </section>
      ))}
      {wish && <LetterDialog wish={wish} onClose={() => setWish(undefined)} onDone={reload} />}
    </div>
  );
}

function LetterDialog({ wish, onClose, onDone }: { wish: Wish; onClose: () => void; onDone: () => void }) {
  const [refusal, setRefusal] = useState<Refusal>();
  const isReplay = wish.deed === 'replay';
  const run = async () => {
    try {
      if (isReplay) await ask(REPLAY, { id: wish.id });
      else await ask(DISCARD, { id: wish.id });
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
    }
  };
  return (
    <Dialog
      title={isReplay ? 'Send this message again?' : 'Discard this message?'}
      action={isReplay ? 'Send it again' : 'Discard it'}
      danger={!isReplay}
      onClose={onClose}
      onSubmit={run}
    >
      <p>{isReplay ? 'It goes to where it came from, and leaves this list. If it is not understood again, it comes back.' : 'It is forgotten for good.'}</p>
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}
