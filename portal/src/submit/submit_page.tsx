// A new job: choose a workflow, fill in what it declares, and watch it run.
import { useQuery } from '../api/use_query';
import { go, Link } from '../router/router';
import { Empty, Wait, Wrong } from '../ui/notes';
import { CHOICES, FORM } from './queries';
import './submit.css';
import { useMayWrite } from '../api/me';
import { SubmitForm } from './submit_form';

export default function SubmitPage({ id }: { id: string }) {
  const mayWrite = useMayWrite();
  const { data, refusal } = useQuery(CHOICES, {});
  const form = useQuery(FORM, id ? { id } : undefined);
  const workflow = form.data?.workflow;
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>New job</h1>
          <p>{id ? (workflow?.name ?? id) : 'Choose what to run.'}</p>
        </div>
        {id && (
          <Link to="/submit" className="button">
            Another workflow
          </Link>
        )}
      </div>
      {!mayWrite && (
        <div className="note warm" role="note">
          <strong>Your key may look, not submit.</strong> Ask an admin for one with the role writer.
        </div>
      )}
      {refusal && <Wrong refusal={refusal} />}
      {form.refusal && <Wrong refusal={form.refusal} />}
      {!data && !refusal && <Wait what="the workflows" />}
      {!id && data && data.workflows.length === 0 && (
        <Empty title="No workflow is registered">
          <p>Register the files of a folder when Strata starts:</p>
          <code>strata up --workflows DIR</code>
        </Empty>
      )}
      {!id && data && (
        <ul className="choices">
          {data.workflows.map((one) => (
            <li key={one.id}>
              <Link to={`/submit/${one.id}`} className="card choice" data-row data-workflow={one.id}>
                <strong>{one.latest?.name ?? one.id}</strong>
                <span className="soft small">
                  <code>{one.id}</code> version {one.latest?.version}
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {id && form.data && !workflow && (
        <Empty title="There is no such workflow">
          <p>
            <Link to="/submit">Choose another one</Link>
          </p>
        </Empty>
      )}
      {id && workflow && data && (
        <SubmitForm key={workflow.hash} workflow={workflow} platforms={data.platforms} disabled={!mayWrite} onDone={(job) => go(`/jobs/${job}`)} />
      )}
    </main>
  );
}
