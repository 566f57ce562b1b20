// What the form of a new job asks for.
import { graphql } from '../api/graphql';

export const CHOICES = graphql(`
  query Choices { workflows { id latest { name version } versions { version } } platforms { id name requiredRefs optionalRefs } }
`);

export const FORM = graphql(`
  query Form($id: String!, $version: Int) {
    workflow(id: $id, version: $version) { workflowId version name inputs source nodes { id kind handler queue } edges { from to } hash }
  }
`);

export const SUBMIT = graphql(`
  mutation Submit($input: SubmitInput!) { submitJob(input: $input) { jobId requestId assetId repeated position } }
`);
