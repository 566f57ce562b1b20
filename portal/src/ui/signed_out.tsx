// What a stranger sees: the way in.
export function SignedOut() {
  return (
    <main className="stranger" id="main">
      <div className="card padded stack">
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>Sign in to Strata</h1>
        <p className="soft">
          This browser has no session. <code>strata up</code> prints a link that signs in once; ask for another one on the machine that has a key:
        </p>
        <pre className="code">strata key sign-in</pre>
        <p className="soft small">A link works once, within a quarter of an hour. A session lasts twelve hours.</p>
      </div>
    </main>
  );
}
