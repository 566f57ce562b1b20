// What the list of jobs asks for.
import { graphql, type ResultOf } from '../api/graphql';

export const COUNTS = graphql(`
  fragment Counts on NodeCounts @_unmask { pending ready dispatched running completed failed skipped total }
`);

const ROW = graphql(
  `
  fragment JobRow on Job @_unmask {
    id workflowId workflowVersion status paused priority createdAt completedAt failure origin
    progress { done total percent counts { ...Counts } }
  }
`,
  [COUNTS],
);

export const JOBS = graphql(
  `
  query Jobs($filter: JobFilter, $first: Int!, $after: String) {
    jobs(filter: $filter, first: $first, after: $after) {
      counts { status count }
      pageInfo { hasNextPage endCursor }
      nodes { ...JobRow }
    }
  }
`,
  [ROW],
);

export const JOBS_LIVE = graphql(
  `
  subscription JobsLive($filter: JobFilter) {
    jobs(filter: $filter) { cursor jobs { ...JobRow } others }
  }
`,
  [ROW],
);

export const WORKFLOW_NAMES = graphql(`query WorkflowNames { workflows { id latest { name version } } }`);

export const STEER = graphql(`
  mutation Steer($wish: Wish!, $filter: JobFilter!, $reason: String, $dryRun: Boolean!) {
    steerJobs(wish: $wish, filter: $filter, reason: $reason, dryRun: $dryRun) {
      matched more dryRun jobIds position
      done { jobId outcome newJobId }
      failed { jobId error }
    }
  }
`);

export type JobRow = ResultOf<typeof ROW>;
