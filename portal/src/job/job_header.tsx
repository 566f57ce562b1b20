// What a job is, in one look: its name, its state, how far it is, and why it failed.

import type { ReactNode } from 'react';
import { failureText } from '../jobs/job_list';
import { Link } from '../router/router';
import { CountsBar, countsText } from '../ui/counts';
import { CopyButton } from '../ui/json';
import { Status } from '../ui/status';
import { between, useNow, When } from '../ui/time';
import type { JobState } from './queries';

interface Props {
  id: string;
  job: JobState | undefined;
  workflow: string | undefined;
  children: ReactNode;
}

export function JobHeader({ id, job, workflow, children }: Props) {
  const then = job?.asOf;
  const isOpen = job !== undefined && !job.completedAt && !then;
  const now = useNow(isOpen);
  const state = job?.paused && !job.completedAt ? 'PAUSED' : (job?.status ?? 'PENDING');
  const wrong = job ? failureText(job) : undefined;
  const origin = job?.origin as { kind?: string; job_id?: string } | null | undefined;
  return (
    <header className="stack">
      <div className="page-head">
        <div>
          <h1 className="job-title">
            <Link to={`/workflows/${workflow ?? job?.workflowId}`}>{job?.workflowId ?? workflow ?? 'Job'}</Link>
            {job && <span className="soft">v{job.workflowVersion}</span>}
            <span className="job-status" data-job-status={job?.status ?? 'WAITING'}>
              <Status state={state}>{job ? undefined : 'Waits for an orchestrator'}</Status>
            </span>
          </h1>
          <p className="job-ids">
            <code className="cut">{id}</code> <CopyButton text={id} what="the id of the job" />
          </p>
        </div>
        <div className="actions">{children}</div>
      </div>
      <div className="job-numbers">
        <dl>
          <div>
            <dt>{then ? 'Shown as of' : 'Submitted'}</dt>
            <dd>
              <When time={then?.recordedAt ?? job?.createdAt} />
            </dd>
          </div>
          <div>
            <dt>{isOpen ? 'Runs for' : 'Took'}</dt>
            <dd className="num">{job ? between(job.createdAt, job.completedAt ?? then?.recordedAt, now) : '–'}</dd>
          </div>
          <div>
            <dt>Done</dt>
            <dd className="num" data-done={job?.progress.done}>
              {job ? `${job.progress.done.toLocaleString()} of ${job.progress.total.toLocaleString()}` : '–'}
            </dd>
          </div>
          <div>
            <dt>Priority</dt>
            <dd>{job?.priority.toLowerCase() ?? '–'}</dd>
          </div>
          {origin?.job_id && (
            <div>
              <dt>{origin.kind ?? 'Made'} from</dt>
              <dd>
                <Link to={`/jobs/${origin.job_id}`} className="mono">
                  {origin.job_id.slice(0, 12)}…
                </Link>
              </dd>
            </div>
          )}
        </dl>
        {job && job.progress.total > 0 && (
          <div className="job-bar">
            <CountsBar counts={job.progress.counts} label="Progress" />
            <p className="small soft num" data-counts>
              {countsText(job.progress.counts)}
            </p>
          </div>
        )}
      </div>
      {wrong && (
        <div className={`note ${state === 'CANCELLED' ? 'warm' : 'bad'}`} role="note">
          <strong>
            {state === 'CANCELLED' ? 'Cancelled' : 'Why it failed'}: {wrong}
          </strong>
        </div>
      )}
      {job?.degraded && (
        <div className="note warm" role="note">
          The read models could not follow this job to its end. The log is complete: <code>strata projection rebuild --all</code>
        </div>
      )}
    </header>
  );
}
