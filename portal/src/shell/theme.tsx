// Dark, light, or as the system has it.
import { useState } from 'react';
import { ThemeIcon } from './icons';

const NEXT = { auto: 'dark', dark: 'light', light: 'auto' } as const;
type Theme = keyof typeof NEXT;
const KEY = 'strata-theme';

function kept(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === 'dark' || theme === 'light' ? theme : 'auto';
}

export function ThemeButton() {
  const [theme, setTheme] = useState(kept);
  const change = () => {
    const next = NEXT[theme];
    if (next === 'auto') {
      localStorage.removeItem(KEY);
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem(KEY, next);
      document.documentElement.dataset.theme = next;
    }
    setTheme(next);
  };
  return (
    <button type="button" className="quiet copy theme" onClick={change} aria-label={`Colours: ${theme}. Change`} title={`Colours: ${theme}`}>
      <span style={{ width: '1.1rem', display: 'inline-flex' }}>
        <ThemeIcon />
      </span>
    </button>
  );
}
