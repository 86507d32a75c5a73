import { AppError } from '../../platform/errors.ts'

const EXPECTED = 'write postgres://user:password@host:port/database'

/** The `host:port` of a database URL, for messages: nothing of the user and the password. */
export function serverOf(url: string): string {
  const rest = /^postgres(?:ql)?:\/\/(.*)$/s.exec(url)?.[1]
  if (rest === undefined) throw new AppError('usage', `The database URL does not begin with postgres://: ${EXPECTED}.`)
  const authority = rest.split(/[/?#]/, 1)[0] ?? ''
  // Then what looks like the host is the beginning of a password.
  if (!authority.includes('@') && rest.includes('@')) {
    throw new AppError('usage', `The database URL is ambiguous: write / ? # and @ in the password as %2F %3F %23 %40.`)
  }
  const hosts = (authority.split('@').at(-1) ?? '').split(',')
  return hosts.map((host) => (/:\d+$/.test(host) ? host : `${host || 'localhost'}:5432`)).join(',')
}
