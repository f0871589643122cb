import { get, send } from "../../api/http";
import { duration } from "../../lib/format";
import { me } from "../../lib/me";
import { useStore } from "../../lib/store";
import { useLooked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Refused } from "../../parts/Messages";
import { settings } from "../../words/settings";

const text = settings.about;

export function About() {
  const who = useStore(me);
  const version = useLooked(
    "version",
    (signal) => get<"GET /api/version">("/api/version", {}, signal),
    undefined,
    60_000,
  );
  const logout = async () => {
    await send("POST", "/api/logout");
    me.set({ known: "no" });
  };
  const roles = who.known === "yes" ? Object.entries(who.me.roles ?? {}) : [];
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">{settings.tabs.about}</h1>
        <Button act={logout}>{text.logout}</Button>
      </div>
      <Refused error={version.refusal} />
      <dl className="facts roomy">
        <dt>{text.version}</dt>
        <dd>{version.value?.version}</dd>
        <dt>{text.uptime}</dt>
        <dd>{version.value && duration(version.value.uptime_ms)}</dd>
        {who.known === "yes" && (
          <>
            <dt>{text.user}</dt>
            <dd>{who.me.user}</dd>
            <dt>{text.by}</dt>
            <dd>{who.me.by}</dd>
            <dt>{text.role}</dt>
            <dd>
              {roles
                .map(([project, role]) => `${String(role)} (${project === "*" ? settings.everywhere : project})`)
                .join(", ") || settings.noRole}
            </dd>
          </>
        )}
        <dt>{text.page}</dt>
        <dd>{version.value && (text.pages[version.value.page] ?? version.value.page)}</dd>
        <dt>{text.api}</dt>
        <dd>
          <a className="link" href="/api/docs" target="_blank" rel="noopener">
            /api/docs
          </a>
        </dd>
        <dt>{text.apiDoc}</dt>
        <dd>
          <a className="link" href="/api/openapi.json" target="_blank" rel="noopener">
            /api/openapi.json
          </a>
        </dd>
        <dt>{text.metrics}</dt>
        <dd>
          <a className="link" href="/metrics" target="_blank" rel="noopener">
            /metrics
          </a>
        </dd>
      </dl>
      <p className="small faint">{text.terminal}</p>
      <pre className="code">{text.terminalCommand}</pre>
    </>
  );
}
