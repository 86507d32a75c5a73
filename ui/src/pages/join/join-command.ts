/** The lines that make a machine a node of this cluster. */
export interface JoinCommands {
  /** The token is in the environment: others on that machine cannot see it, as they could in the arguments. */
  direct: string
  /** For a machine that is to come back after a restart: the token lies in a file that only its owner may read. */
  withFile: string
}

/** `fingerprint` is that of a certificate that nobody else vouches for. */
export function joinCommands(address: string, token: string, fingerprint?: string | null): JoinCommands {
  const known = fingerprint && address.startsWith('https:') ? ` --fingerprint ${fingerprint}` : ''
  const at = `${address.replace(/\/+$/, '')}${known}`
  return {
    direct: `FLOTILLA_TOKEN=${token} flotilla worker --join ${at}`,
    // `printf` is part of the shell, so that the token is in no process's arguments.
    withFile: `(umask 077; printf '%s\\n' ${token} > join.token)\nflotilla worker --join ${at} --token-file join.token`,
  }
}

/** What is wrong with the address of a frontend as somebody typed it; undefined when nothing is. */
export function addressProblem(address: string): string | undefined {
  const url = URL.parse(address)
  const isPlain = url && /^https?:$/.test(url.protocol) && url.host !== '' && url.search === '' && url.hash === ''
  // It is pasted into a shell: nothing but a bare address may be in it.
  if (!isPlain || url.username !== '' || !/^[\w.:/[\]%-]+$/.test(address)) {
    return 'Expected an address such as http://first:8080'
  }
  return url.pathname === '/' ? undefined : 'The frontend is at the root of its address: nothing may follow the port.'
}

/** True for an address that leads every machine to itself. */
export function isLoopbackAddress(address: string): boolean {
  const host = URL.parse(address)?.hostname.replace(/^\[|\]$/g, '') ?? ''
  return host === 'localhost' || host.endsWith('.localhost') || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}
