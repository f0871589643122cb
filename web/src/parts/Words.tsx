// Text of agents for people: paragraphs, lists, headings, blocks and pieces of code. Everything becomes a text node; nothing
// that is written there can be more than text.

import { Fragment, type ReactNode } from "react";

type Block = { kind: "code" | "paragraph" | "heading" | "item" | "quote"; text: string };

const FENCE = /^\s{0,3}(```+|~~~+)/;

function blocks(text: string): Block[] {
  const found: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) found.push({ kind: "paragraph", text: paragraph.join("\n") });
    paragraph = [];
  };
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const fence = FENCE.exec(line)?.[1];
    if (fence) {
      flush();
      const code: string[] = [];
      for (at += 1; at < lines.length && !(lines[at] ?? "").trim().startsWith(fence); at += 1)
        code.push(lines[at] ?? "");
      found.push({ kind: "code", text: code.join("\n") });
      continue;
    }
    const heading = /^#{1,6}\s+(.*)$/.exec(line)?.[1];
    const item = /^(\s*(?:[-*+]|\d+[.)])\s+.*)$/.exec(line)?.[1];
    const quote = /^>\s?(.*)$/.exec(line)?.[1];
    if (line.trim() === "") flush();
    else if (heading !== undefined || item !== undefined || quote !== undefined) {
      flush();
      if (heading !== undefined) found.push({ kind: "heading", text: heading });
      else if (item !== undefined) found.push({ kind: "item", text: item });
      else found.push({ kind: "quote", text: quote ?? "" });
    } else paragraph.push(line);
  }
  flush();
  return found;
}

/** `code` and **strong** within a line. */
function inline(text: string): ReactNode[] {
  return text.split(/(`[^`\n]+`|\*\*[^*\n]+\*\*)/).map((piece, at) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name, and do not move
    if (piece.length > 2 && piece.startsWith("`")) return <code key={at}>{piece.slice(1, -1)}</code>;
    // biome-ignore lint/suspicious/noArrayIndexKey: as above
    if (piece.length > 4 && piece.startsWith("**")) return <b key={at}>{piece.slice(2, -2)}</b>;
    // biome-ignore lint/suspicious/noArrayIndexKey: as above
    return <Fragment key={at}>{piece}</Fragment>;
  });
}

export function Words({ text }: { text: string }) {
  return <div className="words">{blocks(text).map(shown)}</div>;
}

function shown(block: Block, at: number): ReactNode {
  const key = `${block.kind}-${at}`;
  if (block.kind === "code") {
    return (
      <pre key={key} className="code">
        {block.text}
      </pre>
    );
  }
  return (
    <p key={key} className={block.kind}>
      {inline(block.text)}
    </p>
  );
}
