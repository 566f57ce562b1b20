// A question that must be answered first; the browser's own dialog keeps the focus in it.
import { type FormEvent, type ReactNode, useEffect, useId, useRef } from 'react';

interface Props {
  title: string;
  onClose: () => void;
  onSubmit: () => void;
  /** The words of the button that does it; without them there is only the way back. */
  action?: string;
  danger?: boolean;
  busy?: boolean;
  children: ReactNode;
}

export function Dialog({ title, onClose, onSubmit, action, danger, busy, children }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = box.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!busy && action) onSubmit();
  };
  return (
    <dialog
      ref={box}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <form onSubmit={submit}>
        <h2 id={heading}>{title}</h2>
        {children}
        <div className="actions">
          <button type="button" onClick={onClose}>
            {action ? 'Back' : 'Close'}
          </button>
          {action && (
            <button type="submit" className={danger ? 'danger' : 'main-action'} disabled={busy}>
              {action}
            </button>
          )}
        </div>
      </form>
    </dialog>
  );
}
