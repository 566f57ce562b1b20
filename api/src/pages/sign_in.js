// The token is behind the #, so that no server and no log on the way has seen it.
const state = document.getElementById('state');
const token = location.hash.slice(1);
history.replaceState(null, '', location.pathname);

async function signIn() {
  if (!token) {
    state.textContent = 'This link has no token. Ask for a new one: strata key sign-in';
    return;
  }
  const answer = await fetch('/auth/sign-in', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  });
  if (answer.ok) {
    location.replace('/');
    return;
  }
  const { error } = await answer.json();
  state.textContent = `${error.message}. ${error.remediation}`;
}

signIn().catch(() => { state.textContent = 'Strata does not answer. Try again.'; });
