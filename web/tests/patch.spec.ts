// Patches, marks of conflicts and long text, taken apart: no browser is needed for it.

import { expect, test } from "@playwright/test";
import { Lines, lastError, search } from "../src/lib/lines";
import { bases, disputes, parseMarked, putTogether } from "../src/lib/merging";
import { difference, paired, parsePatch, totals, unquoted } from "../src/lib/patch";

const PATCH = `diff --git a/src/a.ts b/src/a.ts
index 1..2 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,3 +1,4 @@ class A
 one
-two
+two!
+diff --git a/x b/x
 three
\\ No newline at end of file
@@ -10 +11 @@
-ten
+--- a/ten
diff --git a/old name.txt b/new name.txt
similarity index 90%
rename from old name.txt
rename to new name.txt
index 3..4 100644
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/pic.png b/pic.png
new file mode 100644
index 0000000..5
GIT binary patch
literal 4
LcmZQzWMT#Y01f~L

literal 0
HcmV?d00001

diff --git "a/f\\303\\251.txt" "b/f\\303\\251.txt"
deleted file mode 100644
--- "a/f\\303\\251.txt"
+++ /dev/null
@@ -1 +0,0 @@
-<script>alert(1)</script>
`;

test("a patch is taken apart by its own numbers", () => {
  const files = parsePatch(PATCH);
  expect(files.map((file) => [file.path, file.change, file.added, file.removed, file.binary])).toEqual([
    ["src/a.ts", "changed", 3, 2, false],
    ["new name.txt", "renamed", 0, 0, false],
    ["run.sh", "changed", 0, 0, false],
    ["pic.png", "added", 0, 0, true],
    ["fé.txt", "deleted", 0, 1, false],
  ]);
  const [first, renamed, mode] = files;
  expect(first?.hunks[0]?.lines.map(({ kind, old, new: fresh, text }) => [kind, old, fresh, text])).toEqual([
    [" ", 1, 1, "one"],
    ["-", 2, null, "two"],
    ["+", null, 2, "two!"],
    ["+", null, 3, "diff --git a/x b/x"],
    [" ", 3, 4, "three"],
  ]);
  expect(first?.hunks[0]?.lines.at(-1)?.endless).toBe(true);
  expect(first?.hunks[1]?.lines.map((line) => line.text)).toEqual(["ten", "--- a/ten"]);
  expect(renamed?.from).toBe("old name.txt");
  expect([mode?.oldMode, mode?.newMode]).toEqual(["100644", "100755"]);
  expect(totals(files)).toEqual({ added: 3, removed: 3 });
  expect(parsePatch("")).toEqual([]);
  expect(unquoted('"a\\tb\\"c\\\\"')).toBe('a\tb"c\\');
});

test("lines that took each other's place stand side by side", () => {
  const lines = parsePatch(PATCH)[0]?.hunks[0]?.lines ?? [];
  const shown = paired(lines).map(([left, right]) => [left?.text ?? null, right?.text ?? null]);
  expect(shown).toEqual([
    ["one", "one"],
    ["two", "two!"],
    [null, "diff --git a/x b/x"],
    ["three", "three"],
  ]);
  expect(difference("return total;", "return round(total);")).toEqual({ from: 7, to: [12, 19] });
  expect(difference("abc", "xyz")).toBeNull();
});

const MARKED =
  "a\nb\n<<<<<<< landed\nLEFT\n=======\nRIGHT\n>>>>>>> task/right\nc\n<<<<<<< landed\n=======\nnew\n>>>>>>> task/right\nd\n";

test("marks of a conflict are taken apart and put together again", () => {
  const parts = parseMarked(MARKED);
  expect(disputes(parts).map(({ ours, theirs }) => [ours, theirs])).toEqual([
    ["LEFT\n", "RIGHT\n"],
    ["", "new\n"],
  ]);
  expect(putTogether(parts, [{ take: "both" }])).toBeNull();
  expect(putTogether(parts, [{ take: "both" }, { take: "ours" }])).toBe("a\nb\nLEFT\nRIGHT\nc\nd\n");
  expect(putTogether(parts, [{ take: "theirs" }, { take: "own", text: "mine\n" }])).toBe("a\nb\nRIGHT\nc\nmine\nd\n");
  expect(bases(parts, "a\nb\nold\nc\nd\n")).toEqual(["old\n", ""]);
  expect(bases(parts, "quite another file\n")).toEqual([null, null]);
  // What only looks like marks stays text, and the file comes out as it went in.
  for (const plain of ["<<<<<<< landed\nno end\n", "=======\n", "<<<<<<<< eight\n", "no line end", ""]) {
    expect(disputes(parseMarked(plain))).toEqual([]);
    expect(putTogether(parseMarked(plain), [])).toBe(plain);
  }
});

test("long text by lines, in any pieces", () => {
  const whole = "one\ntwo Error: x\n\nthree";
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const lines = new Lines();
    lines.add(whole.slice(0, cut));
    lines.add(whole.slice(cut));
    expect(
      Array.from({ length: lines.count }, (_, at) => lines.line(at)),
      `cut at ${cut}`,
    ).toEqual(whole.split("\n"));
    expect(lines.lineAt(whole.indexOf("Error"))).toBe(1);
    expect(lastError(lines)).toBe(1);
  }
  expect([...search("Abc abc ABC", "abc")]).toEqual([0, 4, 8]);
  expect([...search("Abc abc ABC", "Abc")]).toEqual([0]);
  expect(search("a.c abc", "a.c").length).toBe(1);
  expect(search("abc", "").length).toBe(0);
});
