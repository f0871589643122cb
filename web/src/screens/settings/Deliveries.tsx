import { ask, send } from "../../api/http";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Refused } from "../../parts/Messages";
import { State } from "../../parts/State";
import { Ago, Until } from "../../parts/Time";
import type { StateName } from "../../words";
import { settings } from "../../words/settings";
import type { Delivery, Webhook } from "./shapes";
import { ofWebhooks } from "./Webhooks";

const text = settings.webhooks;

const STATES: Record<string, StateName> = { delivered: "completed", dead: "failed", pending: "waiting" };

/** What one webhook was sent, newest first. */
export function Deliveries({ project, webhook }: { project: string; webhook: Webhook }) {
  const of = (rest: string) => ofWebhooks(project, `/${encodeURIComponent(webhook.id)}/deliveries${rest}`);
  const looked = useLooked(
    `deliveries-${webhook.id}`,
    async (signal) =>
      ((await (await ask(of("?limit=50"), { signal })).json()) as { deliveries: Delivery[] }).deliveries,
    () => true,
    5000,
  );
  const retry = async (delivery: Delivery) => {
    await send("POST", of(`/${encodeURIComponent(delivery.id)}/retry`));
    looked.again();
  };
  return (
    <section className="card" aria-label={text.deliveries}>
      <header>
        <h2>{text.deliveries}</h2>
        <span className="small faint cut">{webhook.url}</span>
      </header>
      <Refused error={looked.refusal} />
      {looked.value?.length === 0 && <p className="body small dim">{text.noDeliveries}</p>}
      <table className="lines">
        <tbody>
          {looked.value?.map((delivery) => (
            <tr key={delivery.id}>
              <td>
                <State state={STATES[delivery.state] ?? "waiting"} word={delivery.state} />
              </td>
              <td>
                <span className="strong">{delivery.event}</span>{" "}
                <span className="small faint">
                  {delivery.run} {delivery.error ?? delivery.status_code}
                </span>
              </td>
              <td className="faint">
                <Ago time={delivery.created_at} />, {text.attempts(delivery.attempts)}
                {delivery.next_attempt_at && (
                  <>
                    , {text.next} <Until time={delivery.next_attempt_at} />
                  </>
                )}
              </td>
              <td>{delivery.state === "dead" && <Button act={() => retry(delivery)}>{text.retry}</Button>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
