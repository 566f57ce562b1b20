// The children of a fan-out as a grid. However many there are, only those in sight are in the page.
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { hereWith, Link } from '../../router/router';
import { type Counts, CountsBar, countsText, partsOf } from '../../ui/counts';
import { Wrong } from '../../ui/notes';
import { StateIcon, wordOf } from '../../ui/status';
import { type ChildState, useChildren } from './use_children';

const CELL_PX = 34;
const PAGE = 200;

interface Props {
  job: string;
  node: string;
  at: number | undefined;
  tick: string;
  counts: Counts | null;
}

export function ChildGrid({ job, node, at, tick, counts }: Props) {
  const [status, setStatus] = useState<ChildState | null>(null);
  const { children, more, readMore, refusal } = useChildren({ job, node, at, tick, status, page: PAGE });
  const parts = counts ? partsOf(counts) : [];
  return (
    <div className="stack" data-children={counts?.total}>
      {counts && counts.total > 0 && <CountsBar counts={counts} label="Children" />}
      {counts && (
        <p className="small soft num">
          {counts.total.toLocaleString()} children: {countsText(counts)}
        </p>
      )}
      <div className="chips" role="group" aria-label="Children to show">
        {parts.map(({ state, count }) => (
          <button
            key={state}
            type="button"
            className="chip"
            data-state={state}
            aria-pressed={status === state}
            onClick={() => setStatus(status === state ? null : (state as ChildState))}
          >
            <StateIcon state={state} />
            {wordOf(state)} <b className="num">{count.toLocaleString()}</b>
          </button>
        ))}
      </div>
      {refusal && <Wrong refusal={refusal} />}
      {children.length === 0 && !refusal && <p className="soft">{counts?.total ? 'None has this state.' : 'Its children come into being when it runs.'}</p>}
      <Cells cells={children} more={more} readMore={readMore} />
    </div>
  );
}

interface Cell {
  id: string;
  childIndex: number | null;
  status: string;
  retryCount: number;
  errorMessage: string | null;
}

function Cells({ cells, more, readMore }: { cells: readonly Cell[]; more: boolean; readMore: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(8);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const watcher = new ResizeObserver(() => setColumns(Math.max(4, Math.floor(element.clientWidth / CELL_PX))));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const rows = Math.ceil(cells.length / columns);
  const virtual = useVirtualizer({ count: rows, getScrollElement: () => box.current, estimateSize: () => CELL_PX, overscan: 4 });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last >= rows - 3) readMore();
  }, [more, last, rows, readMore]);
  return (
    <div className="child-grid" ref={box}>
      <div style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => (
          <div key={index} className="child-row" style={{ transform: `translateY(${start}px)` }}>
            {cells.slice(index * columns, (index + 1) * columns).map((cell) => (
              <Link
                key={cell.id}
                to={hereWith({ node: cell.id, part: null })}
                how="replace"
                className="child"
                data-state={cell.status}
                data-child={cell.childIndex}
                title={`${cell.id}: ${wordOf(cell.status)}${cell.retryCount > 0 ? `, try ${cell.retryCount + 1}` : ''}${cell.errorMessage ? `\n${cell.errorMessage}` : ''}`}
                aria-label={`Child ${cell.childIndex}: ${wordOf(cell.status)}`}
              >
                <StateIcon state={cell.status} />
              </Link>
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}
