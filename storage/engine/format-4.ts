/**
 * Format 4: a commit log stands before each file, and what was committed last may be in it alone. The files stay as they
 * are: whoever opens one to write begins its log. The number is what keeps a server from them that knows no logs.
 */
export async function beginLogs(): Promise<void> {}
