// Events by the names they have in the log. What a record also means to clients of the WebSocket is told a second time by the
// server, without such a name, and is not an event of its own.

export function ofTheLog<T>(events: Record<string, unknown>[]): T[] {
  return events
    .filter((event) => typeof event.event === "string")
    .map((event) => ({ ...event, type: event.event }) as T);
}
