import type { HttpRequest } from '../exchange.ts'

/** Where a cable is asked for, and as what. Whoever knows none of it answers with an error, and there is none. */
const CABLE_PATH = '/cable'
const PROTOCOL = 'flotilla-cable-1'

/** `lines` say who asks. */
export function cableRequest(lines: string): string {
  return `GET ${CABLE_PATH} HTTP/1.1\r\n${lines}connection: Upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`
}

export function asksForCable({ method, url, headers }: HttpRequest): boolean {
  return method === 'GET' && url === CABLE_PATH && headers['upgrade'] === PROTOCOL
}

export const AGREED = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOL}\r\n\r\n`
