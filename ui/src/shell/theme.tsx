import { Moon, Sun } from 'lucide-react'
import { useEffect, useState, type ReactNode } from 'react'
import { IconButton } from '../parts/button.tsx'

type Theme = 'light' | 'dark'
const KEPT_AS = 'flotilla-theme'

/** Light or dark: what was chosen here, else what the system has. */
export function ThemeButton(): ReactNode {
  const [theme, setTheme] = useState<Theme>(firstTheme)
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme
  }, [theme])
  const other = theme === 'dark' ? 'light' : 'dark'
  const choose = (): void => {
    localStorage.setItem(KEPT_AS, other)
    setTheme(other)
  }
  return <IconButton icon={theme === 'dark' ? Sun : Moon} label={`Use the ${other} colours`} onClick={choose} />
}

/** Set before anything is drawn, so that nobody is dazzled. */
export function applyTheme(): void {
  document.documentElement.dataset['theme'] = firstTheme()
}

function firstTheme(): Theme {
  const kept = localStorage.getItem(KEPT_AS)
  if (kept === 'light' || kept === 'dark') return kept
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}
