// One workflow: its file beside its graph, its inputs, its versions and how they differ.
import { graphql } from '../api/graphql';
import { useMayWrite } from '../api/me';
import { useQuery } from '../api/use_query';
import { GraphView } from '../job/graph/graph_view';
import type { NodeState } from '../job/queries';
import { Link, useParam } from '../router/router';
import { fieldsOf, hint } from '../submit/inputs';
import { CopyButton } from '../ui/json';
import { LineDiff } from '../ui/line_diff';
import { Empty, Wait, Wrong } from '../ui/notes';
import { Table } from '../ui/table';
import { When } from '../ui/time';
import './workflows.css';

const WORKFLOW = graphql(`
  query Workflow($id: String!, $version: Int) {
    workflow(id: $id, version: $version) { hash version name source inputs registeredAt nodes { id kind handler queue } edges { from to } }
    workflows { id versions { version hash registeredAt } }
  }
`);

const SOURCE = graphql(`query Source($id: String!, $version: Int) { workflow(id: $id, version: $version) { version source } }`);

const NOT_RUN: readonly NodeState[] = [];
const nothing = () => {};

export default function WorkflowPage({ id }: { id: string }) {
  const mayWrite = useMayWrite();
  const [version, setVersion] = useParam('version');
  const [against, setAgainst] = useParam('against');
  const { data, refusal } = useQuery(WORKFLOW, { id, version: version ? Number(version) : null });
  const other = useQuery(SOURCE, against ? { id, version: Number(against) } : undefined);
  const shown = data?.workflow;
  const versions = data?.workflows.find((one) => one.id === id)?.versions ?? [];
  const compared = against ? other.data?.workflow : undefined;
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>{shown?.name ?? id}</h1>
          <p>
            <code>{id}</code>
            {shown && (
              <>
                {' '}
                version {shown.version}, registered <When time={shown.registeredAt} />
              </>
            )}
          </p>
        </div>
        <div className="actions">
          {versions.length > 1 && (
            <>
              <select aria-label="Version" value={String(shown?.version ?? '')} onChange={(event) => setVersion(event.target.value)}>
                {[...versions].reverse().map((one) => (
                  <option key={one.version} value={one.version}>
                    version {one.version}
                  </option>
                ))}
              </select>
              <select aria-label="Compare with version" value={against ?? ''} onChange={(event) => setAgainst(event.target.value)}>
                <option value="">Compare with …</option>
                {versions
                  .filter((one) => one.version !== shown?.version)
                  .map((one) => (
                    <option key={one.version} value={one.version}>
                      version {one.version}
                    </option>
                  ))}
              </select>
            </>
          )}
          <Link to={`/?workflow=${id}`} className="button">
            Its jobs
          </Link>
          {mayWrite && shown && (
            <Link to={`/submit/${id}`} className="button main-action">
              Run it
            </Link>
          )}
        </div>
      </div>
      {refusal && <Wrong refusal={refusal} />}
      {!data && !refusal && <Wait what="the workflow" />}
      {data && !shown && (
        <Empty title="There is no such workflow">
          <p>
            <Link to="/workflows">Go to the workflows</Link>
          </p>
        </Empty>
      )}
      {shown && (
        <>
          {compared && <LineDiff before={compared.source} after={shown.source} label={`From version ${compared.version} to version ${shown.version}`} />}
          <div className="source-and-graph">
            <div className="copyable">
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
              <pre className="code" tabIndex={0} role="region" aria-label="Source">
                {shown.source}
              </pre>
              <CopyButton text={shown.source} what="the definition" />
            </div>
            <GraphView key={shown.hash} shape={shown} nodes={NOT_RUN} chosen={null} onChoose={nothing} />
          </div>
          <Inputs inputs={shown.inputs} />
          <p className="small soft">
            SHA-256 <code className="hash">{shown.hash}</code>
          </p>
        </>
      )}
    </main>
  );
}

function Inputs({ inputs }: { inputs: Parameters<typeof fieldsOf>[0] }) {
  const fields = fieldsOf(inputs);
  if (fields.length === 0) return null;
  return (
    <section className="stack">
      <h2>Inputs</h2>
      <Table label="Inputs" head={['Name', 'What', 'Allowed', 'Default']}>
        {fields.map(({ name, declared }) => (
          <tr key={name}>
            <td>
              <code>{name}</code>
              {declared.required && <span className="required"> required</span>}
            </td>
            <td>{declared.description}</td>
            <td>{declared.enum ? declared.enum.join(', ') : hint(declared)}</td>
            <td>
              <code>{declared.default === undefined ? '–' : JSON.stringify(declared.default)}</code>
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
