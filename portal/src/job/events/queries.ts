// The history of a job, the newest first.
import { graphql, type ResultOf } from '../../api/graphql';

export const EVENTS = graphql(`
  query Events($id: String!, $asOf: AsOf, $first: Int!, $after: String, $types: [String!]) {
    job(id: $id, asOf: $asOf) {
      events(first: $first, after: $after, newestFirst: true, types: $types) {
        pageInfo { hasNextPage endCursor }
        nodes { position version type node recordedAt actor data }
      }
    }
  }
`);

export type EventRow = NonNullable<ResultOf<typeof EVENTS>['job']>['events']['nodes'][number];
