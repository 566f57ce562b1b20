// Parts of a page, each with its own address.
import { hereWith, Link } from '../router/router';

export interface Tab {
  id: string;
  title: string;
}

export function Tabs({ tabs, active, label, param = 'tab' }: { tabs: readonly Tab[]; active: string; label: string; param?: string }) {
  const [first] = tabs;
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ id, title }) => (
        <Link key={id} to={hereWith({ [param]: id === first?.id ? null : id })} how="replace" aria-current={id === active ? 'true' : undefined}>
          {title}
        </Link>
      ))}
    </nav>
  );
}
