// Everything about one node: what it was given, what it returned, its attempts and logs, and why it waits.
import { useEffect } from 'react';
import { useQuery } from '../../api/use_query';
import { hereWith, Link, useParam } from '../../router/router';
import { useKey } from '../../shell/keys';
import { JsonView } from '../../ui/json';
import { Empty, Wait, Wrong } from '../../ui/notes';
import { Status } from '../../ui/status';
import { Tabs } from '../../ui/tabs';
import { between, When } from '../../ui/time';
import { Attempts } from './attempts';
import { ChildGrid } from './child_grid';
import { Logs } from './logs';
import './panel.css';
import { type Detail, NODE } from './queries';
import { Why } from './why';

interface Props {
  job: string;
  node: string;
  at: number | undefined;
  /** Changes whenever the job does. */
  tick: string;
  onClose: () => void;
}

export function NodePanel({ job, node, at, tick, onClose }: Props) {
  const asOf = at === undefined ? undefined : { pos: at };
  const { data, refusal, reload, loading } = useQuery(NODE, { id: job, node, asOf });
  const [part] = useParam('part');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed, so the node may have
  useEffect(() => reload(), [tick]);
  useKey((key) => {
    if (key === 'Escape') onClose();
  });
  const detail = data?.job?.node?.id === node ? data.job.node : undefined;
  const tabs = tabsOf(detail, at !== undefined);
  const active = tabs.find(({ id }) => id === part)?.id ?? tabs[0]?.id ?? '';
  return (
    <aside className="panel card" aria-label={`Node ${node}`} data-panel={node}>
      <header>
        <div className="panel-title">
          {detail?.parent && (
            <Link to={hereWith({ node: detail.parent, part: null })} how="replace" className="small">
              {detail.parent}
            </Link>
          )}
          <h2 className="cut">{node}</h2>
          {detail && <Status state={detail.status} />}
        </div>
        <button type="button" className="quiet" onClick={onClose} aria-label="Close the panel">
          ✕
        </button>
      </header>
      {refusal && <Wrong refusal={refusal} />}
      {!detail && !refusal && loading && <Wait what="the node" />}
      {!detail && !refusal && !loading && (
        <Empty title="Not there yet">
          <p>At this moment the job had no such node.</p>
        </Empty>
      )}
      {detail && (
        <>
          <Tabs tabs={tabs} active={active} label="Parts of the node" param="part" />
          <div className="panel-body stack">
            {active === 'state' && <State detail={detail} job={job} isPast={at !== undefined} tick={tick} />}
            {active === 'children' && <ChildGrid job={job} node={node} at={at} tick={tick} counts={detail.childCounts} />}
            {active === 'input' &&
              (detail.input === null ? <None what="It was not dispatched, so it was given nothing." /> : <JsonView value={detail.input} label="Input" />)}
            {active === 'output' && <Output detail={detail} />}
            {active === 'attempts' && <Attempts attempts={detail.attempts} />}
            {active === 'logs' && <Logs job={job} node={node} tick={tick} />}
          </div>
        </>
      )}
    </aside>
  );
}

function tabsOf(detail: Detail | undefined, isPast: boolean) {
  const runs = detail?.handler && detail.kind !== 'fan_out';
  return [
    ...(detail?.kind === 'fan_out' && detail.childIndex === null ? [{ id: 'children', title: 'Children' }] : []),
    { id: 'state', title: 'State' },
    ...(runs ? [{ id: 'input', title: 'Input' }] : []),
    { id: 'output', title: 'Output' },
    ...(runs ? [{ id: 'attempts', title: `Attempts ${detail.attempts.length || ''}` }] : []),
    // Logs are files, and have no past.
    ...(runs && !isPast ? [{ id: 'logs', title: 'Logs' }] : []),
  ];
}

const None = ({ what }: { what: string }) => <p className="soft">{what}</p>;

function Output({ detail }: { detail: Detail }) {
  if (detail.externalOutput !== null) {
    return (
      <>
        <p className="soft">The output is too large to keep here; it lies in the object store.</p>
        <JsonView value={detail.externalOutput} label="Where the output lies" />
      </>
    );
  }
  return detail.output === null ? <None what="There is no output yet." /> : <JsonView value={detail.output} label="Output" />;
}

function State({ detail, job, isPast, tick }: { detail: Detail; job: string; isPast: boolean; tick: string }) {
  const { failure, errorMessage, status } = detail;
  const isOver = status === 'COMPLETED' || status === 'FAILED';
  const facts: [string, React.ReactNode][] = [
    ['Kind', detail.kind.replace('_', '-')],
    ['Handler', detail.handler && <code>{detail.handler}</code>],
    ['Queue', detail.queue && <code>{detail.queue}</code>],
    ['Attempt', detail.handler && detail.attempt > 0 && String(detail.attempt)],
    ['Branch taken', detail.branch !== null ? `number ${detail.branch + 1}` : null],
    ['Skipped by', detail.skippedBy && `${detail.skippedBy} (${(detail.skipReason ?? '').replaceAll('_', ' ').toLowerCase()})`],
    ['Ready', detail.readyAt && <When time={detail.readyAt} />],
    ['Waited', detail.readyAt && detail.startedAt && between(detail.readyAt, detail.startedAt)],
    ['Started', detail.startedAt && <When time={detail.startedAt} />],
    ['Took', detail.startedAt && detail.completedAt && between(detail.startedAt, detail.completedAt)],
    ['Worker', detail.workerId && <code>{detail.workerId}</code>],
    ['Task', detail.taskId && <code>{detail.taskId}</code>],
  ];
  return (
    <>
      {errorMessage && (
        <div className="note bad" role="note">
          <strong>{errorMessage}</strong>
        </div>
      )}
      {!isPast && !isOver && <Why job={job} node={detail.id} tick={tick} />}
      <dl className="facts">{facts.filter(([, value]) => value).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>])}</dl>
      {failure !== null && (
        <>
          <h3>Failure</h3>
          <JsonView value={failure} label="Failure" />
        </>
      )}
      {detail.checkpoint !== null && (
        <>
          <h3>Last checkpoint</h3>
          <JsonView value={detail.checkpoint} label="Last checkpoint" />
        </>
      )}
    </>
  );
}
