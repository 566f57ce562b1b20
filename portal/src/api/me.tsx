// Whoever is signed in, and what they may do. What they may not do is not offered.
import { createContext, type ReactNode, useContext } from 'react';
import { Wrong } from '../ui/notes';
import { SignedOut } from '../ui/signed_out';
import { session } from './client';
import { graphql, type ResultOf } from './graphql';
import { useQuery, useSignal } from './use_query';

const ME = graphql(`query Me { me { keyId orgId role operator } }`);

export type Me = ResultOf<typeof ME>['me'];

const Who = createContext<Me | undefined>(undefined);

export function Identified({ children }: { children: ReactNode }) {
  const { data, refusal } = useQuery(ME, {});
  const state = useSignal(session);
  if (state === 'out') return <SignedOut />;
  if (!data && refusal)
    return (
      <main>
        <Wrong refusal={refusal} />
      </main>
    );
  return <Who value={data?.me}>{children}</Who>;
}

const NOBODY: Me = { keyId: '', orgId: '', role: 'READER', operator: false };

export const useMe = (): Me => useContext(Who) ?? NOBODY;
export const useMayWrite = (): boolean => useMe().role !== 'READER';
