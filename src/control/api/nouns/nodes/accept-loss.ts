import { massLoss } from '../../../../core/nodes/mass-loss.ts'
import { acceptLoss, lossAcceptedMs } from '../../../../store/nouns/cluster-facts.ts'
import { listDecisiveNodes } from '../../../../store/nouns/nodes.ts'
import { change } from '../../../changes/change.ts'
import type { Answers } from '../../answers.ts'
import type { AdminDeps } from '../../deps.ts'

export function lossAnswers(deps: AdminDeps): Answers<'acceptLoss'> {
  return {
    acceptLoss: () =>
      change(deps, async (tx, tell) => {
        const lost = massLoss(await listDecisiveNodes(tx), await lossAcceptedMs(tx)).map(({ name }) => name)
        if (lost.length === 0) return { nodes: lost }
        await acceptLoss(tx)
        await tell({
          action: 'cluster.loss_accepted',
          reason: `${lost.join(', ')} will not come back: their replicas are given up and replaced`,
          data: { nodes: lost },
        })
        return { nodes: lost }
      }),
  }
}
