/** What a command tells at its start and goes on in spite of. */
export interface Warning {
  /** Stable, for programs. */
  readonly code: 'unknown_variable' | 'service_link'
  readonly message: string
  /** The variable of the environment that it is about. */
  readonly variable: string
  /** The variable that was probably meant. */
  readonly nearest?: string
}

/** The warning as a line for a person, or as one JSON line for a program, as errors are told. */
export function renderWarning({ code, message, variable, nearest }: Warning, asJson: boolean): string {
  if (asJson) return `${JSON.stringify({ warning: { code, message, variable, nearest } })}\n`
  return `duly: warning: ${message}\n`
}
