// What the panel of a node asks for.
import { graphql, type ResultOf } from '../../api/graphql';
import { COUNTS } from '../../jobs/queries';

const ATTEMPT = graphql(`
  fragment AttemptRow on Attempt @_unmask { number status taskId workerId reportedAt errorMessage failure metrics output }
`);

const DETAIL = graphql(
  `
  fragment NodeDetail on Node @_unmask {
    id kind status attempt retryCount handler queue workerId taskId runId parent childIndex
    input output externalOutput errorMessage failure checkpoint branch skippedBy skipReason
    readyAt dispatchedAt startedAt completedAt updatedAt
    childCounts { ...Counts }
    attempts { ...AttemptRow }
  }
`,
  [COUNTS, ATTEMPT],
);

export const NODE = graphql(
  `
  query NodeDetail($id: String!, $node: String!, $asOf: AsOf) {
    job(id: $id, asOf: $asOf) { node(id: $node) { ...NodeDetail } }
  }
`,
  [DETAIL],
);

export const WHY = graphql(`
  query Why($id: String!, $node: String!) { job(id: $id) { node(id: $node) { why } } }
`);

export const LOGS = graphql(`
  query Logs($id: String!, $node: String!) {
    job(id: $id) { node(id: $node) { attempts { number status logs(last: 500) { time level message } } } }
  }
`);

export const CHILDREN = graphql(`
  query Children($id: String!, $node: String!, $asOf: AsOf, $first: Int!, $after: String, $status: NodeStatus) {
    job(id: $id, asOf: $asOf) {
      node(id: $node) {
        children(first: $first, after: $after, status: $status) {
          pageInfo { hasNextPage endCursor }
          nodes { id childIndex status retryCount errorMessage }
        }
      }
    }
  }
`);

export type Detail = ResultOf<typeof DETAIL>;
export type AttemptRow = ResultOf<typeof ATTEMPT>;
