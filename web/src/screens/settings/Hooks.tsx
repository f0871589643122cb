// Hooks in: secret addresses that start a run of a project.

import { useState } from "react";
import { address, get, send } from "../../api/http";
import type { HookAnswer } from "../../api/types";
import { dollars } from "../../lib/format";
import { useForbidden } from "../../lib/me";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { settings } from "../../words/settings";
import { asAmount } from "../board/form";
import { ListTab } from "./ListTab";
import { Secret, useChosenProject } from "./parts";
import type { Hook } from "./shapes";

const text = settings.hooks;

export function Hooks() {
  const { project, chooser } = useChosenProject();
  const forbidden = useForbidden(project, "admin");
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const looked = useLooked(
    project && !forbidden ? `hooks-${project}` : null,
    async (signal) =>
      (
        await get<"GET /api/projects/{project}/hooks">(
          "/api/projects/{project}/hooks",
          { project: project ?? "" },
          signal,
        )
      ).hooks as unknown as Hook[],
  );
  const revoke = async (hook: Hook) => {
    if (!(await confirmed(text.askRevoke(hook.name), text.revokeNow))) return;
    await send("DELETE", address("/api/projects/{project}/hooks/{hook}", { project: project ?? "", hook: hook.id }));
    looked.again();
  };
  return (
    <ListTab
      title={settings.tabs.hooks}
      chooser={chooser}
      help={text.help}
      add={text.add}
      canAdd={project !== null}
      adds={() => setAdding(true)}
      forbidden={forbidden}
      looked={looked}
      empty={<p className="empty dim">{text.empty}</p>}
      head={[text.used, text.name, text.settings]}
      row={(hook) => (
        <tr key={hook.id}>
          <td>
            {hook.revoked ? (
              <State state="cancelled" word={settings.revoked} />
            ) : (
              <State state="completed" word={hook.used_at ? <Ago time={hook.used_at} /> : settings.never} />
            )}
          </td>
          <td className="strong">{hook.name}</td>
          <td className="dim">
            {String(hook.settings.only ?? text.all)}, {text.atMost(dollars(hook.settings.max_cost as number))}
          </td>
          <td>
            {!hook.revoked && (
              <Button kind="danger" act={() => revoke(hook)}>
                {text.revoke}
              </Button>
            )}
          </td>
        </tr>
      )}
    >
      {adding && project && (
        <AddHook
          project={project}
          close={() => setAdding(false)}
          made={(url) => {
            setMade(url);
            looked.again();
          }}
        />
      )}
      {made && <Secret title={text.made} secret={made} detail={`curl -X POST ${made}`} close={() => setMade(null)} />}
    </ListTab>
  );
}

function AddHook({ project, close, made }: { project: string; close: () => void; made: (url: string) => void }) {
  const [name, setName] = useState("");
  const [cap, setCap] = useState("");
  const [slots, setSlots] = useState("3");
  const [only, setOnly] = useState("");
  const submit = async () => {
    const answer = await send<HookAnswer>("POST", address("/api/projects/{project}/hooks", { project }), {
      name: name.trim(),
      max_cost: asAmount(cap),
      max_concurrency: asAmount(slots),
      only: only.trim() || undefined,
    });
    made(answer.url);
  };
  return (
    <FormDialog title={text.add} ok={text.add} submit={submit} close={close}>
      <TextField label={text.name} value={name} set={setName} required wide />
      <TextField label={text.cap} kind="decimal" value={cap} set={setCap} help={text.capHelp} required />
      <TextField label={text.slots} kind="numeric" value={slots} set={setSlots} />
      <TextField label={text.only} value={only} set={setOnly} help={text.onlyHelp} wide mono />
    </FormDialog>
  );
}
