// Which page an address is. Pages other than the list of jobs are loaded when they are first wanted.
import { type ComponentType, lazy, Suspense, useEffect } from 'react';
import { Identified } from './api/me';
import { JobsPage } from './jobs/jobs_page';
import { Link, usePlace } from './router/router';
import { Shell } from './shell/shell';
import { Empty, Wait } from './ui/notes';

type Page = ComponentType<{ id: string }>;

const JobPage = lazy(() => import('./job/job_page'));
const SubmitPage = lazy(() => import('./submit/submit_page'));
const AssetsPage = lazy(() => import('./assets/assets_page'));
const AssetPage = lazy(() => import('./assets/asset_page'));
const WorkflowsPage = lazy(() => import('./workflows/workflows_page'));
const WorkflowPage = lazy(() => import('./workflows/workflow_page'));
const PlatformPage = lazy(() => import('./platform/platform_page'));

const pages: [RegExp, Page, string][] = [
  [/^\/(?:jobs)?$/, JobsPage, 'Jobs'],
  [/^\/jobs\/([^/]+)$/, JobPage, 'Job'],
  [/^\/submit(?:\/([^/]+))?$/, SubmitPage, 'Submit'],
  [/^\/assets$/, AssetsPage, 'Assets'],
  [/^\/assets\/([^/]+)$/, AssetPage, 'Asset'],
  [/^\/workflows$/, WorkflowsPage, 'Workflows'],
  [/^\/workflows\/([^/]+)$/, WorkflowPage, 'Workflow'],
  [/^\/platform(?:\/([^/]+))?$/, PlatformPage, 'Platform'],
];

function NoPage() {
  return (
    <main id="main" tabIndex={-1}>
      <Empty isPage title="There is no such page">
        <p>
          <Link to="/">Go to the jobs</Link>
        </p>
      </Empty>
    </main>
  );
}

function Current() {
  const { path } = usePlace();
  for (const [pattern, Page, title] of pages) {
    const match = pattern.exec(path);
    if (!match) continue;
    const id = decodeURIComponent(match[1] ?? '');
    return (
      <Titled title={id && title !== id ? `${id} · ${title}` : title}>
        <Page key={id} id={id} />
      </Titled>
    );
  }
  return (
    <Titled title="No such page">
      <NoPage />
    </Titled>
  );
}

function Titled({ title, children }: { title: string; children: React.ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Strata`;
  }, [title]);
  return children;
}

export function App() {
  return (
    <Identified>
      <Shell>
        <Suspense
          fallback={
            <main id="main" tabIndex={-1}>
              <Wait what="the page" />
            </main>
          }
        >
          <Current />
        </Suspense>
      </Shell>
    </Identified>
  );
}
