import type { ReactNode } from 'react'
import type { NodeView } from '../../../../src/api/admin/schemas.ts'
import { bytesText } from '../../format/bytes.ts'
import { countText } from '../../format/figures.ts'
import { MemoryBar } from '../../parts/memory-bar.tsx'
import { Panel } from '../../parts/page.tsx'
import style from './node-resources.module.css'

/** Memory of each device and of the machine, and the disk that models lie on. */
export function NodeResources({ node }: { node: NodeView }): ReactNode {
  const { devices, total_ram: ram, total_disk: disk, above_cap: aboveCap } = node
  const { vram_budget_bytes: budget, vram_budget_left: left } = node
  if (devices.length === 0 && ram === null && disk === null) return null
  return (
    <Panel title={node.liveness === 'online' ? 'Memory and disk' : 'Memory and disk, as last heard'}>
      <div className={style['bars']}>
        {devices.map((device, i) => (
          <MemoryBar
            key={device.index}
            label={`GPU ${device.index}: ${device.name || 'unnamed'}${device.unified ? ' (shares RAM)' : ''}`}
            total={device.total_vram}
            available={device.available_vram}
            claimed={node.reserved_vram_by_device[i] ?? 0}
          />
        ))}
        {ram !== null && (
          <MemoryBar label="RAM" total={ram} available={node.available_ram} claimed={node.reserved_ram} />
        )}
        {disk !== null && <MemoryBar label="Disk" total={disk} available={node.available_disk} claimed={0} />}
      </div>
      {budget !== null && left !== null && (
        <p className={style['note']}>
          The VRAM budget of {bytesText(budget)} leaves {bytesText(left)} for replicas.
        </p>
      )}
      {aboveCap > 0 && (
        <p className={style['note']}>
          {countText(aboveCap, 'replica')} above the slots of this node; nothing is evicted for that.
        </p>
      )}
    </Panel>
  )
}
