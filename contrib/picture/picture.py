#!/usr/bin/env python3
"""Take a picture of a real run, as an SVG; with --moving one that moves as the screen did.

    contrib/picture/picture.py --moving target/release/conductor docs/images/run.svg

types `conductor demo` into a shell inside tmux and draws what is on the screen until the command has ended. Without
--moving, and for readers who want nothing to move, it is the last screen on which two or more tasks are at work. Other
arguments for Conductor come after the file: `picture.py BINARY FILE -- run tasks.yaml -p 3`. Needs tmux and Python 3.
"""

import argparse
import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unicodedata
from html import escape
from pathlib import Path

COLUMNS, ROWS = 100, 30
MOST_BYTES = 400_000  # a README is read over slow connections, too
LINGER = 5  # seconds, on the last screen before it begins anew
PROMPT = "$ "
PATIENCE = 120  # seconds, for the whole command
BETWEEN_SCREENS = 0.05  # half of the time between two redraws of the progress block

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
FONT_SIZE, CELL, LINE, PADDING, TITLE_BAR = 14, 8.4, 19, 18, 34
BACKGROUND, FOREGROUND, BORDER = "#16181d", "#d7dae0", "#30343d"
COLOURS = ["#5c6370", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d7dae0"]
BRIGHT = ["#7f848e", "#f0868e", "#b2dc94", "#f5d491", "#84c4fb", "#d898eb", "#74d0dc", "#ffffff"]

ESCAPE = re.compile(r"\x1b\[([\d;]*)m")


class Terminal:
    """A shell in a tmux server of its own, with a home and a PATH that hold nothing of the user's."""

    def __init__(self, binary, folder):
        for name in ["bin", "home", "here"]:
            (folder / name).mkdir()
        (folder / "bin/conductor").symlink_to(binary)
        (folder / "shellrc").write_text(f"PS1='{PROMPT}'\n")
        environment = {
            "HOME": str(folder / "home"),
            "PATH": f"{folder}/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "ENV": str(folder / "shellrc"),
        }
        self.socket = str(folder / "tmux")
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "sh", cwd=folder / "here", env=environment)

    def tmux(self, *args, **options):
        command = ["tmux", "-u", "-S", self.socket, *args]
        done = subprocess.run(command, check=True, text=True, encoding="utf-8", stdout=subprocess.PIPE, **options)
        return done.stdout

    def type(self, text):
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def screen(self):
        return self.tmux("capture-pane", "-p", "-e").rstrip("\n")

    def screens(self):
        """Every screen until the prompt is back."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            yield screen
            if plain(screen).split("\n")[-1] == PROMPT.strip():
                return
            time.sleep(BETWEEN_SCREENS)
        sys.exit(f"the prompt is not back after {PATIENCE} s")

    def close(self):
        self.tmux("kill-server")


def plain(screen):
    return "\n".join(line.rstrip() for line in ESCAPE.sub("", screen).rstrip().split("\n"))


def take(terminal, words, moment):
    """Every screen with the time it was there for the first time, and the one that stands for all of them."""
    for _ in terminal.screens():  # until the shell is ready
        pass
    begun = time.monotonic()
    terminal.type(" ".join(["conductor", *words]))
    screens, chosen = [], None
    for screen in terminal.screens():
        if not screens or screens[-1][1] != screen:
            screens.append((time.monotonic() - begun, screen))
        if moment.search(plain(screen)):
            chosen = len(screens) - 1
    return screens, len(screens) - 1 if chosen is None else chosen


def refuse_private(screen, folder):
    """The picture is public; names and paths of the machine it was made on are not."""
    text = plain(screen)
    private = {socket.gethostname(), getpass.getuser(), str(Path.home()), str(folder), str(Path.cwd())}
    for name in private - {"", "/"}:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
            sys.exit(f"the screen shows '{name}'; take another moment (--when)")


class Style:
    """What the escape sequences so far say about the next character."""

    def __init__(self):
        self.clear()

    def clear(self):
        self.colour, self.is_bold, self.is_dim = FOREGROUND, False, False

    def take(self, codes):
        for code in map(int, (codes or "0").split(";")):
            if code == 0:
                self.clear()
            elif code == 1:
                self.is_bold = True
            elif code == 2:
                self.is_dim = True
            elif code == 22:
                self.is_bold = self.is_dim = False
            elif 30 <= code <= 37:
                self.colour = COLOURS[code - 30]
            elif 90 <= code <= 97:
                self.colour = BRIGHT[code - 90]
            elif code == 39:
                self.colour = FOREGROUND
            elif code != 49:  # the background stays as it is
                sys.exit(f"the screen uses SGR {code}, which this script does not draw")

    def attributes(self):
        bold = ' font-weight="bold"' if self.is_bold else ""
        dim = ' opacity="0.6"' if self.is_dim else ""
        return f'fill="{self.colour}"{bold}{dim}'


def width(text):
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def line_of_svg(line, y, style):
    """A `text` for each piece of one style, as wide as its cells whichever font is there."""
    column, pieces = 0, []
    for index, part in enumerate(ESCAPE.split(line)):
        if index % 2:
            style.take(part)
            continue
        for piece in re.finditer(r"\S+(?: \S+)*", part):
            x = PADDING + CELL * (column + width(part[: piece.start()]))
            fit = f'textLength="{CELL * width(piece[0]):.1f}" lengthAdjust="spacingAndGlyphs"'
            text = escape(piece[0], quote=False)
            pieces.append(f'<text x="{x:.1f}" y="{y}" {fit} {style.attributes()}>{text}</text>')
        column += width(part)
    return pieces


def frame(rows, label):
    """The window: its head, and what is to be closed at the end."""
    wide = round(2 * PADDING + CELL * COLUMNS)
    high = TITLE_BAR + LINE * rows + PADDING
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" role="img">',
        f"<title>{escape(label, quote=False)}</title>",
        f'<rect x="0.5" y="0.5" width="{wide - 1}" height="{high - 1}" rx="10" fill="{BACKGROUND}" stroke="{BORDER}"/>',
    ]
    parts += [f'<circle cx="{PADDING + 5 + 18 * n}" cy="17" r="5" fill="{BORDER}"/>' for n in range(3)]
    parts.append(f'<g font-family="{FONT}" font-size="{FONT_SIZE}">')
    return parts


def svg(screen, label):
    lines, style = screen.rstrip().split("\n"), Style()
    parts = frame(len(lines), label)
    for row, line in enumerate(lines):
        parts += line_of_svg(line, TITLE_BAR + LINE * row + FONT_SIZE, style)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def drawn_lines(screen):
    """Each line as it is drawn at the top; styles go on from one line to the next."""
    style = Style()
    return ["".join(line_of_svg(line, FONT_SIZE, style)) for line in screen.rstrip().split("\n")]


def moving_svg(screens, still, label):
    """Every line is drawn once; where and when it is seen is said apart."""
    drawn = [drawn_lines(screen) for _, screen in screens]
    starts = [at for at, _ in screens]
    whole = starts[-1] + LINGER
    ends = [*starts[1:], whole]
    names, seen = {}, {}
    for number, lines in enumerate(drawn):
        for row, line in enumerate(lines):
            if not line:
                continue
            name = names.setdefault(line, f"l{len(names)}")
            spans = seen.setdefault((name, row), [])
            if spans and spans[-1][1] == starts[number]:
                spans[-1][1] = ends[number]
            else:
                spans.append([starts[number], ends[number]])
    kept = {(names[line], row) for row, line in enumerate(drawn[still]) if line}
    rules, uses = {}, []
    for (name, row), spans in seen.items():
        rule = rules.setdefault(tuple(map(tuple, spans)), f"t{len(rules)}")
        keep = " still" if (name, row) in kept else ""
        uses.append(f'<use href="#{name}" y="{TITLE_BAR + LINE * row}" class="{rule}{keep}"/>')
    parts = frame(max(map(len, drawn)), label)
    style = [f"use{{visibility:hidden;animation:{whole:.2f}s step-end infinite}}"]
    for spans, rule in rules.items():
        steps = {0.0: "hidden"}
        for start, end in spans:
            steps[100 * start / whole] = "visible"
            steps[100 * end / whole] = "hidden"
        text = "".join(f"{at:.2f}%{{visibility:{state}}}" for at, state in sorted(steps.items()) if at < 100)
        style.append(f".{rule}{{animation-name:{rule}}}@keyframes {rule}{{{text}}}")
    style.append("@media (prefers-reduced-motion:reduce){use{animation:none}.still{visibility:visible}}")
    defs = [f'<g id="{name}">{line}</g>' for line, name in names.items()]
    return "\n".join([*parts, "<style>", *style, "</style>", "<defs>", *defs, "</defs>", *uses, "</g>", "</svg>", ""])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("binary", type=Path, help="the conductor to run")
    arguments.add_argument("file", type=Path, help="the SVG to write")
    arguments.add_argument("words", nargs="*", default=["demo"], help="arguments for conductor (default: demo)")
    arguments.add_argument(
        "--when",
        type=re.compile,
        default=re.compile(r"\b([2-9]|\d\d+) running"),
        help="take the last screen that matches this regular expression, else the last of all",
    )
    arguments.add_argument("--moving", action="store_true", help="draw every screen, one after the other")
    given = arguments.parse_args()
    if not shutil.which("tmux"):
        sys.exit("tmux is not on PATH; install it")
    if not os.access(given.binary, os.X_OK):
        sys.exit(f"{given.binary} cannot be run; build it first")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        terminal = Terminal(given.binary.resolve(), folder)
        try:
            screens, still = take(terminal, given.words, given.when)
        finally:
            terminal.close()
        for _, screen in screens if given.moving else [screens[still]]:
            refuse_private(screen, folder)
    label = f"A terminal: conductor {' '.join(given.words)}"
    text = moving_svg(screens, still, label) if given.moving else svg(screens[still][1], label)
    if len(text.encode()) > MOST_BYTES:
        sys.exit(f"the picture has {len(text.encode())} bytes; at most {MOST_BYTES}")
    given.file.parent.mkdir(parents=True, exist_ok=True)
    given.file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
