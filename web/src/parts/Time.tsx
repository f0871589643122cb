import { useNow } from "../lib/clock";
import { ago, exactly, until } from "../lib/format";

/** Relative, with the exact time on hover. */
export function Ago({ time }: { time: string | null | undefined }) {
  const now = useNow();
  return time ? (
    <time dateTime={time} title={exactly(time)}>
      {ago(time, now)}
    </time>
  ) : null;
}

export function Until({ time }: { time: string }) {
  const now = useNow();
  return (
    <time dateTime={time} title={exactly(time)}>
      {until(time, now)}
    </time>
  );
}
