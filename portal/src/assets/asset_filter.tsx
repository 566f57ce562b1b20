// Which assets are shown, as the address has it.
import { useEffect, useMemo, useRef, useState } from 'react';
import type { VariablesOf } from '../api/graphql';
import { useParam } from '../router/router';
import type { ASSETS } from './queries';

type Filter = NonNullable<VariablesOf<typeof ASSETS>['filter']>;
type Approval = NonNullable<Filter['approval']>;

const REVIEWS: readonly Approval[] = ['PENDING_REVIEW', 'APPROVED', 'REJECTED', 'REVOKED'];
const STATES = ['pending', 'processing', 'completed', 'failed'];
const TYPING_MS = 250;

export function useAssetFilter(search: URLSearchParams): Filter {
  const text = search.toString();
  return useMemo(() => {
    const asked = new URLSearchParams(text);
    const approval = asked.get('approval') as Approval | null;
    const filter: Filter = { withDeleted: asked.has('deleted') };
    if (asked.get('q')) filter.text = asked.get('q');
    if (asked.get('platform')) filter.platform = asked.get('platform');
    if (approval && REVIEWS.includes(approval)) filter.approval = approval;
    if (STATES.includes(asked.get('state') ?? '')) filter.processingStatus = asked.get('state');
    return filter;
  }, [text]);
}

export function AssetFilterBar({ platforms }: { platforms: readonly { id: string; name: string }[] }) {
  const [asked, setAsked] = useParam('q');
  const [platform, setPlatform] = useParam('platform');
  const [approval, setApproval] = useParam('approval');
  const [state, setState] = useParam('state');
  const [deleted, setDeleted] = useParam('deleted');
  const [text, setText] = useState(asked ?? '');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(asked ?? ''), [asked]);
  const write = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setAsked(next.trim()), TYPING_MS);
  };
  return (
    <div className="filter" role="search" aria-label="Filter of the assets">
      <input
        type="search"
        aria-label="Search by id, title or reference"
        placeholder="Id, title or reference  ( / )"
        value={text}
        maxLength={200}
        onChange={(event) => write(event.target.value)}
      />
      <select aria-label="Platform" value={platform ?? ''} onChange={(event) => setPlatform(event.target.value)}>
        <option value="">Any platform</option>
        {platforms.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <select aria-label="Review" value={approval ?? ''} onChange={(event) => setApproval(event.target.value)}>
        <option value="">Any review</option>
        {REVIEWS.map((one) => (
          <option key={one} value={one}>
            {String(one).toLowerCase().replace('_', ' ')}
          </option>
        ))}
      </select>
      <select aria-label="Processing" value={state ?? ''} onChange={(event) => setState(event.target.value)}>
        <option value="">Any state</option>
        {STATES.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <label className="events-raw">
        <input type="checkbox" checked={deleted !== null} onChange={(event) => setDeleted(event.target.checked ? 1 : null)} /> Deleted too
      </label>
    </div>
  );
}
