import { useRef, useState } from "react";
import { useSearch } from "wouter";
import { useKeys } from "../../lib/keys";
import { remember, remembered } from "../../lib/settings";
import { Diff, type DiffPlace } from "../../parts/diff/Diff";
import { DiffFiles } from "../../parts/diff/DiffFiles";
import { ViewSwitch } from "../../parts/diff/ViewSwitch";
import { Refused } from "../../parts/Messages";
import { diffWords } from "../../words/diff";
import { taskWords } from "../../words/task";
import type { TaskPart } from "./Task";

export function DiffTab({ diff, go }: TaskPart) {
  const [split, setSplit] = useState(remembered("diff", "") === "split");
  const place = useRef<DiffPlace>(null);
  const chosen = new URLSearchParams(useSearch()).get("file");
  const files = diff.value?.files ?? [];
  const choose = (path: string) => {
    go({ file: path });
    place.current?.showFile(path);
  };
  const step = (by: number) => {
    const at = files.findIndex((file) => file.path === chosen);
    const next = files[Math.max(0, Math.min(files.length - 1, at + by))];
    if (next) choose(next.path);
  };
  useKeys([
    { keys: "]", label: diffWords.nextFile, act: () => step(1) },
    { keys: "[", label: diffWords.previousFile, act: () => step(-1) },
  ]);
  if (!diff.value) return <Refused error={diff.refusal} />;
  if (files.length === 0) {
    return (
      <section className="empty">
        <h2>{taskWords.diff.none}</h2>
        <p className="dim">{taskWords.diff.noneHelp}</p>
      </section>
    );
  }
  return (
    <section className="stack">
      <div className="row wrap">
        <ViewSwitch
          split={split}
          set={(now) => {
            setSplit(now);
            remember("diff", now ? "split" : "");
          }}
        />
        <span className="grow" />
        <span className="small faint keys">
          <kbd>]</kbd> {diffWords.nextFile}
        </span>
      </div>
      {files.length > 1 && <DiffFiles files={files} chosen={chosen} choose={choose} />}
      <Diff files={files} split={split} place={place} />
    </section>
  );
}
