// The inputs of a workflow as fields: what somebody writes becomes a value, or a reason why it cannot be one.
// The rules are those that the server holds a submission against; it has the last word.
import type { Json } from '../api/graphql';

export interface Declared {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';
  required?: boolean;
  default?: Json;
  min?: number;
  max?: number;
  enum?: Json[];
  pattern?: string;
  description?: string;
}

export interface Field {
  name: string;
  declared: Declared;
}

/** Required ones first, then by name. */
export function fieldsOf(inputs: Json): Field[] {
  const all = Object.entries((inputs ?? {}) as Record<string, unknown>);
  const fields = all.map(([name, declared]) => ({ name, declared: declared as Declared }));
  const rank = ({ declared }: Field) => (declared.required ? 0 : 1);
  return fields.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

/** What stands in a field before anybody writes. */
export function initialText({ declared }: Field): string {
  const value = declared.default;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export type Parsed = { value: Json | undefined } | { wrong: string };

const isNumber = (type: Declared['type']) => type === 'integer' || type === 'number';

function sizeOf(value: Json): [number, string] | undefined {
  if (typeof value === 'number') return [value, ''];
  if (typeof value === 'string') return [[...value].length, ' characters'];
  if (Array.isArray(value)) return [value.length, ' entries'];
  return undefined;
}

function read(text: string, { type }: Declared): Parsed {
  if (type === 'string') return { value: text };
  if (type === 'boolean') return { value: text === 'true' };
  if (isNumber(type)) {
    const value = Number(text);
    if (!Number.isFinite(value)) return { wrong: 'This is not a number.' };
    if (type === 'integer' && !Number.isSafeInteger(value)) return { wrong: 'This must be a whole number.' };
    return { value };
  }
  try {
    const value = JSON.parse(text) as Json;
    const isRight = type === 'array' ? Array.isArray(value) : value !== null && typeof value === 'object' && !Array.isArray(value);
    return isRight ? { value } : { wrong: type === 'array' ? 'This must be a list, such as ["a", "b"].' : 'This must be an object, such as {"a": 1}.' };
  } catch {
    return { wrong: `This is not JSON. Write ${type === 'array' ? '["a", "b"]' : '{"a": 1}'}.` };
  }
}

/** Expressions of the server that browsers do not know are left to the server. */
function matches(text: string, pattern: string): boolean {
  try {
    return new RegExp(`^(?:${pattern})$`, 'u').test(text);
  } catch {
    return true;
  }
}

/** The value that a text stands for. An empty field that is not required is left to its default. */
export function parse(text: string, { declared }: Field): Parsed {
  if (text.trim() === '' && !(declared.type === 'string' && text !== '')) {
    if (declared.required) return { wrong: 'This is required.' };
    return { value: declared.type === 'string' && declared.default !== undefined ? '' : undefined };
  }
  const parsed = read(text, declared);
  if ('wrong' in parsed || parsed.value === undefined) return parsed;
  const { min, max, pattern, enum: choices } = declared;
  if (choices && !choices.includes(parsed.value)) return { wrong: `This must be one of ${choices.join(', ')}.` };
  if (typeof parsed.value === 'string' && pattern && !matches(parsed.value, pattern)) return { wrong: `This must match ${pattern}` };
  const size = sizeOf(parsed.value);
  if (size && min !== undefined && size[0] < min) return { wrong: `At least ${min}${size[1]}.` };
  if (size && max !== undefined && size[0] > max) return { wrong: `At most ${max}${size[1]}.` };
  return parsed;
}

/** What may be written, in words. */
export function hint({ type, min, max }: Declared): string {
  const unit = type === 'string' ? ' characters' : type === 'array' ? ' entries' : '';
  const range =
    min !== undefined && max !== undefined
      ? `${min} to ${max}${unit}`
      : min !== undefined
        ? `at least ${min}${unit}`
        : max !== undefined
          ? `at most ${max}${unit}`
          : '';
  const kind = type === 'object' || type === 'array' ? 'JSON' : type === 'integer' ? 'whole number' : type === 'string' ? 'text' : type;
  return [kind, range].filter(Boolean).join(', ');
}
