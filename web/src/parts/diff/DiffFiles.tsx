// The files of a diff, by folder.

import type { PatchFile } from "../../lib/patch";
import { diffWords as text } from "../../words/diff";
import type { LineComment } from "./rows";

interface Props {
  files: PatchFile[];
  chosen: string | null;
  choose: (path: string) => void;
  comments?: LineComment[];
  seen?: ReadonlySet<string>;
}

const split = (path: string): [string, string] => {
  const at = path.lastIndexOf("/");
  return at < 0 ? ["", path] : [path.slice(0, at), path.slice(at + 1)];
};

export function DiffFiles({ files, chosen, choose, comments = [], seen }: Props) {
  const folders = new Map<string, PatchFile[]>();
  for (const file of files) {
    const [folder] = split(file.path);
    folders.set(folder, [...(folders.get(folder) ?? []), file]);
  }
  return (
    <nav className="diff-files" aria-label={text.files}>
      {[...folders].map(([folder, inside]) => (
        <div key={folder}>
          {folder && (
            <div className="small dim cut folder" title={folder}>
              {folder}
            </div>
          )}
          {inside.map((file) => {
            const said = comments.filter((comment) => comment.path === file.path).length;
            return (
              <button
                key={file.path}
                type="button"
                aria-current={chosen === file.path || undefined}
                title={file.path}
                data-seen={seen?.has(file.path) || undefined}
                onClick={() => choose(file.path)}
              >
                <code className="cut">{split(file.path)[1]}</code>
                <span className="grow" />
                {said > 0 && <span className="small faint nowrap">{text.comments(said)}</span>}
                <Counts file={file} />
              </button>
            );
          })}
        </div>
      ))}
    </nav>
  );
}

export function Counts({ file }: { file: Pick<PatchFile, "added" | "removed"> }) {
  return (
    <span className="small nowrap num">
      {file.added > 0 && <span className="plus">+{file.added}</span>}{" "}
      {file.removed > 0 && <span className="minus">−{file.removed}</span>}
    </span>
  );
}
