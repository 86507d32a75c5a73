import {
  Anchor,
  Boxes,
  KeyRound,
  LogIn,
  LogOut,
  MessageSquare,
  ScrollText,
  Server,
  ShipWheel,
  Waypoints,
} from 'lucide-react'
import { useEffect, useRef, type ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useConnectionState, useNodes, useProblems } from '../live/use-live.ts'
import { IconButton } from '../parts/button.tsx'
import { Spinner } from '../parts/spinner.tsx'
import { ConnectionNotice } from './connection-notice.tsx'
import { useSession } from './session.tsx'
import style from './shell.module.css'
import { ThemeButton } from './theme.tsx'

const PLACES = [
  { to: '/', label: 'Fleet', icon: ShipWheel },
  { to: '/nodes', label: 'Nodes', icon: Server },
  { to: '/models', label: 'Models', icon: Boxes },
  { to: '/rules', label: 'Rules', icon: Waypoints },
  { to: '/playground', label: 'Playground', icon: MessageSquare },
  { to: '/why', label: 'Why', icon: ScrollText },
  { to: '/access', label: 'Access', icon: KeyRound },
] as const

/** What stands around every page: where one is, where one can go, and how the cluster is. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  const { isSignedIn, signOut, actor, mayChange, version } = useSession()
  const who = `${actor ?? ''}${mayChange ? '' : ', may only look'}`
  const [path, navigate] = useLocation()
  const connection = useConnectionState()
  const nav = useRef<HTMLElement>(null)
  // On a phone the places are a line that scrolls.
  useEffect(() => {
    nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' })
  }, [path])
  // The playground stands by itself; everything else shows what the live stream brings.
  const isWaiting = isSignedIn && connection === 'connecting' && path !== '/playground'
  return (
    <div className={style['shell']}>
      <a href="#content" className={style['skip']}>
        Skip to the content
      </a>
      <header className={style['side']}>
        <Link href="/" className={style['brand']}>
          <Anchor size={20} aria-hidden /> Flotilla
        </Link>
        <nav ref={nav} aria-label="Pages" className={style['nav']}>
          {PLACES.map(({ to, label, icon: Icon }) => (
            <Link key={to} href={to} className={style['place']} aria-current={isAt(path, to) ? 'page' : undefined}>
              <Icon size={17} aria-hidden />
              <span>{label}</span>
              {to === '/' && isSignedIn && <ProblemCount />}
            </Link>
          ))}
        </nav>
        <div className={style['foot']}>
          {isSignedIn && <NodeCount />}
          <div className={style['tools']}>
            <ThemeButton />
            {isSignedIn ? (
              <IconButton icon={LogOut} label={`Sign out (${who})`} onClick={() => void signOut()} />
            ) : (
              <IconButton icon={LogIn} label="Sign in" onClick={() => navigate('/sign-in')} />
            )}
            <span className={style['version']}>{version}</span>
          </div>
        </div>
      </header>
      <main id="content" tabIndex={-1} className={style['main']}>
        <ConnectionNotice />
        {isWaiting ? <Spinner label="Looking at the fleet…" /> : children}
      </main>
    </div>
  )
}

function isAt(path: string, to: string): boolean {
  if (to === '/why' && path.startsWith('/logs')) return true
  return to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)
}

function ProblemCount(): ReactNode {
  const count = useProblems().length
  if (count === 0) return null
  return (
    <span className={style['count']}>
      {count}
      <span className="visually-hidden"> {count === 1 ? 'thing needs' : 'things need'} attention</span>
    </span>
  )
}

function NodeCount(): ReactNode {
  const nodes = useNodes()
  const healthy = nodes.filter(({ status }) => status === 'healthy').length
  return (
    <p className={style['nodes']}>
      {healthy} of {nodes.length} {nodes.length === 1 ? 'node' : 'nodes'} healthy
    </p>
  )
}
