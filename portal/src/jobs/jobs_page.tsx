// The first page: every job, live, filtered by the address.
import { useState } from 'react';
import { useMayWrite } from '../api/me';
import { Link, useParam } from '../router/router';
import { Empty, Wait, Wrong } from '../ui/notes';
import { BulkDialog, WISHES, type Wish } from './bulk';
import { filterText, useFilter } from './filter';
import { FilterBar } from './filter_bar';
import { JobList } from './job_list';
import './jobs.css';
import { useJobs } from './use_jobs';

export function JobsPage(_: { id: string }) {
  const { filter, isEmpty } = useFilter();
  const [since] = useParam('since');
  const { rows, counts, readMore, refusal, loading, reload, isFull } = useJobs(filter);
  const [wish, setWish] = useState<Wish>();
  const mayWrite = useMayWrite();
  const words = filterText(filter, since);
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>Jobs</h1>
          <p>{isEmpty ? 'Everything that was asked for, the newest first.' : `Showing ${words}.`}</p>
        </div>
        {mayWrite && rows.length > 0 && (
          <div className="actions" role="group" aria-label="All jobs of the filter">
            {(Object.keys(WISHES) as Wish[]).map((one) => (
              <button key={one} type="button" onClick={() => setWish(one)} className={one === 'CANCEL' ? 'danger' : ''}>
                {WISHES[one].verb} …
              </button>
            ))}
          </div>
        )}
      </div>
      <FilterBar counts={counts} />
      {refusal && <Wrong refusal={refusal} />}
      {loading && <Wait what="jobs" />}
      {!loading && !refusal && rows.length === 0 && <NoJobs isEmpty={isEmpty} mayWrite={mayWrite} />}
      {rows.length > 0 && <JobList rows={rows} readMore={readMore} />}
      {isFull && <p className="soft">The list ends here; narrow the filter to see older jobs.</p>}
      {wish && <BulkDialog wish={wish} filter={filter} words={words} onClose={() => setWish(undefined)} onDone={reload} />}
    </main>
  );
}

function NoJobs({ isEmpty, mayWrite }: { isEmpty: boolean; mayWrite: boolean }) {
  if (!isEmpty) {
    return (
      <Empty title="No job fits this filter">
        <p>
          Take something out of it, or <Link to="/">show all jobs</Link>.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet">
      {mayWrite && (
        <Link to="/submit" className="button main-action">
          Submit the first one
        </Link>
      )}
      <p>or on the command line:</p>
      <code>strata job submit hello_world --input name=Ada --watch</code>
    </Empty>
  );
}
