// What the list shows: states with their counts, a workflow, words, an age.
import { useEffect, useRef, useState } from 'react';
import { useQuery } from '../api/use_query';
import { go, hereWith, useParam, usePlace } from '../router/router';
import { StateIcon, wordOf } from '../ui/status';
import { SINCE, STATUSES } from './filter';
import { WORKFLOW_NAMES } from './queries';

const TYPING_MS = 250;

export function FilterBar({ counts }: { counts: ReadonlyMap<string, number> }) {
  const { search } = usePlace();
  const chosen = search.getAll('status');
  const toggle = (state: string) => {
    const next = chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state];
    go(hereWith({ status: next }), 'replace');
  };
  return (
    <div className="filter" role="search" aria-label="Filter of the jobs">
      <div className="chips" role="group" aria-label="States">
        {STATUSES.map((state) => (
          <button key={state} type="button" className="chip" aria-pressed={chosen.includes(state)} data-state={state} onClick={() => toggle(state)}>
            <StateIcon state={state} />
            {wordOf(state)} <b className="num">{(counts.get(state) ?? 0).toLocaleString()}</b>
          </button>
        ))}
      </div>
      <Words />
      <WorkflowChoice />
      <SinceChoice />
    </div>
  );
}

function Words() {
  const [asked, change] = useParam('q');
  const [text, setText] = useState(asked ?? '');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(asked ?? ''), [asked]);
  const write = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => change(next.trim()), TYPING_MS);
  };
  return (
    <input
      type="search"
      aria-label="Search by id or workflow"
      placeholder="Id or workflow  ( / )"
      value={text}
      maxLength={200}
      onChange={(event) => write(event.target.value)}
    />
  );
}

function WorkflowChoice() {
  const [chosen, change] = useParam('workflow');
  const { data } = useQuery(WORKFLOW_NAMES, {});
  const names = data?.workflows ?? [];
  return (
    <select aria-label="Workflow" value={chosen ?? ''} onChange={(event) => change(event.target.value)}>
      <option value="">Any workflow</option>
      {chosen && !names.some(({ id }) => id === chosen) && <option value={chosen}>{chosen}</option>}
      {names.map(({ id }) => (
        <option key={id} value={id}>
          {id}
        </option>
      ))}
    </select>
  );
}

function SinceChoice() {
  const [chosen, change] = useParam('since');
  return (
    <select aria-label="Age" value={chosen ?? ''} onChange={(event) => change(event.target.value)}>
      <option value="">Any time</option>
      {Object.entries(SINCE).map(([key, [words]]) => (
        <option key={key} value={key}>
          In {words}
        </option>
      ))}
    </select>
  );
}
