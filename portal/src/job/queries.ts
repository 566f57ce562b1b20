// What the page of a job asks for.
import { graphql, type ResultOf } from '../api/graphql';
import { COUNTS } from '../jobs/queries';

const NODE = graphql(
  `
  fragment NodeState on Node @_unmask {
    id kind status attempt retryCount handler queue errorMessage branch skippedBy skipReason
    readyAt dispatchedAt startedAt completedAt
    childCounts { ...Counts }
  }
`,
  [COUNTS],
);

const JOB_STATE = graphql(
  `
  fragment JobState on Job @_unmask {
    id status paused degraded priority workflowId workflowVersion workflowHash requestId ownerId ownerHeartbeatAt
    createdAt completedAt failure origin position
    progress { done total percent counts { ...Counts } }
    nodes { ...NodeState }
    asOf { position recordedAt }
    events(first: 1, newestFirst: true) { nodes { version position type node recordedAt } }
  }
`,
  [COUNTS, NODE],
);

/** A job now, or as it was; and what is known of it before an orchestrator has taken it. */
export const JOB = graphql(
  `
  query Job($id: String!, $asOf: AsOf) {
    job(id: $id, asOf: $asOf) { ...JobState }
    openJob(id: $id) { requestId claims quarantined }
  }
`,
  [JOB_STATE],
);

export const PROGRESS = graphql(`
  subscription Progress($id: String!) { progress(jobId: $id) { cursor status } }
`);

export const REQUEST = graphql(`
  query Request($id: String!) { request(id: $id) { id status reason workflowId workflowVersion submittedAt priority } }
`);

export const SHAPE = graphql(`
  query Shape($id: String!, $version: Int) {
    workflow(id: $id, version: $version) { hash version name nodes { id kind handler queue } edges { from to } }
  }
`);

export const CANCEL = graphql(`mutation Cancel($id: String!, $reason: String) { cancelJob(id: $id, reason: $reason) { outcome position } }`);
export const PAUSE = graphql(`mutation Pause($id: String!, $reason: String) { pauseJob(id: $id, reason: $reason) { outcome position } }`);
export const RESUME = graphql(`mutation Resume($id: String!) { resumeJob(id: $id) { outcome position } }`);
export const RETRY = graphql(`mutation Retry($id: String!) { retryJob(id: $id) { outcome newJobId position } }`);
export const RELEASE = graphql(`mutation Release($id: String!) { releaseJob(id: $id) { outcome position } }`);

export type JobState = ResultOf<typeof JOB_STATE>;
export type NodeState = ResultOf<typeof NODE>;
export type Shape = NonNullable<ResultOf<typeof SHAPE>['workflow']>;
