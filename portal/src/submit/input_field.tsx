// One input of a workflow: the fitting control, what may be written, and what is wrong with what was.
import { useId, useState } from 'react';
import { type Field, hint, parse } from './inputs';

interface Props {
  field: Field;
  text: string;
  /** Whether somebody has tried to submit. */
  checked: boolean;
  onChange: (text: string) => void;
}

export function InputField({ field, text, checked, onChange }: Props) {
  const { name, declared } = field;
  const id = useId();
  const [left, setLeft] = useState(false);
  const parsed = parse(text, field);
  const wrong = (checked || left) && 'wrong' in parsed ? parsed.wrong : undefined;
  const common = {
    id,
    name,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': wrong ? true : undefined,
    required: declared.required,
    onBlur: () => setLeft(true),
  };
  const change = (event: { target: { value: string } }) => onChange(event.target.value);
  return (
    <div className="field">
      <label htmlFor={id}>
        {name}
        {declared.required && <span className="required"> required</span>}
      </label>
      {declared.enum ? (
        <select {...common} value={text} onChange={change}>
          {!declared.required && declared.default === undefined && <option value="">–</option>}
          {declared.enum.map((choice) => (
            <option key={String(choice)} value={String(choice)}>
              {String(choice)}
            </option>
          ))}
        </select>
      ) : declared.type === 'boolean' ? (
        <select {...common} value={text || 'false'} onChange={change}>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      ) : declared.type === 'object' || declared.type === 'array' ? (
        <textarea {...common} rows={2} className="mono" spellCheck={false} value={text} onChange={change} />
      ) : (
        <input {...common} value={text} onChange={change} inputMode={declared.type === 'string' ? 'text' : 'decimal'} autoComplete="off" spellCheck={false} />
      )}
      <span className="hint" id={`${id}-hint`}>
        {wrong && <span className="wrong">{wrong} </span>}
        {declared.description} <span className="small">({hint(declared)})</span>
      </span>
    </div>
  );
}
