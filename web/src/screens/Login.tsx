import { type FormEvent, useState } from "react";
import { send } from "../api/http";
import { lookWhoIAm } from "../lib/me";
import { refuse } from "../lib/messages";
import { Icon } from "../parts/Icon";
import { Messages } from "../parts/Messages";
import { words } from "../words";

export function Login() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    try {
      await send("POST", "/api/login", { name, password });
      await lookWhoIAm();
    } catch (error) {
      refuse(error);
    }
  };
  return (
    <main id="content" className="login">
      <div className="brand">
        <Icon name="brand" />
        <span>{words.product}</span>
      </div>
      <form className="card" onSubmit={submit}>
        <div className="body">
          <h1>{words.login.title}</h1>
          <label className="field">
            {words.login.user}
            <input
              className="input"
              autoComplete="username"
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          </label>
          <label className="field">
            {words.login.password}
            <input
              className="input"
              type="password"
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.target.value)}
            />
          </label>
          <button type="submit" className="button primary">
            {words.login.submit}
          </button>
        </div>
        <footer>
          <span className="small dim">{words.login.owner}</span>
          <pre className="code grow">{words.login.command}</pre>
          <span className="small dim">{words.login.ownerHelp}</span>
        </footer>
      </form>
      <Messages />
    </main>
  );
}
