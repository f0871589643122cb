import { useState } from "react";
import { address, get, send } from "../../api/http";
import type { TokenAnswer } from "../../api/types";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { Choice, TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { State } from "../../parts/State";
import { Ago, Until } from "../../parts/Time";
import { settings } from "../../words/settings";
import { ListTab } from "./ListTab";
import { ROLE_OPTIONS, Secret, useProjects } from "./parts";
import type { Token } from "./shapes";

const text = settings.tokens;

export function Tokens() {
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const looked = useLooked(
    "tokens",
    async (signal) => (await get<"GET /api/tokens">("/api/tokens", {}, signal)).tokens as unknown as Token[],
  );
  const revoke = async (token: Token) => {
    if (!(await confirmed(text.askRevoke(token.name), text.revokeNow))) return;
    await send("DELETE", address("/api/tokens/{token}", { token: token.id }));
    looked.again();
  };
  return (
    <ListTab
      title={settings.tabs.tokens}
      help={text.help}
      add={text.add}
      adds={() => setAdding(true)}
      looked={looked}
      empty={
        <section className="empty">
          <p className="dim">{text.empty}</p>
          <pre className="code">{text.command}</pre>
        </section>
      }
      head={[text.expires, text.name, text.role, text.used]}
      row={(token) => (
        <tr key={token.id}>
          <td>
            <Good token={token} />
          </td>
          <td className="strong">{token.name}</td>
          <td className="dim">
            {token.role} ({token.project ?? settings.everywhere})
          </td>
          <td className="faint">{token.used_at ? <Ago time={token.used_at} /> : settings.never}</td>
          <td>
            {!token.revoked && (
              <Button kind="danger" act={() => revoke(token)}>
                {text.revoke}
              </Button>
            )}
          </td>
        </tr>
      )}
    >
      {adding && (
        <AddToken
          close={() => setAdding(false)}
          made={(token) => {
            setMade(token);
            looked.again();
          }}
        />
      )}
      {made && <Secret title={text.made} secret={made} detail={`${text.use} …`} close={() => setMade(null)} />}
    </ListTab>
  );
}

function Good({ token }: { token: Token }) {
  if (token.revoked) return <State state="cancelled" word={settings.revoked} />;
  if (!token.expires_at) return <State state="completed" word={settings.never} />;
  const over = Date.parse(token.expires_at) < Date.now();
  return (
    <State
      state={over ? "cancelled" : "completed"}
      word={over ? settings.expired : <Until time={token.expires_at} />}
    />
  );
}

function AddToken({ close, made }: { close: () => void; made: (token: string) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("viewer");
  const [project, setProject] = useState("");
  const [days, setDays] = useState("90");
  const projects = useProjects().value ?? [];
  const submit = async () => {
    const answer = await send<TokenAnswer>("POST", "/api/tokens", {
      name: name.trim(),
      role,
      project: project || undefined,
      days: Number(days),
    });
    made(answer.token);
  };
  return (
    <FormDialog title={text.add} ok={text.add} submit={submit} close={close}>
      <TextField label={text.name} value={name} set={setName} required wide />
      <Choice label={text.role} value={role} set={setRole} options={ROLE_OPTIONS} />
      <Choice
        label={text.where}
        value={project}
        set={setProject}
        options={[["", settings.everywhere], ...projects.map((one) => [one.id, one.name] as const)]}
      />
      <TextField label={text.days} kind="numeric" value={days} set={setDays} />
    </FormDialog>
  );
}
