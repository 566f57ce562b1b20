// What the pages of assets ask for.
import { graphql, type ResultOf } from '../api/graphql';

export const ASSETS = graphql(`
  query Assets($filter: AssetFilter, $first: Int!, $after: String) {
    assets(filter: $filter, first: $first, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id title platformId platformRefs processingStatus approval revision clearance deleted updatedAt currentJobId }
    }
    platforms { id name }
  }
`);

/** Where assets lie; the outputs of their jobs tell. */
export const PLACES = graphql(`
  query Places($filter: AssetFilter, $first: Int!) {
    assets(filter: $filter, first: $first) { nodes { id title platformRefs currentJob { id nodes { handler output } } } }
  }
`);

const REVISION = graphql(`
  fragment RevisionRow on Revision @_unmask { number contentHash artifacts origin approval approvalReason createdAt job { id workflowId completedAt position } }
`);

export const ASSET = graphql(
  `
  query Asset($id: String!, $asOf: AsOf) {
    asset(id: $id, asOf: $asOf) {
      id title platformId platformRefs processingStatus approval revision clearance deleted degraded contentHash failure
      createdAt updatedAt currentJobId position
      asOf { position recordedAt }
      revisions { ...RevisionRow }
      currentJob { id status nodes { id handler output } }
      events(first: 100, newestFirst: true) { nodes { position version type recordedAt actor data } }
    }
  }
`,
  [REVISION],
);

export const ASSET_LIVE = graphql(`subscription AssetLive($id: String!) { asset(id: $id) { cursor } }`);

export const APPROVE = graphql(`mutation Approve($id: String!, $revision: Int) { approve(assetId: $id, revision: $revision) { position repeated } }`);
export const REJECT = graphql(
  `mutation Reject($id: String!, $revision: Int, $reason: String!) { reject(assetId: $id, revision: $revision, reason: $reason) { position } }`,
);
export const REVOKE = graphql(
  `mutation Revoke($id: String!, $revision: Int, $reason: String!) { revoke(assetId: $id, revision: $revision, reason: $reason) { position } }`,
);
export const CHECK = graphql(`mutation CheckArtifacts($id: String!, $revision: Int!) { checkArtifacts(assetId: $id, revision: $revision) { jobId } }`);
export const CHECKED = graphql(`query ArtifactCheck($job: String!) { artifactCheck(jobId: $job) { status failure } }`);
export const ROLLBACK = graphql(`
  mutation Rollback($id: String!, $to: Int!, $reason: String!, $job: String, $accept: Boolean!) {
    rollbackAsset(assetId: $id, to: $to, reason: $reason, checkedBy: $job, acceptUnverified: $accept) { position }
  }
`);
export const REPROCESS = graphql(`mutation Reprocess($id: String!) { reprocess(assetId: $id) { position jobId } }`);
export const CLEARANCE = graphql(
  `mutation SetClearance($id: String!, $clearance: Clearance!) { setClearance(assetId: $id, clearance: $clearance) { position } }`,
);
export const DELETE = graphql(`mutation SoftDelete($id: String!) { softDelete(assetId: $id) { position } }`);
export const RESTORE = graphql(`mutation Restore($id: String!) { restore(assetId: $id) { position } }`);

export type Asset = NonNullable<ResultOf<typeof ASSET>['asset']>;
export type Revision = ResultOf<typeof REVISION>;

/** What an asset is called. */
export function nameOf({ title, platformRefs, id }: { title: string | null; platformRefs: unknown; id: string }): string {
  if (title) return title;
  const refs = Object.values((platformRefs ?? {}) as Record<string, unknown>).map(String);
  return refs.join(' / ') || id;
}
