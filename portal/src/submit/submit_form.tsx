// The form of one workflow, made from the inputs that it declares.
import { type FormEvent, useMemo, useRef, useState } from 'react';
import { ask, Refusal } from '../api/client';
import type { Json, ResultOf, VariablesOf } from '../api/graphql';
import { Wrong } from '../ui/notes';
import { InputField } from './input_field';
import { fieldsOf, initialText, parse } from './inputs';
import { type CHOICES, type FORM, SUBMIT } from './queries';

type Workflow = NonNullable<ResultOf<typeof FORM>['workflow']>;
type Platform = ResultOf<typeof CHOICES>['platforms'][number];
type Input = VariablesOf<typeof SUBMIT>['input'];

interface Props {
  workflow: Workflow;
  platforms: readonly Platform[];
  disabled: boolean;
  onDone: (job: string) => void;
}

export function SubmitForm({ workflow, platforms, disabled, onDone }: Props) {
  const fields = useMemo(() => fieldsOf(workflow.inputs), [workflow]);
  const [texts, setTexts] = useState(() => Object.fromEntries(fields.map((field) => [field.name, initialText(field)])));
  const [checked, setChecked] = useState(false);
  const [priority, setPriority] = useState<NonNullable<Input['priority']> | ''>('');
  const [platform, setPlatform] = useState('');
  const [refs, setRefs] = useState<Record<string, string>>({});
  const [refusal, setRefusal] = useState<Refusal>();
  const [busy, setBusy] = useState(false);
  // The same click twice is the same request.
  const key = useRef(crypto.randomUUID());
  const form = useRef<HTMLFormElement>(null);
  const about = platforms.find(({ id }) => id === platform);

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    const inputs: Record<string, Json> = {};
    for (const field of fields) {
      const parsed = parse(texts[field.name] ?? '', field);
      if ('wrong' in parsed) {
        form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(field.name)}"]`)?.focus();
        return;
      }
      if (parsed.value !== undefined) inputs[field.name] = parsed.value;
    }
    setBusy(true);
    setRefusal(undefined);
    const given = Object.fromEntries(Object.entries(refs).filter(([, text]) => text !== ''));
    const input: Input = {
      workflow: workflow.workflowId,
      version: workflow.version,
      inputs,
      idempotencyKey: key.current,
      ...(priority && { priority }),
      ...(about && { platform: about.id, refs: given }),
    };
    try {
      const { submitJob } = await ask(SUBMIT, { input });
      onDone(submitJob.jobId);
    } catch (error) {
      // Nothing was accepted under this key, unless nobody knows.
      if (error instanceof Refusal) {
        if (!error.mayPass) key.current = crypto.randomUUID();
        setRefusal(error);
      }
      setBusy(false);
    }
  };

  return (
    <form className="submit-form" ref={form} onSubmit={submit} noValidate data-form={workflow.workflowId}>
      <fieldset className="card padded stack" disabled={disabled}>
        <legend className="hidden-text">Inputs</legend>
        <h2>Inputs</h2>
        {fields.length === 0 && <p className="soft">This workflow takes none.</p>}
        {fields.map((field) => (
          <InputField
            key={field.name}
            field={field}
            text={texts[field.name] ?? ''}
            checked={checked}
            onChange={(text) => setTexts((last) => ({ ...last, [field.name]: text }))}
          />
        ))}
      </fieldset>
      <div className="stack">
        <fieldset className="card padded stack" disabled={disabled}>
          <legend className="hidden-text">How it runs</legend>
          <h2>How it runs</h2>
          <div className="field">
            <label htmlFor="priority">Priority</label>
            <select id="priority" value={priority} onChange={(event) => setPriority(event.target.value as typeof priority)}>
              <option value="">as the workflow says</option>
              <option value="HIGH">high</option>
              <option value="NORMAL">normal</option>
              <option value="LOW">low</option>
            </select>
          </div>
          <div className="field">
            <label htmlFor="platform">About an asset of</label>
            <select
              id="platform"
              value={platform}
              onChange={(event) => {
                setPlatform(event.target.value);
                setRefs({});
              }}
            >
              <option value="">no asset</option>
              {platforms.map(({ id, name }) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
            <span className="hint">What the job makes becomes a revision of the asset.</span>
          </div>
          {about &&
            [...about.requiredRefs, ...about.optionalRefs].map((name) => (
              <div className="field" key={name}>
                <label htmlFor={`ref-${name}`}>
                  {name}
                  {about.requiredRefs.includes(name) && <Required />}
                </label>
                <input id={`ref-${name}`} value={refs[name] ?? ''} onChange={(event) => setRefs((last) => ({ ...last, [name]: event.target.value }))} />
              </div>
            ))}
        </fieldset>
        {refusal && <Wrong refusal={refusal} />}
        <button type="submit" className="main-action submit" disabled={disabled || busy}>
          {busy ? 'Submitting …' : `Run ${workflow.name}`}
        </button>
        <p className="small soft">
          Version {workflow.version}, {workflow.nodes.length} nodes. The same by hand: <code>strata job submit {workflow.workflowId}</code>
        </p>
      </div>
    </form>
  );
}

export const Required = () => <span className="required"> required</span>;
