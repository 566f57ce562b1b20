// Keys of the organisation: make one, see when it was used, end it.
import { useState } from 'react';
import { ask, Refusal } from '../api/client';
import { graphql } from '../api/graphql';
import { useMe } from '../api/me';
import { Dialog } from '../ui/dialog';
import { CopyButton } from '../ui/json';
import { Wait, Wrong } from '../ui/notes';
import { Table, Unseen } from '../ui/table';
import { When } from '../ui/time';
import { usePolled } from './use_polled';

const KEYS = graphql(`query Keys { keys { id label prefix role operator orgId createdAt createdBy lastUsedAt expiresAt revokedAt } }`);
const CREATE = graphql(
  `mutation CreateKey($label: String!, $role: Role!, $expires: Int) { createKey(label: $label, role: $role, expiresInSeconds: $expires) { token key { id } } }`,
);
const REVOKE = graphql(`mutation RevokeKey($id: String!) { revokeKey(id: $id) { id revokedAt } }`);

const DAY_SECONDS = 86_400;
const LIVES: [string, number | null][] = [
  ['never expires', null],
  ['30 days', 30 * DAY_SECONDS],
  ['90 days', 90 * DAY_SECONDS],
  ['a year', 365 * DAY_SECONDS],
];
const ROLES = ['READER', 'WRITER', 'ADMIN'] as const;

export function KeysPart() {
  const me = useMe();
  const { data, refusal, reload } = usePolled(KEYS, {}, 10_000);
  const [making, setMaking] = useState(false);
  const [ending, setEnding] = useState<{ id: string; label: string }>();
  if (!data) return refusal ? <Wrong refusal={refusal} /> : <Wait what="keys" />;
  return (
    <div className="stack">
      <div className="actions">
        <button type="button" className="main-action" onClick={() => setMaking(true)}>
          New key …
        </button>
      </div>
      {refusal && <Wrong refusal={refusal} />}
      <Table label="Keys" head={['Label', 'Begins with', 'Role', 'Made', 'Last used', 'State', <Unseen key="acts">Actions</Unseen>]}>
        {data.keys.map((key) => (
          <tr key={key.id}>
            <td>
              <strong>{key.label}</strong>
              {key.id === me.keyId && <span className="badge good">yours</span>}
            </td>
            <td>
              <code>{key.prefix}…</code>
            </td>
            <td>
              {key.role?.toLowerCase()}
              {key.operator && ', operator'}
            </td>
            <td>
              <When time={key.createdAt} />
            </td>
            <td>
              <When time={key.lastUsedAt} />
            </td>
            <td>
              {key.revokedAt ? (
                <span className="badge bad">✕ revoked</span>
              ) : key.expiresAt ? (
                <>
                  until <When time={key.expiresAt} />
                </>
              ) : (
                <span className="badge good">✓ valid</span>
              )}
            </td>
            <td className="right">
              {!key.revokedAt && (
                <button type="button" className="danger" onClick={() => setEnding(key)}>
                  Revoke …
                </button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {making && <NewKeyDialog onClose={() => setMaking(false)} onDone={reload} />}
      {ending && <EndKeyDialog id={ending.id} label={ending.label} isMine={ending.id === me.keyId} onClose={() => setEnding(undefined)} onDone={reload} />}
    </div>
  );
}

function NewKeyDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [label, setLabel] = useState('');
  const [role, setRole] = useState<(typeof ROLES)[number]>('READER');
  const [life, setLife] = useState(0);
  const [token, setToken] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  const run = async () => {
    try {
      const { createKey } = await ask(CREATE, { label, role, expires: LIVES[life]?.[1] ?? null });
      setToken(createKey.token);
      onDone();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
    }
  };
  if (token) {
    return (
      <Dialog title="The key, this once" onClose={onClose} onSubmit={onClose}>
        <p>Keep it now: it is not shown again.</p>
        <div className="copyable">
          <pre className="code wrap">{token}</pre>
          <CopyButton text={token} what="the key" />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="New key" action="Make the key" busy={label.trim() === ''} onClose={onClose} onSubmit={run}>
      <div className="field">
        <label htmlFor="key-label">What it is for</label>
        <input id="key-label" value={label} maxLength={100} onChange={(event) => setLabel(event.target.value)} />
      </div>
      <div className="field">
        <label htmlFor="key-role">Role</label>
        <select id="key-role" value={role} onChange={(event) => setRole(event.target.value as typeof role)}>
          {ROLES.map((one) => (
            <option key={one} value={one}>
              {one.toLowerCase()}
            </option>
          ))}
        </select>
        <span className="hint">Readers look, writers submit and steer too, admins look after keys too.</span>
      </div>
      <div className="field">
        <label htmlFor="key-life">Valid for</label>
        <select id="key-life" value={life} onChange={(event) => setLife(Number(event.target.value))}>
          {LIVES.map(([words], index) => (
            <option key={words} value={index}>
              {words}
            </option>
          ))}
        </select>
      </div>
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}

function EndKeyDialog({ id, label, isMine, onClose, onDone }: { id: string; label: string; isMine: boolean; onClose: () => void; onDone: () => void }) {
  const [refusal, setRefusal] = useState<Refusal>();
  const run = async () => {
    try {
      await ask(REVOKE, { id });
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
    }
  };
  return (
    <Dialog title={`Revoke “${label}”?`} action="Revoke it for good" danger onClose={onClose} onSubmit={run}>
      <p>
        Whoever uses it is refused within two seconds, and what they have open ends soon after. This cannot be undone.
        {isMine && <strong> It is the key that you are signed in with: you will be signed out.</strong>}
      </p>
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}
