// Webhooks out: addresses that are told of a project's runs, and what they were sent.

import { useState } from "react";
import { address, ask, send } from "../../api/http";
import { useForbidden } from "../../lib/me";
import { refuse, say } from "../../lib/messages";
import { usePlace } from "../../lib/place";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { State } from "../../parts/State";
import { settings } from "../../words/settings";
import { Deliveries } from "./Deliveries";
import { ListTab } from "./ListTab";
import { Secret, useChosenProject } from "./parts";
import type { Delivery, Webhook } from "./shapes";

const text = settings.webhooks;

export const ofWebhooks = (project: string, rest = ""): string =>
  `${address("/api/projects/{project}/webhooks", { project })}${rest}`;

export function Webhooks() {
  const [read, write] = usePlace();
  const { project, chooser } = useChosenProject();
  const forbidden = useForbidden(project, "admin");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const looked = useLooked(project && !forbidden ? `webhooks-${project}` : null, async (signal) => {
    const response = await ask(ofWebhooks(project ?? ""), { signal });
    return ((await response.json()) as { webhooks: Webhook[] }).webhooks;
  });
  const open = looked.value?.find((one) => one.id === read("webhook"));
  return (
    <ListTab
      title={settings.tabs.webhooks}
      chooser={chooser}
      help={text.help}
      add={text.add}
      canAdd={project !== null}
      adds={() => setAdding(true)}
      forbidden={forbidden}
      looked={looked}
      empty={<p className="empty dim">{text.empty}</p>}
      row={(webhook) => (
        <Row
          key={webhook.id}
          project={project ?? ""}
          webhook={webhook}
          chosen={webhook.id === open?.id}
          choose={() => write({ webhook: webhook.id === open?.id ? null : webhook.id })}
          again={looked.again}
          told={setMade}
        />
      )}
    >
      {project && open && <Deliveries key={open.id} project={project} webhook={open} />}
      {adding && project && (
        <AddWebhook
          project={project}
          close={() => setAdding(false)}
          made={(secret) => {
            setMade(secret);
            looked.again();
          }}
        />
      )}
      {made && <Secret title={text.made} secret={made} close={() => setMade(null)} />}
    </ListTab>
  );
}

interface RowProps {
  project: string;
  webhook: Webhook;
  chosen: boolean;
  choose: () => void;
  again: () => void;
  told: (secret: string) => void;
}

function Row({ project, webhook, chosen, choose, again, told }: RowProps) {
  const of = (what = "") => ofWebhooks(project, `/${encodeURIComponent(webhook.id)}${what}`);
  const ping = async () => {
    const delivery = await send<Delivery>("POST", of("/test"));
    if (delivery.state === "delivered") say(text.pinged(String(delivery.status_code)));
    else refuse(text.pingFailed(delivery.error ?? delivery.state));
    again();
  };
  const turn = async () => {
    await send("PATCH", of(), { enabled: !webhook.enabled });
    again();
  };
  const rotate = async () => {
    if (!(await confirmed(text.askRotate, text.rotateNow))) return;
    told((await send<{ secret: string }>("POST", of("/rotate"))).secret);
  };
  const remove = async () => {
    if (!(await confirmed(text.askRemove(webhook.url), text.removeNow))) return;
    await send("DELETE", of());
    again();
  };
  return (
    <tr>
      <td>
        <State
          state={webhook.enabled ? "completed" : "cancelled"}
          word={webhook.enabled ? text.enabled : text.disabled}
        />
      </td>
      <td>
        <span className="strong">{webhook.url}</span>{" "}
        <span className="small faint">
          {webhook.description} {webhook.events.join(", ")}
        </span>
      </td>
      <td>
        <span className="actions">
          <Button act={ping}>{text.test}</Button>
          <Button pressed={chosen} act={choose}>
            {text.deliveries}
          </Button>
          <Button act={turn}>{webhook.enabled ? text.turnOff : text.turnOn}</Button>
          <Button act={rotate}>{text.rotate}</Button>
          <Button kind="danger" act={remove}>
            {text.remove}
          </Button>
        </span>
      </td>
    </tr>
  );
}

function AddWebhook({ project, close, made }: { project: string; close: () => void; made: (secret: string) => void }) {
  const [url, setUrl] = useState("");
  const [events, setEvents] = useState("*");
  const [description, setDescription] = useState("");
  const submit = async () => {
    const names = events.split(/[,\s]+/).filter(Boolean);
    const answer = await send<{ secret: string }>("POST", ofWebhooks(project), {
      url: url.trim(),
      events: names,
      description: description.trim() || undefined,
    });
    made(answer.secret);
  };
  return (
    <FormDialog title={text.add} ok={text.add} submit={submit} close={close}>
      <TextField label={text.url} value={url} set={setUrl} help={text.urlHelp} required wide mono />
      <TextField label={text.events} value={events} set={setEvents} help={text.eventsHelp} wide mono />
      <TextField label={text.description} value={description} set={setDescription} wide />
    </FormDialog>
  );
}
