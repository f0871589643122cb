// A table of facts of any length that scrolls by itself: only the rows that are seen are drawn. Canvases have one for those
// who do not see them.

import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useRef } from "react";

const ROW = 32;

interface Props<T> {
  label: string;
  className?: string;
  /** What stands above each column. */
  columns: readonly string[];
  rows: readonly T[];
  keyOf: (row: T, place: number) => string | number;
  /** As many as there are columns; what is faint is marked as such. */
  cells: (row: T) => (ReactNode | { faint: ReactNode })[];
  chosen?: (row: T) => boolean;
  choose?: (row: T) => void;
}

const isFaint = (cell: ReactNode | { faint: ReactNode }): cell is { faint: ReactNode } =>
  typeof cell === "object" && cell !== null && "faint" in cell;

export function FactTable<T>({ label, className, columns, rows, keyOf, cells, chosen, choose }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  });
  return (
    <div
      className={`scroller table graph-table ${className ?? ""}`}
      ref={scroller}
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      tabIndex={0}
    >
      <div className="table-head" role="row">
        {columns.map((name) => (
          <span key={name} role="columnheader">
            {name}
          </span>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the row's link takes the keys
            <div
              key={keyOf(row, item.index)}
              className="table-row"
              role="row"
              aria-rowindex={item.index + 2}
              aria-selected={chosen?.(row)}
              style={{ position: "absolute", insetInline: 0, top: item.start }}
              onClick={choose && (() => choose(row))}
            >
              {cells(row).map((cell, place) => (
                <span key={columns[place]} role="cell" className={isFaint(cell) ? "faint" : undefined}>
                  {isFaint(cell) ? cell.faint : cell}
                </span>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}
