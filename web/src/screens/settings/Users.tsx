import { useState } from "react";
import { address, get, send } from "../../api/http";
import { useForbidden } from "../../lib/me";
import { say } from "../../lib/messages";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { confirmed } from "../../parts/Dialog";
import { Choice, TextField } from "../../parts/Fields";
import { FormDialog } from "../../parts/FormDialog";
import { State } from "../../parts/State";
import { Ago } from "../../parts/Time";
import { settings } from "../../words/settings";
import { ListTab } from "./ListTab";
import { ROLE_OPTIONS, useProjects } from "./parts";
import type { User } from "./shapes";

const text = settings.users;

type Asking = { what: "add" } | { what: "password" | "role"; user: string } | null;

export function Users() {
  const [asking, setAsking] = useState<Asking>(null);
  const forbidden = useForbidden(null, "admin");
  const looked = useLooked(
    forbidden ? null : "users",
    async (signal) => (await get<"GET /api/users">("/api/users", {}, signal)).users as unknown as User[],
  );
  const disable = async (user: User) => {
    if (!user.disabled && !(await confirmed(text.askDisable(user.name), text.disableNow))) return;
    await send("PATCH", address("/api/users/{user}", { user: user.name }), { disabled: !user.disabled });
    looked.again();
  };
  return (
    <ListTab
      title={settings.tabs.users}
      add={text.add}
      adds={() => setAsking({ what: "add" })}
      forbidden={forbidden}
      looked={looked}
      empty={<p className="empty dim">{text.empty}</p>}
      head={[text.state, text.name, text.roles, text.created]}
      row={(user) => (
        <tr key={user.name}>
          <td>
            <State
              state={user.disabled ? "cancelled" : "completed"}
              word={user.disabled ? text.disabled : text.enabled}
            />
          </td>
          <td className="strong">{user.name}</td>
          <td className="dim">
            {user.grants.length === 0
              ? settings.noRole
              : user.grants.map((one) => `${one.role} (${one.project ?? settings.everywhere})`).join(", ")}
          </td>
          <td className="faint">
            <Ago time={user.created_at} />
          </td>
          <td>
            <span className="actions">
              <Button act={() => setAsking({ what: "role", user: user.name })}>{text.setRole}</Button>
              <Button act={() => setAsking({ what: "password", user: user.name })}>{text.setPassword}</Button>
              <Button kind={user.disabled ? undefined : "danger"} act={() => disable(user)}>
                {user.disabled ? text.enable : text.disable}
              </Button>
            </span>
          </td>
        </tr>
      )}
    >
      {asking && <UserForm asking={asking} close={() => setAsking(null)} again={looked.again} />}
    </ListTab>
  );
}

function UserForm({ asking, close, again }: { asking: NonNullable<Asking>; close: () => void; again: () => void }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState("viewer");
  const [project, setProject] = useState("");
  const projects = useProjects().value ?? [];
  const submit = async () => {
    const where = project || undefined;
    if (asking.what === "add") await send("POST", "/api/users", { name: name.trim(), password, role, project: where });
    else {
      const body = asking.what === "password" ? { password } : { role, project: where };
      await send("PATCH", address("/api/users/{user}", { user: asking.user }), body);
      if (asking.what === "password") say(text.passwordSet(asking.user));
    }
    again();
  };
  const title =
    asking.what === "add"
      ? text.add
      : asking.what === "password"
        ? text.passwordTitle(asking.user)
        : text.roleTitle(asking.user);
  return (
    <FormDialog
      title={title}
      detail={asking.what === "password" ? text.passwordDetail : asking.what === "role" ? text.roleDetail : undefined}
      ok={asking.what === "add" ? text.add : text.save}
      submit={submit}
      close={close}
    >
      {asking.what === "add" && <TextField label={text.name} value={name} set={setName} required />}
      {asking.what !== "role" && (
        <TextField
          label={text.password}
          kind="password"
          value={password}
          set={setPassword}
          help={text.passwordHelp}
          autoComplete="new-password"
          required
        />
      )}
      {asking.what !== "password" && (
        <>
          <Choice
            label={text.role}
            value={role}
            set={setRole}
            options={asking.what === "role" ? [...ROLE_OPTIONS, ["none", settings.noRole]] : ROLE_OPTIONS}
          />
          <Choice
            label={text.where}
            value={project}
            set={setProject}
            options={[["", settings.everywhere], ...projects.map((one) => [one.id, one.name] as const)]}
          />
        </>
      )}
    </FormDialog>
  );
}
