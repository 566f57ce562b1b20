// What time travel asks for.
import { graphql, type ResultOf } from '../../api/graphql';

/** Events by their number in the history of the job, without what they say. */
export const EVENT_INDEX = graphql(`
  query EventIndex($id: String!, $first: Int!, $after: String) {
    job(id: $id) { events(first: $first, after: $after) { nodes { version position type node recordedAt } } }
  }
`);

export const STATE_DIFF = graphql(`
  query StateDiff($id: String!, $from: Position!, $to: Position!) {
    stateDiff(jobId: $id, from: { pos: $from }, to: { pos: $to }) {
      changed nodesTouched nodesLeftOut
      from { position recordedAt } to { position recordedAt }
      changes(first: 500) { node field before after }
    }
  }
`);

export type IndexedEvent = NonNullable<ResultOf<typeof EVENT_INDEX>['job']>['events']['nodes'][number];
export type StateDiff = NonNullable<ResultOf<typeof STATE_DIFF>['stateDiff']>;
