// Numbers without a subscription are asked for again while the page is in sight.
import type { TadaDocumentNode } from '../api/graphql';
import { useEvery, useQuery } from '../api/use_query';

const EVERY_MS = 2_000;

export function usePolled<Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables, every = EVERY_MS) {
  const asked = useQuery(document, variables);
  useEvery(every, asked.reload);
  return asked;
}
