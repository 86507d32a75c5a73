import { call, type BodyOf } from '../../api/call.ts'
import type { useConfirm } from '../../parts/confirm.tsx'

type Rule = BodyOf<'saveRule'>

/** A selector may take away all that serves, and have nothing to put in its place: then a person is asked. */
export async function isMeant(rule: Rule, confirm: ReturnType<typeof useConfirm>): Promise<boolean> {
  const { model_name, min_replicas, max_replicas, spread_all = false, node_selector = {} } = rule
  if (Object.keys(node_selector).length === 0) return true
  const counts = spread_all ? {} : { min_replicas, max_replicas }
  const idea = { model_name, spread_all, node_selector, ...counts }
  // Saving does not fail for want of an answer to this: what it does is told afterwards as well.
  const plan = await call('whatIf', { body: { rules: [idea] } }).catch(() => undefined)
  const isLeft = plan?.left_without?.some((one) => one.model_name === model_name && !one.is_replaced)
  if (!isLeft) return true
  return confirm({
    title: `Leave ${model_name} without a replica?`,
    text: plan!.warnings?.join(' '),
    confirm: 'Save the rule',
    isDanger: true,
  })
}
