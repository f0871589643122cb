// Where a task is in its file, for showing its lines beside the form. Only the server edits the file; what is read here is
// what one sees, and a file in a form that is not recognised is shown whole.

export interface Block {
  /** Places of lines, from 0; the comments above the task are part of it. */
  first: number;
  last: number;
  /** Of its dash. */
  indent: number;
  lines: string[];
}

const item = /^(\s*)- +(.*)$/;
const indentOf = (line: string): number => line.length - line.trimStart().length;
const isBlank = (line: string): boolean => line.trim() === "";
const isComment = (line: string): boolean => line.trimStart().startsWith("#");

function unquoted(text: string): string {
  const bare = text.trim();
  const quoted = /^(["'])(.*)\1$/.exec(bare);
  return quoted?.[2] ?? bare;
}

/** Where the item that begins in this line ends. */
function endOf(lines: string[], first: number, indent: number): number {
  let last = first;
  for (let at = first + 1; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (isBlank(line)) continue;
    if (indentOf(line) <= indent && !isComment(line)) break;
    if (indentOf(line) > indent) last = at;
  }
  return last;
}

export function blockOf(text: string, id: string): Block | null {
  const lines = text.split("\n");
  for (const [place, line] of lines.entries()) {
    const found = item.exec(line);
    if (!found) continue;
    const indent = found[1]?.length ?? 0;
    const last = endOf(lines, place, indent);
    const own = lines.slice(place, last + 1);
    if (keyOf({ first: place, last, indent, lines: own }, "id") !== id) continue;
    let first = place;
    while (first > 0 && isComment(lines[first - 1] ?? "") && indentOf(lines[first - 1] ?? "") === indent) first -= 1;
    return { first, last, indent, lines: lines.slice(first, last + 1) };
  }
  return null;
}

/** A key of the task itself that has its value on the same line. */
export function keyOf(block: Block, key: string): string | null {
  const start = block.lines.find((line) => item.test(line)) ?? "";
  if (item.exec(start)?.[2]?.startsWith("{")) {
    const found = new RegExp(`[{,]\\s*${key}:\\s*("[^"]*"|'[^']*'|[^,}\\]]+)`).exec(block.lines.join(" "));
    return found?.[1] ? unquoted(found[1]) : null;
  }
  const inner = " ".repeat(block.indent + 2);
  for (const line of block.lines) {
    const plain = item.test(line) && indentOf(line) === block.indent ? line.replace("-", " ") : line;
    const found = new RegExp(`^${inner}${key}:\\s+(.+?)(\\s+#.*)?$`).exec(plain);
    if (found?.[1]) return unquoted(found[1]);
  }
  return null;
}
