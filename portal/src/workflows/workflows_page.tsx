// All workflows that can be submitted.
import { graphql } from '../api/graphql';
import { useMayWrite } from '../api/me';
import { useQuery } from '../api/use_query';
import { Link } from '../router/router';
import { Empty, Wait, Wrong } from '../ui/notes';
import { When } from '../ui/time';

const WORKFLOWS = graphql(`
  query Workflows { workflows { id latest { name version registeredAt nodes { id } } versions { version } } }
`);

export default function WorkflowsPage(_: { id: string }) {
  const mayWrite = useMayWrite();
  const { data, refusal } = useQuery(WORKFLOWS, {});
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>Workflows</h1>
          <p>Definitions that are registered. A job runs the version that it was submitted with, whatever comes later.</p>
        </div>
      </div>
      {refusal && <Wrong refusal={refusal} />}
      {!data && !refusal && <Wait what="workflows" />}
      {data?.workflows.length === 0 && (
        <Empty title="No workflow is registered">
          <p>Start Strata with a folder of files:</p>
          <code>strata up --workflows DIR</code>
        </Empty>
      )}
      <ul className="choices">
        {data?.workflows.map(({ id, latest, versions }) => (
          <li key={id} className="card choice-card">
            <Link to={`/workflows/${id}`} className="choice" data-row data-workflow={id}>
              <strong>{latest?.name ?? id}</strong>
              <code className="soft small">{id}</code>
              <span className="small soft">
                version {latest?.version}
                {versions.length > 1 && `, one of ${versions.length}`} · {latest?.nodes.length} nodes · <When time={latest?.registeredAt} />
              </span>
            </Link>
            <div className="actions choice-actions">
              <Link to={`/?workflow=${id}`} className="button quiet">
                Its jobs
              </Link>
              {mayWrite && (
                <Link to={`/submit/${id}`} className="button">
                  Run it
                </Link>
              )}
            </div>
          </li>
        ))}
      </ul>
    </main>
  );
}
