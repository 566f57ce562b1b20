// The definition that a job runs, and how another version of it differs.
import { graphql } from '../../api/graphql';
import { useQuery } from '../../api/use_query';
import { Link, useParam } from '../../router/router';
import { CopyButton } from '../../ui/json';
import { LineDiff } from '../../ui/line_diff';
import { Wait, Wrong } from '../../ui/notes';

const DEFINITION = graphql(`
  query Definition($id: String!, $version: Int) {
    workflow(id: $id, version: $version) { hash version name source registeredAt }
    workflows { id versions { version } }
  }
`);

const OTHER = graphql(`query OtherVersion($id: String!, $version: Int) { workflow(id: $id, version: $version) { source version } }`);

export function DefinitionView({ workflow, version }: { workflow: string; version: number | null }) {
  const { data, refusal } = useQuery(DEFINITION, { id: workflow, version });
  const [against, setAgainst] = useParam('against');
  const other = useQuery(OTHER, against ? { id: workflow, version: Number(against) } : undefined);
  const mine = data?.workflow;
  if (refusal) return <Wrong refusal={refusal} />;
  if (!mine) return <Wait what="the definition" />;
  const versions = data.workflows.find(({ id }) => id === workflow)?.versions ?? [];
  const rest = versions.filter(({ version: one }) => one !== mine.version);
  const compared = against ? other.data?.workflow : undefined;
  return (
    <section className="card padded stack" aria-label="Definition">
      <div className="page-head">
        <div>
          <h2>
            {mine.name} <span className="soft">version {mine.version}</span>
          </h2>
          <p className="small">
            SHA-256 <code className="hash">{mine.hash}</code>
          </p>
        </div>
        <div className="actions">
          {rest.length > 0 && (
            <select aria-label="Compare with version" value={against ?? ''} onChange={(event) => setAgainst(event.target.value)}>
              <option value="">Compare with …</option>
              {rest.map(({ version: one }) => (
                <option key={one} value={one}>
                  version {one}
                </option>
              ))}
            </select>
          )}
          <Link to={`/workflows/${workflow}`} className="button">
            All about this workflow
          </Link>
        </div>
      </div>
      {compared ? (
        <LineDiff before={compared.source} after={mine.source} label={`From version ${compared.version} to version ${mine.version}`} />
      ) : (
        <div className="copyable">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
          <pre className="code source" tabIndex={0} role="region" aria-label="Source">
            {mine.source}
          </pre>
          <CopyButton text={mine.source} what="the definition" />
        </div>
      )}
    </section>
  );
}
