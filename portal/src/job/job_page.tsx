// The page of one job: live, or as it was at the event that the address names.
import { lazy, Suspense, useMemo } from 'react';
import { Link, useParam } from '../router/router';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Tabs } from '../ui/tabs';
import { JobActions } from './actions';
import { DefinitionView } from './definition/definition_view';
import { EventsView } from './events/events_view';
import { GraphView } from './graph/graph_view';
import './job.css';
import { JobHeader } from './job_header';
import { NodePanel } from './panel/node_panel';
import type { NodeState } from './queries';
import { Seal } from './seal';
import { TimelineView } from './timeline/timeline_view';
import { DiffView } from './travel/diff_view';
import { TravelBar } from './travel/travel_bar';
import { useJob } from './use_job';
import { ValuesView } from './values_view';

const JobMap = lazy(() => import('./map/job_map'));

const TABS = [
  { id: 'graph', title: 'Graph' },
  { id: 'timeline', title: 'Timeline' },
  { id: 'events', title: 'Events' },
  { id: 'values', title: 'Inputs and result' },
  { id: 'map', title: 'Map' },
  { id: 'definition', title: 'Definition' },
] as const;

const NO_NODES: readonly NodeState[] = [];

/** A position of the address; nothing if it is not one. */
function usePosition(name: string): number | undefined {
  const [text] = useParam(name);
  const position = Number(text);
  return text && Number.isSafeInteger(position) && position > 0 ? position : undefined;
}

export default function JobPage({ id }: { id: string }) {
  const at = usePosition('at');
  const from = usePosition('from');
  const [tab] = useParam('tab');
  const [node, setNode] = useParam('node');
  const { now, shown, request, openJob, shape, refusal, isMissing, reload } = useJob(id, at);
  const newest = now?.events.nodes[0];
  const tick = useMemo(() => `${now?.position}`, [now]);
  const active = TABS.find((one) => one.id === tab)?.id ?? 'graph';
  const workflow = now?.workflowId ?? request?.workflowId;

  if (isMissing) {
    return (
      <main id="main" tabIndex={-1}>
        <Empty isPage title="There is no such job">
          <p>
            It may belong to another organisation, or its id may be cut off. <Link to="/">Go to the jobs</Link>
          </p>
        </Empty>
      </main>
    );
  }
  return (
    <main id="main" tabIndex={-1} className="job-page" data-job={id} data-position={shown?.asOf?.position ?? shown?.position}>
      <JobHeader id={id} job={shown ?? now} workflow={workflow}>
        {now && <Seal id={id} />}
        {(now || request) && <JobActions id={id} job={now} quarantined={openJob?.quarantined ?? false} onDone={reload} />}
      </JobHeader>
      {refusal && <Wrong refusal={refusal} />}
      {request?.status === 'withdrawn' && (
        <div className="note warm" role="note">
          <strong>The request was taken back{request.reason ? `: ${request.reason}` : ''}.</strong>
        </div>
      )}
      {newest ? (
        <TravelBar id={id} newest={newest} shown={shown?.events.nodes[0]} isTravelling={at !== undefined} />
      ) : (
        <div className="travel card travel-place" />
      )}
      {from !== undefined && at !== undefined && from !== at && <DiffView id={id} from={from} to={at} />}
      <Tabs tabs={TABS} active={active} label="Parts of the job" />
      <div className="job-body" data-with-panel={node ? true : undefined}>
        <div className="job-view">
          {active === 'graph' && shape && <GraphView shape={shape} nodes={shown?.nodes ?? NO_NODES} chosen={node} onChoose={setNode} />}
          {active === 'graph' && !shape && <div className="graph card" />}
          {active === 'timeline' && shape && shown && <TimelineView job={shown} shape={shape} chosen={node} onChoose={setNode} />}
          {active === 'events' && <EventsView id={id} at={at} tick={tick} />}
          {active === 'values' && <ValuesView id={id} at={at} tick={tick} />}
          {active === 'map' && (
            <Suspense fallback={<Wait what="the map" />}>
              <JobMap id={id} at={at} tick={tick} onChoose={setNode} />
            </Suspense>
          )}
          {active === 'definition' && workflow && <DefinitionView workflow={workflow} version={now?.workflowVersion ?? request?.workflowVersion ?? null} />}
        </div>
        {node && (now || shown) && <NodePanel key={node} job={id} node={node} at={at} tick={tick} onClose={() => setNode(null)} />}
      </div>
    </main>
  );
}
