// The history itself: a line for each event, the newest first, and all that it says one click away.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { go, hereWith, useParam } from '../../router/router';
import { JsonView } from '../../ui/json';
import { Empty, Wait, Wrong } from '../../ui/notes';
import { at as clock, exact } from '../../ui/time';
import './events.css';
import { summary, TYPES } from './summary';
import { useEvents } from './use_events';

const LINE_PX = 38;

interface Props {
  id: string;
  at: number | undefined;
  tick: string;
}

export function EventsView({ id, at, tick }: Props) {
  const [type, setType] = useParam('type');
  const [raw, setRaw] = useParam('raw');
  const { events, more, readMore, refusal, loading } = useEvents({ id, at, tick, type });
  const [open, setOpen] = useState<number>();
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
    getItemKey: (i) => events[i]?.version ?? i,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= events.length - 15) readMore();
  }, [more, last, events.length, readMore]);
  return (
    <section className="card events" aria-label="Events" data-events>
      <div className="events-bar">
        <select aria-label="Type of event" value={type ?? ''} onChange={(event) => setType(event.target.value)}>
          <option value="">All events</option>
          {TYPES.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        <label className="events-raw">
          <input type="checkbox" checked={raw !== null} onChange={(event) => setRaw(event.target.checked ? 1 : null)} /> Raw
        </label>
        <span className="soft small">The newest first. A click on a position shows the job as it was then.</span>
      </div>
      {refusal && <Wrong refusal={refusal} />}
      {loading && <Wait what="events" />}
      {!loading && !refusal && events.length === 0 && (
        <Empty title="No event of this type">
          <p>Choose another type.</p>
        </Empty>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <div className="events-rows" ref={box} tabIndex={0} role="region" aria-label="Events, the newest first">
        <ol style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start, key }) => {
            const event = events[index];
            return (
              event && (
                <li key={key} data-index={index} ref={virtual.measureElement} style={{ transform: `translateY(${start}px)` }}>
                  <div className="event-line" data-type={event.type}>
                    <button
                      type="button"
                      className="event-pos num"
                      title="Show the job as it was after this event"
                      onClick={() => go(hereWith({ at: event.position }), 'replace')}
                    >
                      {event.version}
                    </button>
                    <time dateTime={event.recordedAt} title={exact(event.recordedAt)} className="soft num">
                      {clock(event.recordedAt)}
                    </time>
                    <button
                      type="button"
                      className="event-open"
                      aria-expanded={open === event.version || raw !== null}
                      onClick={() => setOpen(open === event.version ? undefined : event.version)}
                    >
                      <code>{event.type}</code> <span>{summary(event)}</span>
                    </button>
                  </div>
                  {(open === event.version || raw !== null) && (
                    <div className="event-data">
                      <p className="small soft">
                        Position {event.position} of the log, event {event.version} of the job
                        {event.actor && (
                          <>
                            , by <code>{event.actor}</code>
                          </>
                        )}
                      </p>
                      <JsonView value={event.data} label={`Event ${event.version}`} />
                    </div>
                  )}
                </li>
              )
            );
          })}
        </ol>
      </div>
    </section>
  );
}
