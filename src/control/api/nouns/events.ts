import { eventsQuery, historyQuery } from '../../../api/admin/schemas.ts'
import { listPastEvents } from '../../../store/nouns/events.ts'
import type { Answers, Streams } from '../answers.ts'
import type { AdminDeps } from '../deps.ts'
import { readQuery } from '../query.ts'

export function eventStreams({ events }: AdminDeps): Streams<'streamEvents'> {
  return {
    streamEvents: async (request, response) => events.stream(response, readQuery(request, eventsQuery).after),
  }
}

export function eventAnswers({ db }: AdminDeps): Answers<'listEvents'> {
  return {
    async listEvents(_body, _params, { request }) {
      const { node_id: nodeId, model_name: modelName, before: beforeId, limit } = readQuery(request, historyQuery)
      return listPastEvents(db, { nodeId, modelName, beforeId, most: limit })
    },
  }
}
