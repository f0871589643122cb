// How figures are written. What is not known is "unknown", never 0.

import { words } from "../words";

const money = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });

export function dollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return words.unknown;
  return value > 0 && value < 0.005 ? "< $0.01" : money.format(value);
}

export const count = (value: number): string => whole.format(value);
export const tokens = (value: number): string => (value < 1000 ? whole.format(value) : compact.format(value));

/** 0.5 KiB, 4.2 MiB: as the command line writes them. */
export function bytes(value: number): string {
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let [size, unit] = [value / 1024, 0];
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024;
  return `${size.toFixed(1)} ${units[unit]}`;
}

/** 38 s, 14 min, 1 h 6 min. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return words.unknown;
  const seconds = Math.round(ms / 1000);
  if (ms < 950) return `${Math.max(0, Math.round(ms / 100) / 10)} s`;
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.round(hours / 24)} d`;
}

export function at(time: string): string {
  const then = new Date(time);
  const today = new Date().toDateString() === then.toDateString();
  return today ? clock.format(then) : `${day.format(then)}, ${clock.format(then)}`;
}

export const exactly = (time: string): string => exact.format(new Date(time));

/** How long ago, in words. */
export function ago(time: string, now: number): string {
  const passed = now - new Date(time).getTime();
  return passed < 5000 ? words.now : words.ago(duration(passed));
}

export function until(time: string, now: number): string {
  const left = new Date(time).getTime() - now;
  return left <= 0 ? words.now : words.in(duration(left));
}

/** The file's name without its folders. */
export const fileName = (path: string): string => path.split("/").at(-1) ?? path;
