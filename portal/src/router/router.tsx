// Addresses: what a page shows is in its address, so that a link shows the same to somebody else.
import { type AnchorHTMLAttributes, type MouseEvent, useCallback, useMemo, useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();

function told(): void {
  for (const listener of listeners) listener();
}

addEventListener('popstate', told);

function watch(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const place = () => location.pathname + location.search;

/** Goes to a page of ours. */
export function go(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === place()) return;
  if (how === 'push') history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  told();
}

/** Where we are: path, and what the address asks for. */
export function usePlace(): { path: string; search: URLSearchParams } {
  const now = useSyncExternalStore(watch, place);
  return useMemo(() => {
    const [path = '/', search = ''] = now.split('?');
    return { path, search: new URLSearchParams(search) };
  }, [now]);
}

export type Changes = Record<string, string | number | readonly string[] | null | undefined>;

/** This page with other parameters. Empty ones leave the address. */
export function hereWith(changes: Changes): string {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    search.delete(name);
    if (Array.isArray(value)) for (const one of value) search.append(name, one);
    else if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  }
  const text = search.toString();
  return location.pathname + (text ? `?${text}` : '');
}

/** One parameter of the address, and how to change it. */
export function useParam(name: string, how: 'push' | 'replace' = 'replace') {
  const { search } = usePlace();
  const value = search.get(name);
  const change = useCallback((next: string | number | null) => go(hereWith({ [name]: next }), how), [name, how]);
  return [value, change] as const;
}

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { to: string; how?: 'push' | 'replace' };

/** A link that does not load the page anew. */
export function Link({ to, how, onClick, ...rest }: LinkProps) {
  const click = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (event.defaultPrevented || !plain) return;
    event.preventDefault();
    const elsewhere = new URL(to, location.href).pathname !== location.pathname;
    go(to, how);
    if (elsewhere) {
      scrollTo(0, 0);
      document.getElementById('main')?.focus({ preventScroll: true });
    }
  };
  return <a href={to} onClick={click} {...rest} />;
}
