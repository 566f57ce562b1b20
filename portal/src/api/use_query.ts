// Questions of components: the last answer stays until the next one is there, so that nothing on a page jumps.
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { ask, follow, onReturn, Refusal, type Signal } from './client';
import type { TadaDocumentNode } from './graphql';

export interface Asked<Data> {
  data: Data | undefined;
  refusal: Refusal | undefined;
  loading: boolean;
  /** Asks again soon; many calls become one question. */
  reload: () => void;
}

const RETRY_MS = 1_000;
/** Live pages ask again after this long at the earliest, and after four times what the last answer took. */
const REST_MS = 150;
const REST_FACTOR = 4;

/** Asks now and whenever the variables change. With `undefined` as variables nothing is asked. */
export function useQuery<Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables | undefined): Asked<Data> {
  const [state, setState] = useState<{ data?: Data; refusal?: Refusal; loading: boolean }>({ loading: true });
  const key = variables === undefined ? undefined : JSON.stringify(variables);
  const again = useRef<() => void>(() => {});

  useEffect(() => {
    if (key === undefined) return;
    const abort = new AbortController();
    const asked = JSON.parse(key) as Variables;
    let busy = false;
    let wanted = false;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const later = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(run, ms);
    };
    async function run() {
      if (busy) {
        wanted = true;
        return;
      }
      busy = true;
      wanted = false;
      const began = performance.now();
      let rest = 0;
      try {
        const data = await ask(document, asked, abort.signal);
        if (abort.signal.aborted) return;
        setState({ data, loading: false });
      } catch (error) {
        if (abort.signal.aborted) return;
        const refusal = error instanceof Refusal ? error : new Refusal(String(error), 'ERROR', 'internal', '');
        // What was there stays in sight while the server is away.
        setState((last) => ({ data: refusal.mayPass ? last.data : undefined, refusal, loading: false }));
        if (refusal.mayPass) {
          wanted = true;
          rest = RETRY_MS;
        }
      } finally {
        busy = false;
        rest = Math.max(rest, REST_MS, REST_FACTOR * (performance.now() - began));
        if (wanted && !abort.signal.aborted) later(rest);
      }
    }
    again.current = () => {
      if (busy) wanted = true;
      else later(REST_MS);
    };
    setState((last) => ({ ...last, refusal: undefined, loading: true }));
    void run();
    return () => {
      abort.abort();
      clearTimeout(timer);
      again.current = () => {};
    };
  }, [document, key]);

  const reload = useCallback(() => again.current(), []);
  return { data: state.data, refusal: state.refusal, loading: state.loading, reload };
}

const ENDED_RETRY_MS = 1_500;

/** Follows a subscription; calls back with every message, and without one whenever messages may have been missed. */
export function useFollow<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables | undefined,
  next: (data: Data | undefined) => void,
): void {
  const key = variables === undefined ? undefined : JSON.stringify(variables);
  const latest = useRef(next);
  latest.current = next;
  useEffect(() => {
    if (key === undefined) return;
    let stop = () => {};
    let timer: ReturnType<typeof setTimeout> | undefined;
    const start = () => {
      stop = follow(document, JSON.parse(key) as Variables, {
        next: (data) => latest.current(data),
        failed: () => {
          // A job that is only a request so far, or a log that was restored: begin anew.
          stop();
          timer = setTimeout(() => {
            latest.current(undefined);
            start();
          }, ENDED_RETRY_MS);
        },
      });
    };
    start();
    const off = onReturn(() => latest.current(undefined));
    return () => {
      off();
      stop();
      clearTimeout(timer);
    };
  }, [document, key]);
}

/** The value of a signal. */
export function useSignal<T>(signal: Signal<T>): T {
  return useSyncExternalStore(signal.watch, signal.get);
}

/** Asks again every so often, while the page is in sight. */
export function useEvery(ms: number, run: () => void): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) latest.current();
    }, ms);
    return () => clearInterval(timer);
  }, [ms]);
}
