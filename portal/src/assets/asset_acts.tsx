// What can be done with an asset and its revisions; each says first what it will do.
import { useState } from 'react';
import { ask, Refusal } from '../api/client';
import type { Me } from '../api/me';
import { go } from '../router/router';
import { Dialog } from '../ui/dialog';
import { Wrong } from '../ui/notes';
import { APPROVE, type Asset, CLEARANCE, DELETE, nameOf, REJECT, REPROCESS, RESTORE, REVOKE, type Revision } from './queries';
import { RollbackDialog } from './rollback_dialog';

export interface Act {
  id: 'approve' | 'reject' | 'revoke' | 'rollback' | 'reprocess' | 'clearance' | 'delete' | 'restore';
  verb: string;
  /** What will happen, in a sentence. */
  effect: string;
  kind: '' | 'main-action' | 'danger';
  revision?: number;
}

const CLEARANCES = ['UNCLEARED', 'OUO', 'PUBLIC'] as const;
type Clearance = (typeof CLEARANCES)[number];

/** What makes sense for the asset as a whole, and what the role may: writers process, admins decide. */
export function assetActs(asset: Asset, role: Me['role']): Act[] {
  const isAdmin = role === 'ADMIN';
  const acts: Act[] = [];
  if (asset.deleted) {
    if (isAdmin) acts.push({ id: 'restore', verb: 'Restore', effect: 'The asset is shown again, with all of its history.', kind: 'main-action' });
    return acts;
  }
  if (role !== 'READER' && asset.revision !== null && asset.processingStatus !== 'processing') {
    acts.push({
      id: 'reprocess',
      verb: 'Reprocess',
      effect: 'Its latest request runs again. When it completes there is a new revision, which waits for review.',
      kind: '',
    });
  }
  if (!isAdmin) return acts;
  acts.push({ id: 'clearance', verb: 'Set clearance', effect: 'It says who may see the asset.', kind: '' });
  acts.push({ id: 'delete', verb: 'Delete', effect: 'The asset is hidden. Its row, its files and its history stay, and it can be restored.', kind: 'danger' });
  return acts;
}

/** What makes sense for one revision. */
export function revisionActs(asset: Asset, { number, approval }: Revision): Act[] {
  if (asset.deleted) return [];
  const isCurrent = number === asset.revision;
  const acts: Act[] = [];
  if (isCurrent && approval !== 'APPROVED')
    acts.push({ id: 'approve', verb: 'Approve', effect: `Revision ${number} is approved, and partners may use it.`, kind: 'main-action', revision: number });
  if (isCurrent && approval === 'PENDING_REVIEW')
    acts.push({ id: 'reject', verb: 'Reject', effect: `Revision ${number} is turned down.`, kind: 'danger', revision: number });
  if (isCurrent && approval === 'APPROVED')
    acts.push({ id: 'revoke', verb: 'Revoke', effect: `The approval of revision ${number} is taken back.`, kind: 'danger', revision: number });
  if (!isCurrent)
    acts.push({
      id: 'rollback',
      verb: 'Roll back to it',
      effect: `A new revision ${(asset.revision ?? 0) + 1} is made with the content of revision ${number}. Nothing is lost: revision ${asset.revision} stays in the list.`,
      kind: '',
      revision: number,
    });
  return acts;
}

const WITH_REASON: readonly Act['id'][] = ['reject', 'revoke'];

interface Props {
  asset: Asset;
  act: Act;
  onClose: () => void;
  onDone: () => void;
}

export function AssetDialog(props: Props) {
  return props.act.id === 'rollback' ? <RollbackDialog {...props} /> : <PlainDialog {...props} />;
}

function PlainDialog({ asset, act, onClose, onDone }: Props) {
  const [reason, setReason] = useState('');
  const [clearance, setClearance] = useState<Clearance>(asset.clearance);
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const needsReason = WITH_REASON.includes(act.id);
  const run = async () => {
    setBusy(true);
    try {
      const job = await perform(asset, act, reason, clearance);
      if (job) return go(`/jobs/${job}`);
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof Refusal) setRefusal(error);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`${act.verb}: ${nameOf(asset)}`}
      onClose={onClose}
      onSubmit={run}
      action={act.verb}
      danger={act.kind === 'danger'}
      busy={busy || (needsReason && reason.trim() === '')}
    >
      <p data-preview={act.id}>{act.effect}</p>
      {needsReason && (
        <div className="field">
          <label htmlFor="act-reason">
            Reason <span className="required">required</span>
          </label>
          <input id="act-reason" value={reason} maxLength={500} required onChange={(event) => setReason(event.target.value)} />
        </div>
      )}
      {act.id === 'clearance' && (
        <div className="field">
          <label htmlFor="act-clearance">Clearance</label>
          <select id="act-clearance" value={clearance} onChange={(event) => setClearance(event.target.value as Clearance)}>
            {CLEARANCES.map((one) => (
              <option key={one} value={one}>
                {one.toLowerCase()}
              </option>
            ))}
          </select>
        </div>
      )}
      {refusal && <Wrong refusal={refusal} />}
    </Dialog>
  );
}

/** Does it; answers with a job to look at, if there is one. */
async function perform({ id }: Asset, act: Act, reason: string, clearance: Clearance): Promise<string | null> {
  const revision = act.revision ?? null;
  switch (act.id) {
    case 'approve':
      await ask(APPROVE, { id, revision });
      break;
    case 'reject':
      await ask(REJECT, { id, revision, reason });
      break;
    case 'revoke':
      await ask(REVOKE, { id, revision, reason });
      break;
    case 'rollback':
      // Has a dialog of its own.
      break;
    case 'clearance':
      await ask(CLEARANCE, { id, clearance });
      break;
    case 'delete':
      await ask(DELETE, { id });
      break;
    case 'restore':
      await ask(RESTORE, { id });
      break;
    case 'reprocess':
      return (await ask(REPROCESS, { id })).reprocess.jobId;
  }
  return null;
}
