// Settings: of this browser, of projects, of the server.

import { type ComponentType, lazy, Suspense } from "react";
import { Link, useLocation, useParams } from "wouter";
import { Top } from "../../app";
import { useOffered } from "../../parts/Palette";
import { words } from "../../words";
import { settings as text } from "../../words/settings";
import { About } from "./About";
import { Appearance } from "./Appearance";
import { Audit } from "./Audit";
import { Config } from "./Config";
import { Hooks } from "./Hooks";
import { Tokens } from "./Tokens";
import { Users } from "./Users";

type Tab = keyof typeof text.tabs;

const Webhooks = lazy(() => import("./Webhooks").then((file) => ({ default: file.Webhooks })));

const TABS: Record<Tab, ComponentType> = {
  appearance: Appearance,
  config: Config,
  users: Users,
  tokens: Tokens,
  hooks: Hooks,
  webhooks: Webhooks,
  audit: Audit,
  about: About,
};

export function Settings() {
  const { tab = "appearance" } = useParams<{ tab?: string }>();
  const [, go] = useLocation();
  const chosen = (tab in TABS ? tab : "appearance") as Tab;
  const Shown = TABS[chosen];
  const names = Object.keys(TABS) as Tab[];
  useOffered(
    names.map((name) => ({
      icon: "settings",
      text: `${text.title}: ${text.tabs[name]}`,
      kind: words.palette.goTo,
      act: () => go(`/settings/${name}`),
    })),
  );
  return (
    <>
      <Top crumbs={[[text.title, "/settings"], [text.tabs[chosen]]]} />
      <nav className="tabs" aria-label={text.title}>
        {names.map((name) => (
          <Link key={name} href={`/settings/${name}`} aria-current={name === chosen ? "page" : undefined}>
            {text.tabs[name]}
          </Link>
        ))}
        <Link className="phone-only" href="/agents">
          {words.nav.agents}
        </Link>
      </nav>
      <div className="page stack settings">
        <Suspense fallback={null}>
          <Shown />
        </Suspense>
      </div>
    </>
  );
}
