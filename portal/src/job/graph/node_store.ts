// States of nodes, so that one that changes is drawn again and the others are not.
import { createContext, useCallback, useContext, useSyncExternalStore } from 'react';
import type { NodeState } from '../queries';

export class NodeStore {
  #rows = new Map<string, NodeState>();
  #texts = new Map<string, string>();
  #watchers = new Map<string, Set<() => void>>();

  get = (id: string): NodeState | undefined => this.#rows.get(id);

  watch(id: string, listener: () => void): () => void {
    const listeners = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** These are all nodes now; those that differ are told. */
  replace(rows: readonly NodeState[]): void {
    const gone = new Set(this.#rows.keys());
    for (const row of rows) {
      gone.delete(row.id);
      const text = JSON.stringify(row);
      if (this.#texts.get(row.id) === text) continue;
      this.#texts.set(row.id, text);
      this.#rows.set(row.id, row);
      this.#tell(row.id);
    }
    for (const id of gone) {
      this.#rows.delete(id);
      this.#texts.delete(id);
      this.#tell(id);
    }
  }

  #tell(id: string): void {
    for (const listener of this.#watchers.get(id) ?? []) listener();
  }
}

export const Nodes = createContext(new NodeStore());

/** The state of one node; nothing if there is no job yet. */
export function useNode(id: string): NodeState | undefined {
  const store = useContext(Nodes);
  const watch = useCallback((listener: () => void) => store.watch(id, listener), [store, id]);
  return useSyncExternalStore(watch, () => store.get(id));
}
