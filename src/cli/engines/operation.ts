import type { BackendView, NodeView } from '../../api/admin/schemas.ts'

export type OperationKind = 'install' | 'upgrade' | 'delete'

export interface Operation {
  kind: OperationKind
  engine: string
  begin: (node: NodeView) => Promise<BackendView>
}
