import { address, send } from "../../api/http";
import type { StatusAnswer } from "../../api/types";
import { dollars } from "../../lib/format";
import { useKeys } from "../../lib/keys";
import { refuse, say } from "../../lib/messages";
import { askUser } from "../../parts/Dialog";
import { runWords } from "../../words/run";

const text = runWords.cap;

/** Whether the run is not over: its cap can be changed while it goes on, and after it was left. */
const isOpen = (status: StatusAnswer): boolean => status.live || status.can_be_resumed;

async function changeCap(status: StatusAnswer): Promise<void> {
  const before = status.max_cost_usd;
  const said = await askUser({
    title: text.title,
    detail: text.detail(dollars(status.known_cost_usd), before == null ? null : dollars(before)),
    input: { kind: "amount", value: before == null ? "" : String(before), placeholder: "10" },
    ok: text.ok,
  });
  if (said === null) return;
  const amount = Number(said.trim().replace(/^\$/, "").replace(",", "."));
  if (!Number.isFinite(amount) || amount <= 0) return refuse(text.wrong);
  await send("POST", address("/api/runs/{run}/caps", { run: status.run }), { max_cost: amount });
  say(status.live ? text.changed(dollars(amount)) : text.changedLeft(dollars(amount)));
}

/** How much the run may cost, changed while it runs. */
export function CapButton({ status, forbidden }: { status: StatusAnswer; forbidden: string | null }) {
  const why = forbidden ?? (isOpen(status) ? null : runWords.steer.isOver);
  const change = () => (why ? refuse(why) : changeCap(status).catch(refuse));
  useKeys([{ keys: "m", label: text.key, act: change }]);
  if (!isOpen(status)) return null;
  return (
    <button
      type="button"
      className="link small"
      style={{ minHeight: 24 }}
      title={why ?? `${text.key} (m)`}
      aria-disabled={why ? true : undefined}
      onClick={change}
    >
      {status.max_cost_usd == null ? text.set : text.change}
    </button>
  );
}
