// A diff: unified or split, files that can be folded, lines that can be spoken of. Only what is in sight is drawn.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type Ref, useImperativeHandle, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { PatchFile, PatchLine } from "../../lib/patch";
import { diffWords as text } from "../../words/diff";
import { Icon } from "../Icon";
import { KeptComment, WritingBox } from "./CommentBox";
import { Counts } from "./DiffFiles";
import { PairLine, UnifiedLine } from "./DiffLine";
import { type DiffRow, diffRows, type LineComment, widest } from "./rows";

export interface DiffPlace {
  showFile: (path: string) => void;
  /** To the next line that can be spoken of. */
  step: (by: number) => void;
  /** Begins to speak of the line one is at. */
  speak: () => void;
}

export interface Speaking {
  comments: LineComment[];
  say: (comment: LineComment) => void;
  remove: (comment: LineComment) => void;
}

interface Props {
  files: PatchFile[];
  split: boolean;
  speaking?: Speaking;
  seen?: { files: ReadonlySet<string>; toggle: (path: string) => void };
  place?: Ref<DiffPlace>;
  onFile?: (path: string) => void;
}

const HEIGHT: Record<DiffRow["kind"], number> = {
  file: 36,
  hunk: 20,
  line: 20,
  pair: 20,
  note: 32,
  comment: 64,
  writing: 132,
  gap: 12,
};

export function Diff({ files, split, speaking, seen, place, onFile }: Props) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [writing, setWriting] = useState<{ path: string; line: number } | null>(null);
  const [chosen, setChosen] = useState<PatchLine | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  const comments = speaking?.comments;
  const rows = useMemo(
    () =>
      diffRows({
        files,
        split,
        folded: new Set([...folded, ...(seen?.files ?? [])]),
        comments: comments ?? [],
        writing,
      }),
    [files, split, folded, comments, writing, seen?.files],
  );
  const width = useMemo(() => widest(files), [files]);
  useLayoutEffect(() => {
    if (box.current) setMargin(box.current.getBoundingClientRect().top + window.scrollY);
  }, []);
  const drawn = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (at) => HEIGHT[rows[at]?.kind ?? "line"],
    overscan: 30,
    scrollMargin: margin,
    scrollPaddingStart: 60,
  });
  const lineOf = (row: DiffRow | undefined): PatchLine | null =>
    row?.kind === "line" ? row.line : row?.kind === "pair" ? row.right : null;
  useImperativeHandle(place, () => ({
    showFile: (path) => {
      const at = rows.findIndex((row) => row.kind === "file" && row.file.path === path);
      if (at >= 0) drawn.scrollToIndex(at, { align: "start" });
    },
    step: (by) => {
      let at = rows.findIndex((row) => chosen !== null && lineOf(row) === chosen);
      do at += by;
      while (at >= 0 && at < rows.length && lineOf(rows[at])?.new == null);
      const line = lineOf(rows[at]);
      if (!line) return;
      setChosen(line);
      drawn.scrollToIndex(at, { align: "auto" });
    },
    speak: () => {
      const row = rows.find((row) => chosen !== null && lineOf(row) === chosen);
      if (row && (row.kind === "line" || row.kind === "pair") && chosen?.new != null)
        setWriting({ path: row.file.path, line: chosen.new });
    },
  }));
  const speak = (path: string) =>
    speaking
      ? (line: PatchLine) => {
          setChosen(line);
          if (line.new !== null) setWriting({ path, line: line.new });
        }
      : null;
  const toggle = (path: string) => {
    const next = new Set(folded);
    if (!next.delete(path)) next.add(path);
    setFolded(next);
    if (seen?.files.has(path)) seen.toggle(path);
    onFile?.(path);
  };
  const show = (row: DiffRow) => {
    switch (row.kind) {
      case "file":
        return (
          <FileHead
            file={row.file}
            open={!folded.has(row.file.path) && !seen?.files.has(row.file.path)}
            toggle={() => toggle(row.file.path)}
            seen={seen}
          />
        );
      case "hunk":
        return <div className="diff-hunk">{row.head}</div>;
      case "line":
        return (
          <UnifiedLine
            path={row.file.path}
            line={row.line}
            other={row.other}
            chosen={row.line === chosen}
            speak={speak(row.file.path)}
          />
        );
      case "pair":
        return (
          <PairLine
            path={row.file.path}
            left={row.left}
            right={row.right}
            chosen={row.right !== null && row.right === chosen}
            speak={speak(row.file.path)}
          />
        );
      case "note":
        return <p className="diff-note small faint">{row.words === "binary" ? text.binary : text.empty}</p>;
      case "comment":
        return (
          <KeptComment
            comment={row.comment}
            edit={() => setWriting({ path: row.comment.path, line: row.comment.line })}
            remove={() => speaking?.remove(row.comment)}
          />
        );
      case "writing": {
        const line = row.line.new ?? 0;
        const known = comments?.find((comment) => comment.path === row.path && comment.line === line);
        return (
          <WritingBox
            key={`${row.path}:${line}`}
            line={line}
            value={known?.words ?? ""}
            cancel={() => setWriting(null)}
            add={(words) => {
              speaking?.say({ path: row.path, line, quoted: row.line.text, words });
              setWriting(null);
            }}
          />
        );
      }
      default:
        return null;
    }
  };
  return (
    <div className="diff" ref={box} data-split={split} tabIndex={0} role="region" aria-label={text.label}>
      <div
        className="drawn"
        style={{ height: drawn.getTotalSize(), minWidth: split ? undefined : `calc(${width}ch + 120px)` }}
      >
        {drawn.getVirtualItems().map((item) => {
          const row = rows[item.index];
          return (
            row && (
              <div
                key={item.key}
                ref={row.kind === "comment" || row.kind === "writing" || split ? drawn.measureElement : undefined}
                data-index={item.index}
                className="drawn-row"
                data-row={row.kind}
                data-last={rows[item.index + 1] === undefined || rows[item.index + 1]?.kind === "gap" || undefined}
                style={{ transform: `translateY(${item.start - margin}px)` }}
              >
                {show(row)}
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

interface HeadProps {
  file: PatchFile;
  open: boolean;
  toggle: () => void;
  seen: Props["seen"];
}

function FileHead({ file, open, toggle, seen }: HeadProps) {
  const mode = file.oldMode && file.newMode ? text.mode(file.oldMode, file.newMode) : null;
  return (
    <div className="diff-file">
      <button
        type="button"
        className="row"
        aria-expanded={open}
        aria-label={`${open ? text.fold : text.unfold}: ${file.path}`}
        onClick={toggle}
      >
        <Icon name={open ? "down" : "right"} />
        <code className="cut">{file.path}</code>
      </button>
      <span className="small faint cut">
        {[text.change[file.change], file.from && text.from(file.from), mode].filter(Boolean).join(" · ")}
      </span>
      <span className="grow" />
      <Counts file={file} />
      {seen && (
        <label className="row small dim">
          <input type="checkbox" checked={seen.files.has(file.path)} onChange={() => seen.toggle(file.path)} />
          {text.seen}
        </label>
      )}
    </div>
  );
}
