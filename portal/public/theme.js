// Before the first paint, so that no page flashes in the wrong colours.
const kept = localStorage.getItem('strata-theme');
if (kept === 'dark' || kept === 'light') document.documentElement.dataset.theme = kept;
