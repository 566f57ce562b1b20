// Read models, and how far behind the log they are.
import { graphql } from '../api/graphql';
import { Wait, Wrong } from '../ui/notes';
import { Table } from '../ui/table';
import { When } from '../ui/time';
import { usePolled } from './use_polled';

const PROJECTIONS = graphql(`query Projections { head projections { name version position lag isLed leader updatedAt } }`);

export function ReadModelsPart() {
  const { data, refusal } = usePolled(PROJECTIONS, {});
  if (!data) return refusal ? <Wrong refusal={refusal} /> : <Wait what="the read models" />;
  return (
    <div className="stack">
      {refusal && <Wrong refusal={refusal} />}
      <p>
        The log ends at position <strong className="num">{data.head.toLocaleString()}</strong>.
      </p>
      <Table label="Read models" head={['Name', 'Behind', 'Position', 'Leader', 'Layout', 'Changed']}>
        {data.projections.map((one) => (
          <tr key={one.name}>
            <td>
              <code>{one.name}</code>
            </td>
            <td className="num">{one.lag === 0 ? <span className="badge good">✓ up to date</span> : `${one.lag.toLocaleString()} events`}</td>
            <td className="num">{one.position.toLocaleString()}</td>
            <td>{one.isLed ? <code className="cut">{one.leader?.slice(0, 12)}</code> : <span className="badge bad">✕ nobody</span>}</td>
            <td className="num">{one.version}</td>
            <td>
              <When time={one.updatedAt} />
            </td>
          </tr>
        ))}
      </Table>
      <p className="small soft">
        They can be built anew while everything runs: <code>strata projection rebuild --all --verify</code>
      </p>
    </div>
  );
}
