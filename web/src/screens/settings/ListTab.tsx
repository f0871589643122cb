// A tab of the settings that is a list: what it is, one more, the lines, and what is said where there are none.

import type { ReactNode } from "react";
import type { Looked } from "../../live/query";
import { Button } from "../../parts/Button";
import { Refused } from "../../parts/Messages";

interface Props<T> {
  title: string;
  /** What else is beside the title. */
  chooser?: ReactNode;
  help?: string;
  add: string;
  /** Where nothing can be added yet, there is no button. */
  canAdd?: boolean;
  adds: () => void;
  forbidden?: string | null;
  looked: Looked<T[]>;
  empty: ReactNode;
  /** What stands above the columns; a list without is one of whole lines. */
  head?: string[];
  row: (one: T) => ReactNode;
  /** Dialogs, and what belongs to a chosen line. */
  children?: ReactNode;
}

export function ListTab<T>(props: Props<T>) {
  const { title, chooser, help, add, canAdd = true, adds, forbidden, looked, empty, head, row, children } = props;
  const lines = looked.value ?? [];
  return (
    <>
      <div className="row wrap">
        <h1 className="grow">{title}</h1>
        {chooser}
        {canAdd && (
          <Button kind="primary" forbidden={forbidden} act={adds}>
            {add}
          </Button>
        )}
      </div>
      {help && <p className="small dim">{help}</p>}
      {forbidden && <p className="dim">{forbidden}</p>}
      <Refused error={looked.refusal} />
      {looked.value?.length === 0 && empty}
      {lines.length > 0 && (
        <table className="lines">
          {head && (
            <thead>
              <tr>
                {head.map((name) => (
                  <th key={name}>{name}</th>
                ))}
                <th />
              </tr>
            </thead>
          )}
          <tbody>{lines.map(row)}</tbody>
        </table>
      )}
      {children}
    </>
  );
}
