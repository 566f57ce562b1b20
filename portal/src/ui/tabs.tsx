// Parts of a page, each with its own address.
import { type RefObject, useEffect, useRef } from 'react';
import { hereWith, Link } from '../router/router';

export interface Tab {
  id: string;
  title: string;
}

/** On a narrow screen the part that is open may be out of sight. */
export function useInSight(active: string): RefObject<HTMLElement | null> {
  const box = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another part is another place
  useEffect(() => {
    const row = box.current;
    const here = row?.querySelector<HTMLElement>('[aria-current]');
    if (row && here) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.clientWidth) / 2;
  }, [active]);
  return box;
}

export function Tabs({ tabs, active, label, param = 'tab' }: { tabs: readonly Tab[]; active: string; label: string; param?: string }) {
  const [first] = tabs;
  const box = useInSight(active);
  return (
    <nav className="tabs" aria-label={label} ref={box}>
      {tabs.map(({ id, title }) => (
        <Link key={id} to={hereWith({ [param]: id === first?.id ? null : id })} how="replace" aria-current={id === active ? 'true' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
