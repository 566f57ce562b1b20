// Follows all events with the client graphql-ws, loses its connection again and again, and comes back by cursor.
// Prints the position of every event that it gets, one per line. Usage: follow.mjs URL KEY CURSOR
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

const [url, key, cursor] = process.argv.slice(2);
const QUERY = `subscription($after: String) {
  events(after: $after) { cursor event { position type data } } }`;
const EVENTS_PER_CONNECTION = 150;

let after = cursor;
let connections = 0;
for (let done = false; !done;) {
  const client = createClient({
    url, webSocketImpl: WebSocket, retryAttempts: 0, connectionParams: { Authorization: `Bearer ${key}` },
  });
  connections += 1;
  let seen = 0;
  try {
    for await (const { data, errors } of client.iterate({ query: QUERY, variables: { after } })) {
      if (errors) throw new Error(JSON.stringify(errors));
      const { cursor: here, event } = data.events;
      console.log(event.position);
      after = here;
      seen += 1;
      if (event.type === 'request_submitted' && event.data.workflow_id === 'nothing') { done = true; break; }
      // Cut in the middle of whatever is on its way.
      if (seen === EVENTS_PER_CONNECTION) { client.terminate(); break; }
    }
  } catch (error) {
    if (error instanceof Error) { console.error(error.message); process.exit(1); }
  }
  client.terminate();
}
console.error(`${connections} connections`);
process.exit(0);
