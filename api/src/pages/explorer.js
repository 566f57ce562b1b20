// A small explorer: sends documents, follows subscriptions as server-sent events, lists the schema.
const $ = (id) => document.getElementById(id);
const STORE = 'strata-explorer';
const FIRST = `# Ctrl+Enter runs it. Subscriptions run until Stop.
query Jobs {
  jobs(first: 10) {
    counts { status count }
    nodes { id workflowId status progress { done total } createdAt }
  }
}`;
const kept = JSON.parse(localStorage.getItem(STORE) ?? '{}');
$('query').value = kept.query ?? FIRST;
$('variables').value = kept.variables ?? '{}';
let running = null;

function headers(accept) {
  const all = { 'content-type': 'application/json', accept };
  const key = $('key').value.trim();
  if (key) all.authorization = `Bearer ${key}`;
  return all;
}

function say(text, bad = false) {
  $('state').textContent = text;
  $('state').className = bad ? 'bad' : '';
}

async function run() {
  stop();
  let variables;
  try {
    variables = JSON.parse($('variables').value || '{}');
  } catch (error) {
    return say(`Variables: ${error.message}`, true);
  }
  const query = $('query').value;
  localStorage.setItem(STORE, JSON.stringify({ query, variables: $('variables').value }));
  running = new AbortController();
  const { signal } = running;
  $('stop').disabled = false;
  $('answer').textContent = '';
  const began = performance.now();
  const live = /^\s*subscription\b/m.test(query.replace(/#.*/g, ''));
  try {
    const answer = await fetch('/graphql', {
      method: 'POST', signal, body: JSON.stringify({ query, variables }),
      headers: headers(live ? 'text/event-stream' : 'application/json'),
    });
    if (answer.headers.get('content-type')?.startsWith('text/event-stream')) await follow(answer);
    else $('answer').textContent = JSON.stringify(await answer.json(), null, 2);
    say(`${answer.status}, ${Math.round(performance.now() - began)} ms`, !answer.ok);
  } catch (error) {
    if (error.name !== 'AbortError') say(`Strata does not answer: ${error.message}`, true);
  } finally {
    $('stop').disabled = true;
  }
}

// Keeps the last two hundred messages, the newest first.
async function follow(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const shown = [];
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split('\n\n');
    text = parts.pop();
    for (const part of parts) {
      const data = part.split('\n').filter((l) => l.startsWith('data:')).map((l) => l.slice(5)).join('\n').trim();
      if (data) shown.unshift(JSON.stringify(JSON.parse(data), null, 2));
    }
    shown.length = Math.min(shown.length, 200);
    $('answer').textContent = shown.join('\n\n');
    say(`${shown.length} messages`);
  }
}

function stop() {
  running?.abort();
  running = null;
}

const INTROSPECTION = `{ __schema { types { name kind description
  fields { name description args { name type { ...T } } type { ...T } }
  inputFields { name description type { ...T } } enumValues { name description } } } }
fragment T on __Type { name kind ofType { name kind ofType { name kind ofType { name } } } }`;

function typeText(type) {
  if (type.kind === 'NON_NULL') return `${typeText(type.ofType)}!`;
  if (type.kind === 'LIST') return `[${typeText(type.ofType)}]`;
  return type.name;
}

async function schema() {
  const answer = await fetch('/graphql', {
    method: 'POST', headers: headers('application/json'), body: JSON.stringify({ query: INTROSPECTION }),
  });
  if (!answer.ok) return;
  const { data } = await answer.json();
  const order = ['Query', 'Mutation', 'Subscription'];
  const rank = (t) => (order.indexOf(t.name) + 4) % 4 || 4;
  const types = data.__schema.types.filter((t) => !t.name.startsWith('__') && t.kind !== 'SCALAR');
  types.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  $('schema').replaceChildren(...types.map(typeView));
}

function typeView(type) {
  const box = document.createElement('details');
  box.open = type.name === 'Query';
  const title = document.createElement('summary');
  title.textContent = type.name;
  const list = document.createElement('ul');
  for (const field of type.fields ?? type.inputFields ?? type.enumValues ?? []) {
    const item = document.createElement('li');
    const args = (field.args ?? []).map((a) => `${a.name}: ${typeText(a.type)}`).join(', ');
    const code = document.createElement('code');
    code.textContent = field.name + (args ? `(${args})` : '') + (field.type ? `: ${typeText(field.type)}` : '');
    item.append(code);
    if (field.description) {
      const note = document.createElement('small');
      note.textContent = ` ${field.description}`;
      item.append(note);
    }
    list.append(item);
  }
  box.append(title, list);
  return box;
}

$('run').addEventListener('click', run);
$('stop').addEventListener('click', stop);
$('key').addEventListener('change', () => schema().catch(() => {}));
document.addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
});
schema().catch(() => {});
