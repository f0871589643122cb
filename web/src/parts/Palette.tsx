import { useEffect, useMemo, useRef, useState } from "react";
import { useLocation } from "wouter";
import { get } from "../api/http";
import { useKeys } from "../lib/keys";
import { refuse } from "../lib/messages";
import { Store, useStore } from "../lib/store";
import { words } from "../words";
import { Icon, type IconName } from "./Icon";
import { stopAll } from "./stopAll";

export interface Entry {
  icon: IconName;
  text: string;
  kind: string;
  act: () => void;
}

/** What the screen that is shown can do now. */
export const offered = new Store<Entry[]>([]);

export function useOffered(entries: Entry[]): void {
  const latest = useRef(entries);
  latest.current = entries;
  const names = entries.map((entry) => entry.text).join("\n");
  // biome-ignore lint/correctness/useExhaustiveDependencies: what they do is looked up when one is taken
  useEffect(() => {
    offered.set(latest.current.map((entry, place) => ({ ...entry, act: () => latest.current[place]?.act() })));
    return () => offered.set([]);
  }, [names]);
}

/** What can be done from every screen. */
const ALWAYS: Entry[] = [
  { icon: "close", text: words.stopAll.button, kind: words.palette.do, act: () => void stopAll().catch(refuse) },
];

const open = new Store(false);
export const openPalette = (): void => open.set(true);

export function Palette() {
  const shown = useStore(open);
  useKeys([{ keys: "mod+k", label: words.keys.palette, act: () => open.set(!open.get()) }]);
  return shown ? <Searching close={() => open.set(false)} /> : null;
}

/** Every letter of what is looked for, in order; words that begin with it first. */
export function fits(text: string, query: string): number {
  const [where, what] = [text.toLowerCase(), query.toLowerCase().trim()];
  if (!what) return 1;
  const at = where.indexOf(what);
  if (at >= 0) return at === 0 || where[at - 1] === " " ? 3 : 2;
  let place = 0;
  for (const letter of what) {
    place = where.indexOf(letter, place) + 1;
    if (place === 0) return 0;
  }
  return 1;
}

function Searching({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [, go] = useLocation();
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const [places, setPlaces] = useState<Entry[]>([]);
  const here = useStore(offered);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    let over = false;
    const find = async () => {
      const [projects, runs] = await Promise.all([
        get<"GET /api/projects">("/api/projects"),
        get<"GET /api/runs">("/api/runs", { limit: 20 }),
      ]);
      if (over) return;
      setPlaces([
        ...projects.projects.map(
          (project): Entry => ({
            icon: "board",
            text: `${words.palette.project} ${project.name}`,
            kind: words.palette.goTo,
            act: () => go(`/projects/${encodeURIComponent(project.id)}`),
          }),
        ),
        ...runs.runs.map(
          (run): Entry => ({
            icon: "runs",
            text: `${words.palette.run} ${run.run} ${run.source}`,
            kind: words.palette.goTo,
            act: () => go(`/runs/${run.run}`),
          }),
        ),
      ]);
    };
    find().catch(() => {});
    return () => {
      over = true;
    };
  }, [go]);
  const screens = useMemo(
    (): Entry[] =>
      (
        [
          ["inbox", words.nav.inbox, "/"],
          ["runs", words.nav.runs, "/runs"],
          ["board", words.nav.projects, "/projects"],
          ["costs", words.nav.costs, "/costs"],
          ["agents", words.nav.agents, "/agents"],
          ["settings", words.nav.settings, "/settings"],
          ["plus", words.nav.newRun, "/new"],
        ] as const
      ).map(([icon, text, to]) => ({ icon, text, kind: words.palette.goTo, act: () => go(to) })),
    [go],
  );
  const found = useMemo(
    () =>
      [...here, ...screens, ...ALWAYS, ...places]
        .map((entry) => ({ entry, rank: fits(entry.text, query) }))
        .filter(({ rank }) => rank > 0)
        .sort((a, b) => b.rank - a.rank)
        .slice(0, 50)
        .map(({ entry }) => entry),
    [here, screens, places, query],
  );
  const take = (entry: Entry | undefined) => {
    if (!entry) return;
    close();
    entry.act();
  };
  return (
    <dialog ref={dialog} className="palette" aria-label={words.keys.palette} onCancel={close} onClose={close}>
      <div className="query">
        <Icon name="search" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={found[chosen] ? `palette-${chosen}` : undefined}
          aria-label={words.keys.palette}
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
            if (step) {
              event.preventDefault();
              setChosen((at) => Math.max(0, Math.min(found.length - 1, at + step)));
            } else if (event.key === "Enter") {
              event.preventDefault();
              take(found[chosen]);
            }
          }}
        />
        <kbd>esc</kbd>
      </div>
      <ul id="palette-list" role="listbox" aria-label={words.keys.palette}>
        {found.map((entry, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the input's
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: two entries may have the same words
            key={`${entry.text}-${place}`}
            id={`palette-${place}`}
            role="option"
            aria-selected={place === chosen}
            onClick={() => take(entry)}
          >
            <Icon name={entry.icon} />
            <span className="cut">{entry.text}</span>
            <span className="kind small faint">{entry.kind}</span>
          </li>
        ))}
        {found.length === 0 && <li className="faint">{words.table.nothing}</li>}
      </ul>
    </dialog>
  );
}
