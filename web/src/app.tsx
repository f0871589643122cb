// The frame of every screen: where one can go, what needs the user, whether the server is there.

import { type ReactNode, Suspense, useEffect } from "react";
import { Link, Redirect, Route, Switch, useLocation } from "wouter";
import { get } from "./api/http";
import { at, count } from "./lib/format";
import { useKeys } from "./lib/keys";
import { lookWhoIAm, me } from "./lib/me";
import { refuse } from "./lib/messages";
import { theme } from "./lib/settings";
import { useStore } from "./lib/store";
import { connect, connection, disconnect, letGo } from "./live/hub";
import { isUrgent, needs, useNeeds } from "./live/needs";
import { useLooked } from "./live/query";
import { Boundary } from "./parts/Boundary";
import { Dialogs } from "./parts/Dialog";
import { Icon, type IconName } from "./parts/Icon";
import { KeysHelp } from "./parts/KeysHelp";
import { Messages } from "./parts/Messages";
import { openPalette, Palette } from "./parts/Palette";
import { stopAll } from "./parts/stopAll";
import { screens } from "./screens";
import { Login } from "./screens/Login";
import { words } from "./words";

export function App() {
  const who = useStore(me);
  const often = useStore(letGo);
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again each time the server lets the page go.
  useEffect(() => {
    lookWhoIAm();
  }, [often]);
  if (who.known === "asking") return null;
  return <Boundary place={who.known}>{who.known === "yes" ? <Frame /> : <Login />}</Boundary>;
}

function Frame() {
  useEffect(() => {
    connect();
    return disconnect;
  }, []);
  useNeeds();
  const [place, go] = useLocation();
  useKeys([
    { keys: "g i", label: words.keys.goInbox, act: () => go("/") },
    { keys: "g r", label: words.keys.goRuns, act: () => go("/runs") },
    { keys: "g b", label: words.keys.goBoard, act: () => go("/projects") },
    { keys: "g c", label: words.keys.goCosts, act: () => go("/costs") },
    { keys: "c", label: words.keys.newRun, act: () => go("/new") },
    { keys: "!", label: words.keys.stopAll, act: () => void stopAll().catch(refuse) },
  ]);
  return (
    <>
      <a className="skip" href="#content">
        {words.nav.skip}
      </a>
      <div className="app">
        <Side />
        <main id="content" tabIndex={-1}>
          <Banner />
          <Boundary place={place}>
            <Suspense fallback={null}>
              <Switch>
                {screens.map(({ path, Screen }) => (
                  <Route key={path} path={path} component={Screen} />
                ))}
                <Route>
                  <Redirect to="/" />
                </Route>
              </Switch>
            </Suspense>
          </Boundary>
        </main>
      </div>
      <PhoneNav />
      <Palette />
      <KeysHelp />
      <Dialogs />
      <Messages />
    </>
  );
}

const PLACES: [IconName, string, string][] = [
  ["inbox", words.nav.inbox, "/"],
  ["runs", words.nav.runs, "/runs"],
  ["board", words.nav.projects, "/projects"],
  ["costs", words.nav.costs, "/costs"],
  ["agents", words.nav.agents, "/agents"],
  ["settings", words.nav.settings, "/settings"],
];

function isHere(location: string, to: string): boolean {
  return to === "/" ? location === "/" : location === to || location.startsWith(`${to}/`);
}

function Side() {
  const [location] = useLocation();
  const waiting = useStore(needs).filter(isUrgent).length;
  const projects = useLooked(
    "projects",
    (signal) => get<"GET /api/projects">("/api/projects", {}, signal),
    () => false,
    30_000,
  );
  return (
    <nav className="side" aria-label={words.nav.main}>
      <div className="brand">
        <Icon name="brand" />
        <span>{words.product}</span>
      </div>
      {PLACES.map(([icon, name, to]) => (
        <Link key={to} className="nav" href={to} title={name} aria-current={isHere(location, to) ? "page" : undefined}>
          <Icon name={icon} />
          <span>{name}</span>
          {to === "/" && waiting > 0 && <b className="count hot">{count(waiting)}</b>}
        </Link>
      ))}
      {projects.value && projects.value.projects.length > 0 && (
        <div className="projects">
          <h3>{words.nav.projects}</h3>
          {projects.value.projects.map((project) => {
            const to = `/projects/${encodeURIComponent(project.id)}`;
            return (
              <Link key={project.id} className="nav" href={to} aria-current={isHere(location, to) ? "page" : undefined}>
                <span className="cut">{project.name}</span>
              </Link>
            );
          })}
        </div>
      )}
      <div className="side-foot">
        <ThemeSwitch />
        <Connected />
      </div>
    </nav>
  );
}

function ThemeSwitch() {
  const chosen = useStore(theme);
  return (
    <fieldset className="segments" aria-label={words.theme.label}>
      {(["system", "light", "dark"] as const).map((name) => (
        <button key={name} type="button" aria-pressed={chosen === name} onClick={() => theme.set(name)}>
          {words.theme[name]}
        </button>
      ))}
    </fieldset>
  );
}

function Connected() {
  const { away, everThere } = useStore(connection);
  const text =
    away !== null
      ? words.connection.awayShort(at(new Date(away).toISOString()))
      : everThere
        ? words.connection.live(location.host)
        : words.connection.connecting;
  return (
    <div className="connection" title={text}>
      <i className="dot" data-away={away !== null} />
      <span>{text}</span>
    </div>
  );
}

function Banner() {
  const { away, everThere } = useStore(connection);
  if (away === null || !everThere) return null;
  return (
    <div className="banner" role="alert">
      {words.connection.away(at(new Date(away).toISOString()))}
    </div>
  );
}

function PhoneNav() {
  const [location] = useLocation();
  const waiting = useStore(needs).filter(isUrgent).length;
  const places: [IconName, string, string][] = [...PLACES.slice(0, 4), ["more", words.nav.more, "/settings"]];
  return (
    <nav className="phone-nav" aria-label={words.nav.main}>
      {places.map(([icon, name, to]) => (
        <Link key={to} href={to} aria-current={isHere(location, to) ? "page" : undefined}>
          <Icon name={icon} />
          {name}
          {to === "/" && waiting > 0 && <span className="count">{count(waiting)}</span>}
        </Link>
      ))}
    </nav>
  );
}

/** The line at the top of a screen: where one is, and what can be done from everywhere. */
export function Top({ crumbs, children }: { crumbs: [string, string?][]; children?: ReactNode }) {
  const [, go] = useLocation();
  return (
    <div className="top">
      <nav className="crumbs" aria-label={words.nav.where}>
        {crumbs.map(([name, to], place) =>
          place === crumbs.length - 1 ? (
            <b key={name} aria-current="page">
              {name}
            </b>
          ) : (
            <span key={name} className="row">
              {to ? <Link href={to}>{name}</Link> : name}
              <span aria-hidden="true">/</span>
            </span>
          ),
        )}
      </nav>
      {children}
      <button type="button" className="search" onClick={openPalette}>
        <Icon name="search" />
        <span>{words.nav.search}</span>
        <kbd>{navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <button type="button" className="button primary" onClick={() => go("/new")}>
        {words.nav.newRun} <kbd>c</kbd>
      </button>
    </div>
  );
}
