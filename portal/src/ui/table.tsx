// A plain table; on narrow screens it scrolls by itself.
import type { ReactNode } from 'react';

interface Props {
  label: string;
  head: readonly ReactNode[];
  children: ReactNode;
}

export function Table({ label, head, children }: Props) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <div className="card table-wrap" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {head.map((cell, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns have no name but their place
              <th key={index} scope="col">
                {cell}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** For those who do not see the column. */
export const Unseen = ({ children }: { children: ReactNode }) => <span className="hidden-text">{children}</span>;
