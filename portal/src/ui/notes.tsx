// What a page says when it has nothing to show: wait, nothing yet, or what went wrong and what to do.
import type { ReactNode } from 'react';
import type { Refusal } from '../api/client';

export function Wrong({ refusal, what }: { refusal: Refusal; what?: string }) {
  const isWarm = refusal.mayPass;
  return (
    <div className={`note ${isWarm ? 'warm' : 'bad'}`} role="alert">
      <strong>
        {what ? `${what}: ` : ''}
        {refusal.message}
      </strong>
      {refusal.remedy && <span>What to do: {refusal.remedy}.</span>}
      <span className="small soft mono">{refusal.code}</span>
    </div>
  );
}

export function Wait({ what }: { what: string }) {
  return (
    <p className="wait" role="status">
      Reading {what} …
    </p>
  );
}

/** `isPage`: there is nothing else on the page. */
export function Empty({ title, isPage, children }: { title: string; isPage?: boolean; children?: ReactNode }) {
  const Heading = isPage ? 'h1' : 'h2';
  return (
    <div className="empty">
      <svg viewBox="0 0 32 32" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinejoin="round">
        <path d="M5 11 16 5.5 27 11l-11 5.5z" />
        <path d="m5 16 11 5.5L27 16M5 21l11 5.5L27 21" opacity=".55" />
      </svg>
      <Heading>{title}</Heading>
      {children}
    </div>
  );
}
