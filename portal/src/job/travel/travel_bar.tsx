// The slider over the events of a job: everything on the page shows the state at that event.
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { go, hereWith, useParam } from '../../router/router';
import { useKey } from '../../shell/keys';
import { When } from '../../ui/time';
import { EventIndex } from './event_index';
import type { IndexedEvent } from './queries';
import './travel.css';

const SPEEDS = [1, 4, 16, 64];
/** Browsers do not take more addresses than this. */
const ADDRESS_MS = 170;

interface Props {
  id: string;
  /** The newest event of the job. */
  newest: IndexedEvent;
  /** The event that is shown; nothing if that is the present. */
  shown: IndexedEvent | undefined;
  isTravelling: boolean;
}

export function TravelBar({ id, newest, shown, isTravelling }: Props) {
  const index = useMemo(() => new EventIndex(id), [id]);
  const last = newest.version;
  const [wanted, setWanted] = useState<number>();
  const [speed, setSpeed] = useState(4);
  const [playing, setPlaying] = useState(false);
  const [from, setFrom] = useParam('from');
  const pending = useRef<number>(undefined);
  const busy = useRef(false);
  const here = wanted ?? (isTravelling ? (shown?.version ?? last) : last);
  const place = useRef(here);
  place.current = here;

  const settle = useCallback(async () => {
    if (busy.current) return;
    busy.current = true;
    while (pending.current !== undefined) {
      const version = pending.current;
      pending.current = undefined;
      const event = await index.at(version).catch(() => undefined);
      if (event) go(hereWith({ at: event.position }), 'replace');
      await new Promise((done) => setTimeout(done, ADDRESS_MS));
    }
    busy.current = false;
  }, [index]);

  const moveTo = useCallback(
    (version: number) => {
      const next = Math.min(Math.max(version, 1), last);
      setWanted(next);
      pending.current = next;
      void settle();
    },
    [last, settle],
  );

  // What was wished for is there: the address leads again.
  useEffect(() => {
    if (pending.current === undefined && shown && shown.version === wanted) setWanted(undefined);
  }, [shown, wanted]);

  const present = useCallback(() => {
    pending.current = undefined;
    setWanted(undefined);
    setPlaying(false);
    go(hereWith({ at: null }), 'replace');
  }, []);

  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(
      () => {
        if (place.current >= last) setPlaying(false);
        else moveTo(place.current + Math.max(1, Math.round(speed / 6)));
      },
      Math.max(ADDRESS_MS, 1_000 / speed),
    );
    return () => clearInterval(timer);
  }, [playing, speed, last, moveTo]);

  useKey((key) => {
    if (key === '[') moveTo(place.current - 1);
    if (key === ']') moveTo(place.current + 1);
  });

  const play = () => {
    if (!playing && here >= last) moveTo(1);
    setPlaying(!playing);
  };
  const event = isTravelling && wanted === undefined ? shown : undefined;
  const told = event ?? (here === last ? newest : undefined);
  return (
    <section className="travel card" aria-label="Time travel" data-at={isTravelling ? shown?.position : undefined} data-travelling={isTravelling || undefined}>
      <button type="button" onClick={play} className="travel-play" aria-label={playing ? 'Stop playing' : 'Play the events'}>
        <svg viewBox="0 0 16 16" aria-hidden="true" width="14" height="14" fill="currentColor">
          {playing ? <path d="M3 2h4v12H3zM9 2h4v12H9z" /> : <path d="M4 2v12l10-6z" />}
        </svg>
      </button>
      <select aria-label="Events per second" value={speed} onChange={(change) => setSpeed(Number(change.target.value))}>
        {SPEEDS.map((one) => (
          <option key={one} value={one}>
            {one}/s
          </option>
        ))}
      </select>
      <input
        type="range"
        min={1}
        max={last}
        value={here}
        onChange={(change) => moveTo(Number(change.target.value))}
        aria-label="Event of the history"
        aria-valuetext={`Event ${here} of ${last}${told ? `, ${told.type}` : ''}`}
      />
      <div className="travel-words">
        <span className="num">
          <strong>{here.toLocaleString()}</strong> / {last.toLocaleString()}
        </span>
        <span className="cut" aria-live="polite">
          {told ? (
            <>
              <code>{told.type}</code>
              {told.node && <> {told.node}</>}{' '}
              <span className="soft">
                <When time={told.recordedAt} />
              </span>
            </>
          ) : (
            ' '
          )}
        </span>
      </div>
      <div className="actions">
        {isTravelling &&
          (from ? (
            <button type="button" onClick={() => setFrom(null)}>
              End the comparison
            </button>
          ) : (
            shown && (
              <button type="button" onClick={() => setFrom(shown.position)}>
                Compare from here
              </button>
            )
          ))}
        <button type="button" onClick={present} disabled={!isTravelling} className={isTravelling ? 'main-action' : 'quiet'}>
          {isTravelling ? 'Back to now' : 'Now'}
        </button>
      </div>
    </section>
  );
}
