// What is said about a line: being written, or kept until it is sent.

import { useEffect, useRef, useState } from "react";
import { diffWords as text } from "../../words/diff";
import type { LineComment } from "./rows";

interface WritingProps {
  line: number;
  value: string;
  add: (words: string) => void;
  cancel: () => void;
}

export function WritingBox({ line, value, add, cancel }: WritingProps) {
  const [words, setWords] = useState(value);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => field.current?.focus(), []);
  const done = () => words.trim() && add(words.trim());
  return (
    <div className="diff-comment writing">
      <div className="small row">
        <b>{text.commentOn(line)}</b>
        <span className="faint">{text.goesBack}</span>
      </div>
      <textarea
        ref={field}
        className="input"
        rows={2}
        aria-label={text.write}
        placeholder={text.write}
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if ((event.metaKey || event.ctrlKey) && event.key === "Enter") done();
          else if (event.key === "Escape") {
            event.stopPropagation();
            cancel();
          }
        }}
      />
      <div className="actions">
        <button type="button" className="button primary" onClick={done}>
          {text.add} <kbd>⌘↵</kbd>
        </button>
        <button type="button" className="button quiet" onClick={cancel}>
          {text.cancel} <kbd>esc</kbd>
        </button>
      </div>
    </div>
  );
}

interface KeptProps {
  comment: LineComment;
  edit: () => void;
  remove: () => void;
}

export function KeptComment({ comment, edit, remove }: KeptProps) {
  return (
    <div className="diff-comment">
      <div className="small row">
        <b>{text.commentOn(comment.line)}</b>
        <span className="grow" />
        <button type="button" className="link" onClick={edit}>
          {text.edit}
        </button>
        <button type="button" className="link" onClick={remove}>
          {text.remove}
        </button>
      </div>
      <p>{comment.words}</p>
    </div>
  );
}
