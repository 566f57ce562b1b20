// States of nodes, so that one that changes is drawn again and the others are not. Which one is chosen and which are looked for
// is kept here as well: a graph of thousands must not be made anew for a click.
import { createContext, useCallback, useContext, useSyncExternalStore } from 'react';
import type { NodeState } from '../queries';

/** What one node shows. It is another object whenever something differs. */
export interface Shown {
  state: NodeState | undefined;
  chosen: boolean;
  found: boolean;
}

const NOTHING: Shown = { state: undefined, chosen: false, found: false };

export class NodeStore {
  #shown = new Map<string, Shown>();
  #texts = new Map<string, string>();
  #watchers = new Map<string, Set<() => void>>();
  #any = new Set<() => void>();

  get = (id: string): Shown => this.#shown.get(id) ?? NOTHING;

  watch(id: string, listener: () => void): () => void {
    const listeners = this.#watchers.get(id) ?? new Set();
    this.#watchers.set(id, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  /** Calls back when the state of any node has changed. */
  watchAny(listener: () => void): () => void {
    this.#any.add(listener);
    return () => this.#any.delete(listener);
  }

  /** These are all nodes now; those that differ are told. */
  replace(rows: readonly NodeState[]): void {
    const gone = new Set(this.#texts.keys());
    for (const row of rows) {
      gone.delete(row.id);
      const text = JSON.stringify(row);
      if (this.#texts.get(row.id) === text) continue;
      this.#texts.set(row.id, text);
      this.#change(row.id, { state: row });
    }
    for (const id of gone) {
      this.#texts.delete(id);
      this.#change(id, { state: undefined });
    }
    for (const listener of this.#any) listener();
  }

  /** Marks these nodes, and no others. */
  mark(what: 'chosen' | 'found', ids: ReadonlySet<string>): void {
    for (const [id, shown] of this.#shown) if (shown[what] && !ids.has(id)) this.#change(id, { [what]: false });
    for (const id of ids) if (!this.get(id)[what]) this.#change(id, { [what]: true });
  }

  #change(id: string, what: Partial<Shown>): void {
    this.#shown.set(id, { ...this.get(id), ...what });
    for (const listener of this.#watchers.get(id) ?? []) listener();
  }
}

export const Nodes = createContext(new NodeStore());

/** What one node shows; no state if there is no job yet. */
export function useShown(id: string): Shown {
  const store = useContext(Nodes);
  const watch = useCallback((listener: () => void) => store.watch(id, listener), [store, id]);
  return useSyncExternalStore(watch, () => store.get(id));
}
