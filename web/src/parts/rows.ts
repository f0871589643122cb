// Lists of any length that scroll with the page: only the rows that are seen are drawn.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useEffect, useLayoutEffect, useRef, useState } from "react";

interface Wanted {
  count: number;
  /** The height of a row. */
  size: number;
  /** How much of the window's top is covered by what stays there. */
  above: number;
}

export function useWindowRows({ count, size, above }: Wanted) {
  const list = useRef<HTMLDivElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      if (list.current) setMargin(Math.round(list.current.getBoundingClientRect().top + window.scrollY));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(document.body);
    // What is above the list may grow or shrink.
    for (const part of list.current?.closest("main")?.children ?? []) watch.observe(part);
    return () => watch.disconnect();
  }, []);
  const rows = useWindowVirtualizer({
    count,
    estimateSize: () => size,
    overscan: 8,
    scrollMargin: margin,
    scrollPaddingStart: above,
    scrollPaddingEnd: 72,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows of another height are measured anew
  useEffect(() => rows.measure(), [size]);
  const place = (start: number): CSSProperties => ({
    position: "absolute",
    insetInline: 0,
    top: 0,
    height: size,
    transform: `translateY(${start - margin}px)`,
  });
  return { list, rows, place, height: count * size };
}
