// The only way to the server: GraphQL over POST, and one socket for everything that is live.
import { print } from '@0no-co/graphql.web';
import { createClient } from 'graphql-ws';
import type { TadaDocumentNode } from './graphql';

/** What the server refused, in its own words. */
export class Refusal extends Error {
  readonly code: string;
  readonly category: string;
  readonly remedy: string;

  constructor(message: string, code: string, category: string, remedy: string) {
    super(message);
    this.name = 'Refusal';
    this.code = code;
    this.category = category;
    this.remedy = remedy;
  }

  /** Worth asking again without a change. */
  get mayPass(): boolean {
    return this.category === 'unavailable';
  }
}

interface WireError {
  message: string;
  extensions?: { code?: string; category?: string; remediation?: string };
}

type Listener = () => void;

/** A value that components can watch. */
export class Signal<T> {
  #value: T;
  #listeners = new Set<Listener>();

  constructor(value: T) {
    this.#value = value;
  }

  get = (): T => this.#value;

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  }

  watch = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

/** Whether this browser is signed in; unknown until the first answer. */
export const session = new Signal<'unknown' | 'in' | 'out'>('unknown');
/** Whether the socket is there. */
export const line = new Signal<'idle' | 'live' | 'lost'>('idle');

const printed = new WeakMap<object, string>();

function textOf(document: object): string {
  let text = printed.get(document);
  if (text === undefined) {
    text = print(document as Parameters<typeof print>[0]);
    printed.set(document, text);
  }
  return text;
}

function refusalOf(error: WireError): Refusal {
  const { code = 'ERROR', category = 'internal', remediation = '' } = error.extensions ?? {};
  return new Refusal(error.message, code, category, remediation);
}

const unreachable = () => new Refusal('Strata does not answer', 'UNREACHABLE', 'unavailable', 'this page tries again by itself');

/** Asks or changes something. */
export async function ask<Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables, signal?: AbortSignal): Promise<Data> {
  const body = JSON.stringify({ query: textOf(document), variables });
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  let answer: Response;
  try {
    answer = await fetch('/graphql', { method: 'POST', headers, body, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
  const text = await answer.text();
  const parsed = parse(text);
  if (parsed === undefined) throw unreachable();
  if (answer.status === 401) session.set('out');
  const [first] = parsed.errors ?? [];
  // REST shapes its errors otherwise; the door answers so before GraphQL is asked.
  if (first) throw refusalOf(first);
  if (parsed.error) throw refusalOf({ message: parsed.error.message, extensions: parsed.error });
  session.set('in');
  return parsed.data as Data;
}

interface Answer {
  data?: unknown;
  errors?: WireError[];
  error?: { message: string; code: string; category: string; remediation: string };
}

function parse(text: string): Answer | undefined {
  try {
    return JSON.parse(text) as Answer;
  } catch {
    return undefined;
  }
}

const LONGEST_WAIT_MS = 3_000;

const socket = createClient({
  url: () => `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
  lazyCloseTimeout: 2_000,
  keepAlive: 10_000,
  retryAttempts: Number.POSITIVE_INFINITY,
  shouldRetry: () => session.get() !== 'out',
  retryWait: async (tries) => {
    const wait = Math.min(LONGEST_WAIT_MS, 200 * 2 ** Math.min(tries, 5));
    await new Promise((done) => setTimeout(done, wait));
  },
  on: {
    connected: () => line.set('live'),
    closed: (event) => line.set((event as CloseEvent).wasClean ? 'idle' : 'lost'),
  },
});

export interface Watcher<Data> {
  next: (data: Data) => void;
  /** The server ended it; it will not come back by itself. */
  failed?: (refusal: Refusal) => void;
}

/** Follows a subscription until the returned function is called. A connection that breaks comes back by itself. */
export function follow<Data, Variables>(document: TadaDocumentNode<Data, Variables>, variables: Variables, watcher: Watcher<Data>): () => void {
  return socket.subscribe<Data, unknown>(
    { query: textOf(document), variables: variables as Record<string, unknown> },
    {
      next: ({ data, errors }) => {
        const [first] = errors ?? [];
        if (first) watcher.failed?.(refusalOf(first as unknown as WireError));
        else if (data) watcher.next(data);
      },
      error: (error) => {
        const [first] = Array.isArray(error) ? (error as WireError[]) : [];
        watcher.failed?.(first ? refusalOf(first) : unreachable());
      },
      complete: () => {},
    },
  );
}

/** Calls back whenever the socket is there again after it was lost. */
export function onReturn(back: () => void): () => void {
  return socket.on('connected', (_socket, _payload, wasRetry) => {
    if (wasRetry) back();
  });
}
