// Which event has which number, read by pages around where somebody looks.
import { ask } from '../../api/client';
import { EVENT_INDEX, type IndexedEvent } from './queries';

const PAGE = 200;
const PAGES_MAX = 400;

export class EventIndex {
  #id: string;
  #pages = new Map<number, Promise<readonly IndexedEvent[]>>();

  constructor(id: string) {
    this.#id = id;
  }

  /** The event with this number, from 1. */
  async at(version: number): Promise<IndexedEvent | undefined> {
    const page = Math.floor((version - 1) / PAGE);
    const inPage = (version - 1) % PAGE;
    const found = (await this.#page(page))[inPage];
    if (found) return found;
    // The history has grown since that page was read.
    this.#pages.delete(page);
    return (await this.#page(page))[inPage];
  }

  #page(page: number): Promise<readonly IndexedEvent[]> {
    let events = this.#pages.get(page);
    if (!events) {
      if (this.#pages.size >= PAGES_MAX) this.#pages.clear();
      events = this.#read(page);
      this.#pages.set(page, events);
      events.catch(() => this.#pages.delete(page));
    }
    return events;
  }

  async #read(page: number): Promise<readonly IndexedEvent[]> {
    // A cursor of a history is the number of its event.
    const after = page === 0 ? null : String(page * PAGE);
    const { job } = await ask(EVENT_INDEX, { id: this.#id, first: PAGE, after });
    return job?.events.nodes ?? [];
  }
}
