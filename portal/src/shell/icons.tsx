// The signs of the navigation.
import type { ReactNode } from 'react';

const draw = (path: ReactNode) => (
  <svg viewBox="0 0 20 20" aria-hidden="true" fill="none" stroke="currentColor" strokeWidth="1.6" strokeLinecap="round" strokeLinejoin="round">
    {path}
  </svg>
);

export const JobsIcon = () =>
  draw(
    <>
      <path d="M7.5 5h9M7.5 10h9M7.5 15h9" />
      <circle cx="3.5" cy="5" r="1.1" />
      <circle cx="3.5" cy="10" r="1.1" />
      <circle cx="3.5" cy="15" r="1.1" />
    </>,
  );
export const AssetsIcon = () =>
  draw(
    <>
      <path d="M3 7 10 3.5 17 7l-7 3.5z" />
      <path d="m3 10.5 7 3.5 7-3.5M3 14l7 3.5 7-3.5" opacity=".6" />
    </>,
  );
export const WorkflowsIcon = () =>
  draw(
    <>
      <rect x="2.5" y="7.5" width="5" height="5" rx="1.2" />
      <rect x="12.5" y="2.5" width="5" height="5" rx="1.2" />
      <rect x="12.5" y="12.5" width="5" height="5" rx="1.2" />
      <path d="M7.5 10h2.5V5h2.5M10 10v5h2.5" />
    </>,
  );
export const PlatformIcon = () =>
  draw(
    <>
      <rect x="3" y="3" width="14" height="5.5" rx="1.4" />
      <rect x="3" y="11.5" width="14" height="5.5" rx="1.4" />
      <path d="M6 5.8h.01M6 14.3h.01M9.5 5.8h4.5M9.5 14.3h4.5" />
    </>,
  );
export const PlusIcon = () => draw(<path d="M10 4v12M4 10h12" />);
export const ThemeIcon = () =>
  draw(
    <>
      <circle cx="10" cy="10" r="6.5" />
      <path d="M10 3.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
    </>,
  );
