import type { HttpRequest } from '../exchange.ts'

/** The path and protocol of the upgrade to a mux. A server that knows neither answers with an error, and no mux is used. */
const CABLE_PATH = '/cable'
const PROTOCOL = 'flotilla-cable-1'

/** `lines` are header lines that identify the client. */
export function cableRequest(lines: string): string {
  return `GET ${CABLE_PATH} HTTP/1.1\r\n${lines}connection: Upgrade\r\nupgrade: ${PROTOCOL}\r\n\r\n`
}

export function asksForCable({ method, url, headers }: HttpRequest): boolean {
  return method === 'GET' && url === CABLE_PATH && headers['upgrade'] === PROTOCOL
}

export const AGREED = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${PROTOCOL}\r\n\r\n`
