// Where on earth the outputs of a job lie, as of the moment that the page shows.
import { useEffect, useMemo } from 'react';
import { graphql } from '../../api/graphql';
import { useQuery } from '../../api/use_query';
import { type Footprint, itemsIn } from '../../map/footprints';
import MapView from '../../map/map_view';
import { useParam } from '../../router/router';
import { Empty, Wait, Wrong } from '../../ui/notes';

const OUTPUTS = graphql(`
  query Outputs($id: String!, $asOf: AsOf) { job(id: $id, asOf: $asOf) { nodes { id status completedAt output } } }
`);

interface Props {
  id: string;
  at: number | undefined;
  tick: string;
  onChoose: (node: string) => void;
}

export default function JobMap({ id, at, tick, onChoose }: Props) {
  const { data, refusal, reload } = useQuery(OUTPUTS, { id, asOf: at === undefined ? undefined : { pos: at } });
  const [node] = useParam('node');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the job has changed
  useEffect(() => reload(), [tick]);
  const nodes = data?.job?.nodes;
  const prints = useMemo(() => {
    const found = (nodes ?? []).flatMap(({ id: name, output }) =>
      itemsIn(output).map((item): Footprint => ({ id: name, title: name, bbox: item.bbox, geometry: item.geometry })),
    );
    return found;
  }, [nodes]);
  if (refusal) return <Wrong refusal={refusal} />;
  if (!nodes) return <Wait what="the outputs" />;
  return (
    <div className="stack">
      <MapView prints={prints} chosen={node} onChoose={onChoose} />
      {prints.length === 0 ? (
        <Empty title="Nothing lies on the map yet">
          <p>Footprints appear as soon as a step returns a STAC item. {at !== undefined && 'At this moment none had.'}</p>
        </Empty>
      ) : (
        <p className="soft small">
          {prints.length === 1 ? 'One footprint' : `${prints.length} footprints`}, of what {[...new Set(prints.map(({ title }) => title))].join(', ')} made. A
          click opens the step that made it.
        </p>
      )}
    </div>
  );
}
