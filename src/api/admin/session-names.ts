/** The cookie of a session; and what every call with it must carry that could change something, which no other site's page can send. */
export const SESSION_COOKIE = 'flotilla_session'
export const DASHBOARD_HEADER = 'x-flotilla-dashboard'
