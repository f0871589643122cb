import { type CSSProperties, memo, useEffect, useMemo } from "react";
import { Link } from "wouter";
import type { RunTask } from "../../api/types";
import { count } from "../../lib/format";
import { useHasPanel, useNarrow } from "../../lib/media";
import { compact } from "../../lib/settings";
import { useStore } from "../../lib/store";
import { Button } from "../../parts/Button";
import { Icon } from "../../parts/Icon";
import { useWindowRows } from "../../parts/rows";
import { Bar, shownOf } from "../../parts/State";
import { taskWords } from "../../words/runTasks";
import { COLUMNS, type ColumnName, chosenColumns, type Seen } from "./columns";
import { sumOf, sumWords } from "./cost";
import type { Group, Item } from "./layout";
import { mayNot } from "./taskActs";

const TOP = 48;
const HEAD = 30;

interface Props {
  run: string;
  items: Item[];
  groups: Map<string, Group>;
  isFolded: (group: Group) => boolean;
  fold: (key: string) => void;
  seen: Seen;
  /** The item at which keys act: a task's id, or a group's key with a line break before it. */
  cursor: string | null;
  select: (id: string) => void;
  pointer: Record<string, unknown>;
  /** Where rows are grouped by what can be cancelled as one. */
  cancel?: (group: Group) => unknown;
  forbidden: string | null;
}

export const domIdOf = (name: string): string => `row-${encodeURIComponent(name)}`;
export const cursorOf = (item: Item): string => (item.kind === "task" ? item.id : `\n${item.key}`);

export function TaskTable(props: Props) {
  const { run, items, groups, isFolded, fold, seen, cursor, select, pointer, cancel, forbidden } = props;
  const narrow = useNarrow();
  const isCompact = useStore(compact);
  const chosen = useStore(chosenColumns);
  const size = narrow ? 56 : isCompact ? 26 : 32;
  const { list, rows, place, height } = useWindowRows({ count: items.length, size, above: TOP + HEAD + 8 });
  const at = useMemo(() => items.findIndex((item) => cursorOf(item) === cursor), [items, cursor]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is brought into view when it is chosen or comes, not when rows move
  useEffect(() => {
    if (at >= 0) rows.scrollToIndex(at, { align: "auto" });
  }, [cursor, at >= 0]);
  const columns = chosen.map((name) => COLUMNS[name].width).join(" ");
  return (
    <div
      className="table tasks"
      role="grid"
      aria-label={taskWords.table}
      aria-rowcount={items.length + 1}
      tabIndex={0}
      aria-activedescendant={at >= 0 ? domIdOf(cursorOf(items[at] as Item)) : undefined}
      style={{ "--columns": columns } as CSSProperties}
      {...pointer}
    >
      <Head chosen={chosen} />
      <div ref={list} role="rowgroup" style={{ position: "relative", height }}>
        {rows.getVirtualItems().map((row) => {
          const item = items[row.index];
          if (!item) return null;
          const style = place(row.start);
          const isAt = row.index === at;
          if (item.kind === "group") {
            const group = groups.get(item.key);
            return group ? (
              <GroupRow
                key={`\n${item.key}`}
                group={group}
                index={row.index}
                folded={isFolded(group)}
                fold={fold}
                isAt={isAt}
                top={style.transform ?? ""}
                size={size}
                cancel={cancel}
                forbidden={forbidden}
              />
            ) : null;
          }
          const task = seen.byId.get(item.id);
          return task ? (
            <TaskRow
              key={item.id}
              run={run}
              task={task}
              index={row.index}
              seen={seen}
              chosen={chosen}
              selected={isAt}
              narrow={narrow}
              select={select}
              top={style.transform ?? ""}
              size={size}
            />
          ) : null;
        })}
      </div>
    </div>
  );
}

function Head({ chosen }: { chosen: ColumnName[] }) {
  return (
    <div className="table-head" role="row" aria-rowindex={1}>
      {chosen.map((name) => (
        <span
          key={name}
          role="columnheader"
          className={COLUMNS[name].number ? "num" : undefined}
          title={name === "attempts" ? taskWords.attempts : undefined}
        >
          {taskWords.head[name]}
        </span>
      ))}
    </div>
  );
}

interface RowProps {
  index: number;
  top: string;
  size: number;
}

const placed = ({ top, size }: RowProps): CSSProperties => ({
  position: "absolute",
  insetInline: 0,
  top: 0,
  height: size,
  transform: top,
});

interface TaskRowProps extends RowProps {
  run: string;
  task: RunTask;
  seen: Seen;
  chosen: ColumnName[];
  selected: boolean;
  narrow: boolean;
  select: (id: string) => void;
}

const TaskRow = memo(function TaskRow(props: TaskRowProps) {
  const { run, task, seen, chosen, selected, narrow, select } = props;
  const hasPanel = useHasPanel();
  const to = `/runs/${run}/tasks/${encodeURIComponent(task.id)}`;
  const names = narrow ? (["state", "task", "cost", "activity"] as const) : chosen;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are the screen's
    <div
      className={narrow ? "table-row two-lines" : "table-row"}
      id={domIdOf(task.id)}
      role="row"
      aria-rowindex={props.index + 2}
      aria-selected={selected}
      data-state={task.state}
      style={placed(props)}
      onClick={() => hasPanel && select(task.id)}
    >
      {names.map((name) => {
        const column = COLUMNS[name];
        const cell = column.cell(task, seen);
        return (
          <span
            key={name}
            role="gridcell"
            className={column.number ? `num cell-${name}` : `cell-${name}`}
            title={column.tip?.(task, seen)}
          >
            {name === "task" ? (
              <Link href={to} tabIndex={-1} onClick={(event) => hasPanel && event.preventDefault()}>
                {cell}
              </Link>
            ) : (
              cell
            )}
          </span>
        );
      })}
    </div>
  );
});

interface GroupRowProps extends RowProps {
  group: Group;
  folded: boolean;
  fold: (key: string) => void;
  isAt: boolean;
  cancel?: (group: Group) => unknown;
  forbidden: string | null;
}

const GroupRow = memo(function GroupRow(props: GroupRowProps) {
  const { group, folded, fold, isAt, cancel, forbidden } = props;
  const shown = useMemo(() => shownOf(group.tasks.map((task) => task.state)), [group]);
  const done = shown.landed + shown.completed;
  const cost = useMemo(() => sumWords(sumOf(group.tasks), taskWords.atLeast), [group]);
  return (
    <div
      className="table-group"
      role="row"
      id={domIdOf(`\n${group.key}`)}
      aria-rowindex={props.index + 2}
      aria-selected={isAt}
      style={placed(props)}
    >
      <span role="gridcell" className="row grow">
        <button type="button" className="fold" tabIndex={-1} aria-expanded={!folded} onClick={() => fold(group.key)}>
          <Icon name={folded ? "right" : "down"} />
          <b className="cut">{group.name}</b>
        </button>
        <span className="faint nowrap">
          {(shown.completed > 0 ? taskWords.doneOf : taskWords.landedOf)(done, group.tasks.length)}
        </span>
        <span className="group-bar">
          <Bar shown={shown} thin />
        </span>
        <span className="grow" />
        {cancel && group.key !== "" && group.tasks.some((task) => mayNot.cancel(task) === null) && (
          <Button
            kind="quiet"
            label={taskWords.group.cancelOf(group.name)}
            forbidden={forbidden}
            act={() => cancel(group)}
          >
            {taskWords.group.cancel}
          </Button>
        )}
        <span className="faint nowrap">{cost}</span>
        <span className="sr">{count(group.tasks.length)}</span>
      </span>
    </div>
  );
});
