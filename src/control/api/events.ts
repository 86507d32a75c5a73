import { eventsQuery } from '../../api/admin/schemas.ts'
import type { Streams } from './answers.ts'
import type { AdminDeps } from './deps.ts'
import { readQuery } from './query.ts'

export function eventStreams({ events }: AdminDeps): Streams<'streamEvents'> {
  return {
    streamEvents: async (request, response) => events.stream(response, readQuery(request, eventsQuery).after),
  }
}
