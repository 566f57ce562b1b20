// The installation itself: is it healthy, who works, what waits, what went wrong, who may come in.
import type { ComponentType } from 'react';
import { useMe } from '../api/me';
import { Link } from '../router/router';
import { Empty } from '../ui/notes';
import { useInSight } from '../ui/tabs';
import { CallbacksPart } from './callbacks_part';
import { DeadLettersPart } from './dead_letters_part';
import { HealthPart } from './health_part';
import { KeysPart } from './keys_part';
import './platform.css';
import { QueuesPart } from './queues_part';
import { ReadModelsPart } from './read_models_part';
import { WorkersPart } from './workers_part';

interface Part {
  id: string;
  title: string;
  show: ComponentType;
  needs?: 'operator' | 'admin';
}

const PARTS: readonly Part[] = [
  { id: '', title: 'Health', show: HealthPart },
  { id: 'queues', title: 'Queues', show: QueuesPart, needs: 'operator' },
  { id: 'workers', title: 'Orchestrators and workers', show: WorkersPart, needs: 'operator' },
  { id: 'read-models', title: 'Read models', show: ReadModelsPart, needs: 'operator' },
  { id: 'callbacks', title: 'Callbacks', show: CallbacksPart },
  { id: 'dead-letters', title: 'Dead letters', show: DeadLettersPart, needs: 'operator' },
  { id: 'keys', title: 'Keys', show: KeysPart, needs: 'admin' },
];

export default function PlatformPage({ id }: { id: string }) {
  const me = useMe();
  const may = ({ needs }: Part) => !needs || (needs === 'operator' ? me.operator : me.role === 'ADMIN' || me.operator);
  const parts = PARTS.filter(may);
  const part = parts.find((one) => one.id === id);
  const box = useInSight(id);
  return (
    <main id="main" tabIndex={-1}>
      <div className="page-head">
        <div>
          <h1>Platform</h1>
          <p>How this installation is.</p>
        </div>
      </div>
      <nav className="tabs" aria-label="Parts of the platform" ref={box}>
        {parts.map((one) => (
          <Link key={one.id} to={`/platform${one.id && `/${one.id}`}`} aria-current={one === part ? 'page' : undefined}>
            {one.title}
          </Link>
        ))}
      </nav>
      {part ? (
        <part.show />
      ) : (
        <Empty title="This is not for your key">
          <p>
            There is no such part, or your key may not see it. <Link to="/platform">Go to health</Link>
          </p>
        </Empty>
      )}
    </main>
  );
}
