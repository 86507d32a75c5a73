import { useLocation } from 'wouter'
import type { LiveModel } from '../../../../src/api/admin/live-schemas.ts'
import { useChange } from '../../api/use-change.ts'
import { countText } from '../../format/figures.ts'
import { useConfirm } from '../../parts/confirm.tsx'

export interface ModelActions {
  load: () => void
  unload: () => Promise<void>
  remove: () => Promise<void>
  isBusy: boolean
}

/** What can be done to a model, with what has to be asked before. */
export function useModelActions(model: LiveModel): ModelActions {
  const { name, replicas, in_flight: inFlight, wanted } = model
  const confirm = useConfirm()
  const [path, navigate] = useLocation()
  const load = useChange('loadModel', {
    done: ({ state, reason }) =>
      state === 'ready'
        ? `${name} is loaded already.`
        : `${name} is being loaded.${reason === null ? '' : ` ${reason}`}`,
  })
  const unload = useChange('unloadModelEverywhere', {
    done: ({ replicas: stopped, kept_by_rule: isKept }) =>
      `${countText(stopped.length, 'replica')} of ${name} ${stopped.length === 1 ? 'is' : 'are'} being stopped.` +
      (isKept ? ' Its rule starts it again.' : ''),
  })
  const remove = useChange('deleteModel', {
    done: ({ rule }) =>
      `${name} was removed${rule === 'removed' ? ' with its rule' : ''}.` +
      (rule === 'kept' ? ' Its rule stays, and waits for a model of that name.' : ''),
    onDone: () => {
      // Its own page has nothing left to show.
      if (path !== '/models') navigate('/models')
    },
  })
  return {
    isBusy: load.isPending || unload.isPending || remove.isPending,
    load: () => load.mutate({ params: { name } }),
    unload: async () => {
      const isSure = await confirm({
        title: `Unload ${name} everywhere?`,
        text: (
          <>
            <p>
              {countText(replicas, 'replica')} {replicas === 1 ? 'is' : 'are'} stopped.{' '}
              {inFlight > 0 &&
                `${countText(inFlight, 'request')} ${inFlight === 1 ? 'runs' : 'run'} on it now: what does not end in time is interrupted.`}
            </p>
            {(wanted ?? 0) > 0 && <p>Its rule asks for {countText(wanted!, 'replica')} and starts them again.</p>}
          </>
        ),
        confirm: 'Unload everywhere',
        isDanger: inFlight > 0,
      })
      if (isSure) unload.mutate({ params: { name }, body: {} })
    },
    remove: async () => {
      const isSure = await confirm({
        title: `Remove ${name}?`,
        text: (
          <p>
            Nobody can ask for it any more{replicas > 0 && `, and ${countText(replicas, 'replica')} stop`}. Its files
            stay on the nodes. The rule that was made together with it goes; one that was written by itself stays.
          </p>
        ),
        confirm: 'Remove the model',
        isDanger: true,
      })
      if (isSure) remove.mutate({ params: { name } })
    },
  }
}
