// What surrounds every page: the way to the others, who is signed in, and whether the pages are live.
import { type ReactNode, useEffect, useState } from 'react';
import { line } from '../api/client';
import { useMayWrite, useMe } from '../api/me';
import { useSignal } from '../api/use_query';
import { Link, usePlace } from '../router/router';
import { AssetsIcon, JobsIcon, PlatformIcon, PlusIcon, WorkflowsIcon } from './icons';
import { KeysDialog, useKeys } from './keys';
import { ThemeButton } from './theme';

const places = [
  { to: '/', title: 'Jobs', icon: <JobsIcon />, fits: /^\/(jobs.*)?$/ },
  { to: '/assets', title: 'Assets', icon: <AssetsIcon />, fits: /^\/assets/ },
  { to: '/workflows', title: 'Workflows', icon: <WorkflowsIcon />, fits: /^\/workflows/ },
  { to: '/platform', title: 'Platform', icon: <PlatformIcon />, fits: /^\/platform/ },
];

const lines = { idle: 'Up to date', live: 'Live', lost: 'Reconnecting' };

async function signOut() {
  await fetch('/auth/sign-out', { method: 'POST', headers: { 'content-type': 'application/json' } });
  location.assign('/');
}

export function Shell({ children }: { children: ReactNode }) {
  const { path } = usePlace();
  const me = useMe();
  const mayWrite = useMayWrite();
  const state = useSignal(line);
  const [help, setHelp] = useState(false);
  useKeys(() => setHelp(true));
  useEffect(() => {
    document.documentElement.dataset.line = state;
  }, [state]);
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to the content
      </a>
      <header className="side">
        <Link to="/" className="brand">
          <img src="/icon.svg" alt="" width="28" height="28" />
          Strata
        </Link>
        {mayWrite && (
          <Link to="/submit" className="button main-action call">
            <PlusIconSmall />
            New job
          </Link>
        )}
        <nav aria-label="Pages">
          <ul>
            {places.map(({ to, title, icon, fits }) => (
              <li key={to}>
                <Link to={to} aria-current={fits.test(path) ? 'page' : undefined}>
                  {icon}
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="side-foot">
          <div className="who cut" title={me.keyId}>
            {me.orgId} · {me.role.toLowerCase()}
            {me.operator ? ', operator' : ''}
          </div>
          <div className="row">
            <span className="line-state" data-line={state} role="status">
              <i />
              <span>{lines[state]}</span>
            </span>
            <ThemeButton />
          </div>
          <div className="row">
            <button type="button" className="quiet copy" onClick={() => setHelp(true)}>
              Keys <kbd>?</kbd>
            </button>
            <button type="button" className="quiet copy" onClick={signOut}>
              Sign out
            </button>
          </div>
        </div>
      </header>
      {children}
      {help && <KeysDialog onClose={() => setHelp(false)} />}
    </div>
  );
}

const PlusIconSmall = () => (
  <span aria-hidden="true" style={{ width: '1rem', height: '1rem', display: 'inline-flex' }}>
    <PlusIcon />
  </span>
);
