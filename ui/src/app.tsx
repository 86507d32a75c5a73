import { CSPProvider } from '@base-ui/react/csp-provider'
import { Tooltip } from '@base-ui/react/tooltip'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Router } from 'wouter'
import { ApiError } from './api/call.ts'
import { ConfirmProvider } from './parts/confirm.tsx'
import { Toasts } from './parts/toasts.tsx'
import { Routes } from './routes.tsx'
import { useRawLocation } from './shell/raw-location.ts'
import { SessionProvider } from './shell/session.tsx'

const MOST_TRIES = 2

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The live stream says when something is different; asking again because a window got the focus would be polling.
      refetchOnWindowFocus: false,
      staleTime: Infinity,
      // A refusal stays one; only nobody there may change by itself.
      retry: (failures, error) => error instanceof ApiError && error.status === 0 && failures < MOST_TRIES,
    },
  },
})

export function App(): ReactNode {
  return (
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <Tooltip.Provider delay={400}>
          <ConfirmProvider>
            <Router hook={useRawLocation}>
              <SessionProvider>
                <Routes />
              </SessionProvider>
            </Router>
          </ConfirmProvider>
          <Toasts />
        </Tooltip.Provider>
      </QueryClientProvider>
    </CSPProvider>
  )
}
