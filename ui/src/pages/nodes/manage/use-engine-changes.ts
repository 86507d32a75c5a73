import type { BackendView, NodeView } from '../../../../../src/api/admin/schemas.ts'
import { useChange } from '../../../api/use-change.ts'
import { countText } from '../../../format/figures.ts'
import { useModels, useReplicasOn } from '../../../live/use-live.ts'
import { useConfirm, type Question } from '../../../parts/confirm.tsx'
import { inFlightOf } from '../replica-facts.ts'
import { replicasBy } from './engine-facts.ts'

interface EngineChanges {
  install: () => void
  /** Asks first when replicas run by it. */
  upgrade: () => void
  /** Asks first. */
  remove: () => void
  isSending: boolean
}

/** What a node can be asked to do with an engine. It only accepts: how far it is shows in the list. */
export function useEngineChanges(node: NodeView, engine: string, onDone: (engine: BackendView) => void): EngineChanges {
  const confirm = useConfirm()
  const users = replicasBy(engine, useReplicasOn(node.id), useModels())
  const sent = (verb: string): string =>
    `${verb} of ${engine} on ${node.name} was dispatched. The list shows how far it is.`
  const install = useChange('installBackend', { done: sent('Install'), onDone })
  const upgrade = useChange('upgradeBackend', { done: sent('Upgrade'), onDone })
  const remove = useChange('deleteBackend', { done: sent('Deletion'), onDone })
  const given = { params: { id: node.id }, body: { engine } }

  const stops = users.length === 0 ? '' : `${countText(users.length, 'replica')} that run by it are stopped first.`
  const running = inFlightOf(users)
  const warning = running === 0 ? '' : `${countText(running, 'request')} may be interrupted.`
  const ask = async (question: Question, go: () => void): Promise<void> => {
    if (await confirm(question)) go()
  }
  return {
    install: () => install.mutate(given),
    upgrade: () => {
      if (users.length === 0) return upgrade.mutate(given)
      const title = `Upgrade ${engine} on ${node.name}?`
      const text = `${stops} ${warning}`
      void ask({ title, text, confirm: 'Upgrade', isDanger: running > 0 }, () => upgrade.mutate(given))
    },
    remove: () => {
      const title = `Delete ${engine} from ${node.name}?`
      const text = `What Flotilla installed is deleted from this node. ${stops} ${warning}`
      void ask({ title, text, confirm: `Delete ${engine}`, isDanger: true }, () => remove.mutate(given))
    },
    isSending: install.isPending || upgrade.isPending || remove.isPending,
  }
}
