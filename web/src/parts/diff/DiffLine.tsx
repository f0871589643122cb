// Lines of a diff.

import type { PatchLine } from "../../lib/patch";
import { difference } from "../../lib/patch";
import { diffWords as text } from "../../words/diff";

/** A line longer than this is cut. */
const LONGEST = 2000;

interface TextProps {
  line: PatchLine;
  other: PatchLine | null;
}

/** What took another's place shows by which part it differs. */
function LineText({ line, other }: TextProps) {
  const shown = line.text.length > LONGEST ? `${line.text.slice(0, LONGEST)} …` : line.text;
  const part =
    other && line.kind !== " "
      ? difference(line.kind === "-" ? shown : other.text, line.kind === "-" ? other.text : shown)
      : null;
  const end = line.endless ? <span className="faint"> ⏎ {text.endless}</span> : null;
  if (!part) {
    return (
      <>
        {shown}
        {end}
      </>
    );
  }
  const to = part.to[line.kind === "-" ? 0 : 1];
  return (
    <>
      {shown.slice(0, part.from)}
      {to > part.from && <mark>{shown.slice(part.from, to)}</mark>}
      {shown.slice(to)}
      {end}
    </>
  );
}

interface UnifiedProps {
  path: string;
  line: PatchLine;
  other: PatchLine | null;
  chosen: boolean;
  /** Lines that are there can be spoken of. */
  speak: ((line: PatchLine) => void) | null;
}

function LineNumber({
  path,
  line,
  value,
  speak,
}: {
  path: string;
  line: PatchLine;
  value: number | null;
  speak: UnifiedProps["speak"];
}) {
  if (!speak || value === null || line.new === null) return <span className="number">{value ?? ""}</span>;
  return (
    <button
      type="button"
      className="number"
      tabIndex={-1}
      aria-label={text.line(path, value)}
      onClick={() => speak(line)}
    >
      {value}
    </button>
  );
}

export function UnifiedLine({ path, line, other, chosen, speak }: UnifiedProps) {
  return (
    <div className="diff-line" data-kind={line.kind} data-chosen={chosen || undefined}>
      <span className="number">{line.old ?? ""}</span>
      <LineNumber path={path} line={line} value={line.new} speak={speak} />
      <span className="sign" aria-hidden={line.kind === " "}>
        {line.kind === "-" ? "−" : line.kind}
      </span>
      <span className="text">
        <LineText line={line} other={other} />
      </span>
    </div>
  );
}

interface PairProps {
  path: string;
  left: PatchLine | null;
  right: PatchLine | null;
  chosen: boolean;
  speak: UnifiedProps["speak"];
}

export function PairLine({ path, left, right, chosen, speak }: PairProps) {
  return (
    <div className="diff-pair" data-chosen={chosen || undefined}>
      <div className="diff-half" data-kind={left ? left.kind : "none"}>
        <span className="number">{left?.old ?? ""}</span>
        <span className="sign">{left?.kind === "-" ? "−" : ""}</span>
        <span className="text">{left && <LineText line={left} other={right} />}</span>
      </div>
      <div className="diff-half" data-kind={right ? right.kind : "none"}>
        {right ? <LineNumber path={path} line={right} value={right.new} speak={speak} /> : <span className="number" />}
        <span className="sign">{right?.kind === "+" ? "+" : ""}</span>
        <span className="text">{right && <LineText line={right} other={left} />}</span>
      </div>
    </div>
  );
}
