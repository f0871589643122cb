// What this browser remembers.

import { Store } from "./store";

type Theme = "system" | "light" | "dark";

function read(name: string, otherwise: string): string {
  try {
    return localStorage.getItem(`conductor.${name}`) ?? otherwise;
  } catch {
    return otherwise;
  }
}

function write(name: string, value: string): void {
  try {
    localStorage.setItem(`conductor.${name}`, value);
  } catch {
    // A browser that keeps nothing still shows the page.
  }
}

export const theme = new Store<Theme>(read("theme", "system") as Theme);
export const compact = new Store<boolean>(read("rows", "") === "compact");

function apply(): void {
  const root = document.documentElement;
  if (theme.get() === "system") delete root.dataset.theme;
  else root.dataset.theme = theme.get();
  if (compact.get()) root.dataset.rows = "compact";
  else delete root.dataset.rows;
}

theme.listen(() => {
  write("theme", theme.get());
  apply();
});
compact.listen(() => {
  write("rows", compact.get() ? "compact" : "");
  apply();
});
apply();

export const remember = write;
export const remembered = read;
