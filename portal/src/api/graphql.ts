// Documents with types, which come from the schema that the server keeps in docs/api/schema.graphql.
import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './schema-types';

export const graphql = initGraphQLTada<{
  introspection: introspection;
  scalars: { DateTime: string; JSON: Json; Position: number };
}>();

export type { FragmentOf, ResultOf, TadaDocumentNode, VariablesOf } from 'gql.tada';
export { readFragment } from 'gql.tada';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
