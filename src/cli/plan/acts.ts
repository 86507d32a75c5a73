import type { AdminBody } from '../../api/admin/routes.ts'
import type { PlanView } from '../../api/admin/plan-schemas.ts'
import { AppError } from '../../platform/errors.ts'
import { show, viewOf, type Act, type Client, type Given } from '../client.ts'
import { confirm } from '../terminal/confirm.ts'
import { counted, shellWord } from '../terminal/format.ts'
import { plain } from '../terminal/text-width.ts'
import { readDocument } from './read-document.ts'
import { renderPlan } from './render-plan.ts'

/** As in other tools: there are changes, which is not a failure. */
const CHANGES = 2
/** Nothing was applied, because the plan is out of date. */
const OUTDATED = 3

export const plan: Act = async (client, given) => {
  const asked = await readAsked(client, given)
  const made = await client.api.call('plan', {}, asked)
  show(client, made, () => [...renderPlan(made, viewOf(client)), ...howToApply(client, given, made)])
  return given.own.has('detailed-exitcode') && made.changes.length > 0 ? CHANGES : 0
}

export const apply: Act = async (client, given) => {
  const asked = await readAsked(client, given)
  return applyDocument(client, given.own, asked, 'apply', (made) => howToApply(client, given, made))
}

/** Shows the changes, asks, and applies all or none. */
export async function applyDocument(
  client: Client,
  own: Given['own'],
  asked: AdminBody<'plan'>,
  command: string,
  howAgain: (made: PlanView) => string[] = () => [],
): Promise<number> {
  const made = await client.api.call('plan', {}, asked)
  if (made.changes.length === 0) return show(client, made, () => renderPlan(made, viewOf(client)))
  if (!client.json) client.terminal.print(renderPlan(made, viewOf(client)).join('\n'))
  const isMeant = await confirm(client, own, {
    command,
    deed: 'apply the plan',
    about: '',
    question: `Apply ${counted(made.changes.length, 'change')}?`,
    otherwise: 'Nothing was applied.',
  })
  if (!isMeant) return 1
  try {
    const done = await client.api.call('apply', {}, { ...asked, revision: made.revision })
    return show(client, done, () => [`Applied ${counted(done.changes.length, 'change')}.`, ...howToFollow(client)])
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'conflict') throw error
    return showOutdated(client, asked, howAgain)
  }
}

export const exportDocument: Act = async (client) => {
  const document = await client.api.call('exportDocument')
  const { stringify } = await import('yaml')
  if (client.json) return show(client, document, () => [])
  // Written without adapting it to the terminal: it may be read by a program.
  client.terminal.write(stringify(document, { lineWidth: 100 }))
  return 0
}

export const whatIf: Act = async (client, given) => {
  const made = await client.api.call('whatIf', {}, readIdeas(given))
  return show(client, made, () => renderPlan(made, viewOf(client)))
}

async function readAsked({ terminal }: Client, { own }: Given): Promise<AdminBody<'plan'>> {
  const note = (text: string): void => terminal.note(text)
  return { document: await readDocument(own.get('file')!, note), prune: own.has('prune') }
}

function howToApply({ sameCluster }: Client, { own }: Given, { changes }: PlanView): string[] {
  if (changes.length === 0) return []
  const prune = own.has('prune') ? ' --prune' : ''
  return ['', 'To apply it:', `  flotilla apply -f ${shellWord(own.get('file')!)}${prune}${sameCluster}`]
}

function howToFollow({ sameCluster }: Client): string[] {
  return [`flotilla status${sameCluster} shows what becomes of it.`]
}

async function showOutdated(
  client: Client,
  asked: AdminBody<'plan'>,
  howAgain: (made: PlanView) => string[],
): Promise<number> {
  client.terminal.note(
    'Something has changed since this was planned, so nothing was applied. This is the plan as of now:\n',
  )
  const made = await client.api.call('plan', {}, asked)
  show(client, made, () => [...renderPlan(made, viewOf(client)), ...howAgain(made)])
  return OUTDATED
}

function readIdeas({ lists }: Given): AdminBody<'whatIf'> {
  const [lost, added, least] = [lists.get('node-lost') ?? [], lists.get('add-node') ?? [], lists.get('min') ?? []]
  const drain = lists.get('drain') ?? []
  if (lost.length + added.length + least.length + drain.length === 0) {
    throw new AppError(
      'usage',
      'flotilla whatif: if what? Name --node-lost, --drain, --add-node or --min. See flotilla whatif --help.',
    )
  }
  return {
    node_lost: lost,
    drain,
    add_nodes: added.map((spec) => ({ spec, labels: {} })),
    rules: least.map((text) => {
      // A name may hold "=" as well.
      const match = /^(.+)=(\d{1,5})$/s.exec(text)
      if (match) return { model_name: match[1]!, min_replicas: Number(match[2]) }
      throw new AppError('usage', `flotilla whatif: --min: expected model=number, got "${plain(text)}".`)
    }),
  }
}
