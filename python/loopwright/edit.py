"""An editor for loops in a terminal.

    python -m loopwright.edit mm.tc --size M=64,N=48,K=32 -o mm.lws

shows the loops of a function with a cursor, the footprint and the operations of each loop, and below them the speed: after every change the function
is compiled and timed. Arrows move the cursor, Enter grabs a loop so that arrows drag it, `s` splits, `m` merges, `p`, `v` and `r` make a loop parallel, vector and
unrolled, `u` undoes, `:` takes a script of actions, `w` writes the Schedule and `q` quits. It is the editor of the command `loopwright edit`, with the same keys.

`screen(tree)` opens the editor on a loop tree from within a program, and returns the edited tree.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import signal
import sys
import termios
from typing import Any, Dict, List, NamedTuple, Optional

from . import _native
from ._define import Definitions
from ._loop_tree import LoopTree, Node, quantity
from ._roofline import duration
from ._types import Error

MEASURE = 0.05  # seconds of measuring after a change
ESCAPE = 0.05  # seconds to wait for the remaining bytes of an arrow key
FRAME = 7  # screen lines without loops
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
SCRIPTS = {"up": "back", "down": "next", "left": "up", "right": "down", "drag up": "up; swap; up", "drag down": "swap", "m": "merge", "\b": "merge", "\x7f": "merge"}
KINDS = {"p": "parallel", "v": "vector", "r": "unroll"}
COLOURS = {"parallel": "\033[32m", "vector": "\033[35m", "unroll": "\033[33m"}
HELP = "arrows move, Enter drags, s splits, m merges, p v r parallel vector unroll, u undo, : script, w write, q quit"


# --- The terminal -----------------------------------------------------------------------------------------------------------------------


class Terminal:
    """A terminal whose keys arrive one by one: a character, an arrow's name, "end" to quit, or "none" to draw again."""

    def __init__(self) -> None:
        self.fd = sys.stdin.fileno()

    def __enter__(self) -> "Terminal":
        self.before = termios.tcgetattr(self.fd)
        raw = termios.tcgetattr(self.fd)
        raw[0] &= ~(termios.ICRNL | termios.IXON)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
        self.signals, told = os.pipe()
        os.set_blocking(told, False)
        self.told, self.wakeup = told, signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        self.handlers = {n: signal.signal(n, lambda *_: None) for n in (signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)}
        termios.tcsetattr(self.fd, termios.TCSANOW, raw)
        self.write("\033[?1049h\033[?25l")  # alternate screen, hidden cursor
        return self

    def __exit__(self, *_: Any) -> None:
        self.write("\033[?25h\033[?1049l")
        termios.tcsetattr(self.fd, termios.TCSANOW, self.before)
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self.wakeup)
        os.close(self.signals)
        os.close(self.told)

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    def byte(self, seconds: Optional[float] = None) -> str:
        ready = select.select([self.signals, self.fd], [], [], seconds)[0]
        if self.signals in ready:
            came = os.read(self.signals, 64)
            return "end" if signal.SIGTERM in came or signal.SIGHUP in came else "none"
        if not ready:
            return "none"
        try:
            return os.read(self.fd, 1).decode("latin-1") or "end"
        except OSError:  # the terminal is gone
            return "end"

    def key(self) -> str:
        c = self.byte()
        if c != "\033":
            return c
        if self.byte(ESCAPE) not in "[O":
            return "none"
        c, shift = self.byte(ESCAPE), ""
        while c.isdigit() or c == ";":
            c, shift = self.byte(ESCAPE), "drag " if c == "2" else ""
        arrow = ARROWS.get(c, "none")
        return shift + arrow if arrow in ("up", "down") else arrow


# --- The session ------------------------------------------------------------------------------------------------------------------------


class Step(NamedTuple):
    tree: LoopTree
    seconds: float  #: of one call; 0: not known


class Editor:
    """The trees of a session form a stack; undo drops the last one. Moving the cursor does not add one."""

    def __init__(self, tree: LoopTree, terminal: Terminal, path: Optional[str], threads: int) -> None:
        self.terminal, self.path, self.threads = terminal, path, threads
        self.dragging = False
        self.message = ""
        self.steps = [Step(tree, self.measure(tree))]

    @property
    def tree(self) -> LoopTree:
        return self.steps[-1].tree

    def say(self, error: Error) -> None:
        self.message = error.diagnostics[0].text if error.diagnostics else str(error)

    def measure(self, tree: LoopTree) -> float:
        try:
            return tree.measure(MEASURE, threads=self.threads)
        except Error as error:
            self.say(error)
            return 0.0

    def edit(self, script: str) -> None:
        try:
            made = self.tree.edit(script)
        except Error as error:
            return self.say(error)
        if made.schedule == self.tree.schedule:
            self.steps[-1] = Step(made, self.steps[-1].seconds)
        else:
            self.steps.append(Step(made, self.measure(made)))

    def undo(self) -> None:
        if len(self.steps) > 1:
            self.steps.pop()
        else:
            self.message = "nothing to undo"

    def mark(self, kind: str) -> None:
        at = self.tree.cursor
        self.edit("annotate " + ("serial" if at is not None and at.kind == kind else kind))

    def save(self) -> None:
        if self.path is None:
            self.message = "give a file with -o to write the schedule; it is printed at the end"
            return
        try:
            write(self.path, self.tree.schedule)
            self.message = "wrote " + self.path
        except OSError as error:
            self.message = "cannot write %s: %s" % (self.path, error.strerror)

    def ask(self, what: str, before: str) -> None:
        """Reads a line at the bottom of the screen, and runs it as a script."""
        text = ""
        while True:
            self.message = what + text
            self.draw()
            c = self.terminal.key()
            if c in ("\r", "\n", "end", "\003"):
                break
            if c in ("\b", "\x7f"):
                text = text[:-1]
            elif len(c) == 1 and c.isprintable():
                text += c
        self.message = ""
        if c in "\r\n" and text:
            self.edit(before + text)

    def act(self, key: str) -> bool:
        """Acts on a key; False: quit."""
        if key in ("end", "\003", "q"):
            return False
        if key != "none":
            self.message = ""
        if self.dragging and key in ("up", "down"):
            key = "drag " + key
        if key in SCRIPTS:
            self.edit(SCRIPTS[key])
        elif key in KINDS:
            self.mark(KINDS[key])
        elif key in ("\r", "\n"):
            self.dragging = not self.dragging
        elif key == "s":
            self.ask("iterations of the inner loop: ", "split ")
        elif key == ":":
            self.ask(":", "")
        elif key == "u":
            self.undo()
        elif key == "w":
            self.save()
        return True

    # --- Drawing ------------------------------------------------------------------------------------------------------------------------

    def line(self, text: str, node: Optional[Node], columns: int) -> str:
        """One line of the tree, followed by its footprint and operations if there is room."""
        loop = node is not None and node.type == "loop"
        cost = "%10s %9.3g op" % (quantity(node.touches, "B", 1024), node.flops) if node is not None and loop else ""
        room = columns - len(cost) - 1
        if room < 20:
            room, cost = columns - 1, ""
        at = self.tree.cursor
        marked = "" if node is None or at is None or node.number != at.number else "\033[1;7m" if self.dragging else "\033[7m"
        colour = COLOURS.get(node.kind, "") if node is not None and loop else ""
        shown = text[:room]
        return "%s%s%s\033[0m%s" % (marked, colour, shown, " " * (room - len(shown)) + cost if cost else "")

    def loops(self, columns: int, room: int) -> List[str]:
        by_line: Dict[int, Node] = {n.line: n for n in self.tree.nodes}
        at = self.tree.cursor
        first = at.line - room // 2 if at is not None and at.line > room else 1
        lines = str(self.tree).split("\n")[first - 1:first - 1 + room]
        return [self.line(text, by_line.get(number), columns) for number, text in enumerate(lines, first)]

    def speed(self) -> str:
        seconds, start = self.steps[-1].seconds, self.steps[0].seconds
        if not seconds:
            return "not measured"
        text = "%.1f GFLOP/s, %s" % (self.tree.flops / seconds * 1e-9, duration(seconds))
        return text + (", %.2f x as fast as at the start (%s)" % (start / seconds, duration(start)) if len(self.steps) > 1 and start else "")

    def draw(self) -> None:
        columns, rows = shutil.get_terminal_size()
        width = columns - 1
        sizes = ", ".join("%s = %d" % item for item in self.tree.sizes.items())
        head = ["\033[1m%s\033[0m" % self.tree.function.signature[:width], "\033[2m%s\033[0m" % sizes[:width]]
        foot = [self.speed(), "; ".join(self.tree.schedule.splitlines()), self.message]
        keys = "arrows drag the loop, Enter drops it" if self.dragging else HELP
        lines = head + self.loops(columns, max(0, rows - FRAME)) + ["\033[J"] + [text[:width] for text in foot] + ["\033[2m%s\033[0m" % keys[:width]]
        self.terminal.write("\033[H%s\033[K" % "\033[K\r\n".join(lines))


def screen(tree: LoopTree, path: Optional[str] = None, *, threads: int = 0) -> LoopTree:
    """Opens the editor in the terminal of this process, and returns the edited tree. `w` writes its Schedule to `path`; `threads` run parallel loops, 0: all."""
    if not isinstance(tree, LoopTree):
        raise TypeError("the editor is for a loop tree, not for %r" % (tree,))
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise Error("the editor needs a terminal; LoopTree.edit runs a script of actions")
    with Terminal() as terminal:
        editor = Editor(tree, terminal, path, threads)
        while True:
            editor.draw()
            if not editor.act(terminal.key()):
                return editor.tree


# --- The command ------------------------------------------------------------------------------------------------------------------------


def write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def sizes_of(given: List[str]) -> Dict[str, int]:
    """["M=4,N=8"] as a dict."""
    sizes: Dict[str, int] = {}
    for pair in filter(None, ",".join(given).split(",")):
        name, _, value = pair.partition("=")
        try:
            sizes[name.strip()] = int(value)
        except ValueError:
            raise Error("--size wants NAME=NUMBER, not '%s'" % pair) from None
    return sizes


def function_of(path: str, name: Optional[str]) -> _native.Function:
    functions = Definitions(_native.parse(read(path), path, 0))
    if name is None and len(functions) > 1:
        raise Error("%s has several functions; choose one with --def: %s" % (path, ", ".join(f.__name__ for f in functions)))
    for f in functions:
        if name in (None, f.__name__):
            return f
    raise Error("%s has no function '%s'; there is %s" % (path, name, ", ".join(f.__name__ for f in functions)))


def run(options: argparse.Namespace) -> None:
    function = function_of(options.file, options.function)
    if options.schedule is not None:
        function = function.schedule("" if options.schedule == "naive" else read(options.schedule))
    tree: LoopTree = function.loop_tree(**sizes_of(options.size))
    if options.script is not None:
        tree = tree.edit(options.script)
    elif sys.stdin.isatty() and sys.stdout.isatty():
        tree = screen(tree, options.output, threads=options.threads)
    if options.output is not None:
        write(options.output, tree.schedule)
    else:
        sys.stdout.write(tree.schedule)


def main(arguments: Optional[List[str]] = None) -> int:
    """`python -m loopwright.edit`; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m loopwright.edit", description="Change the loops of a function by hand, or by the actions of --do, and print its Schedule.",
                                     epilog="keys: " + HELP)
    parser.add_argument("file", metavar="FILE", help="a program: .tc, or .lwp or .lwg")
    parser.add_argument("--size", action="append", default=[], metavar="N=8,M=4", help="values of sizes and of integer scalar arguments")
    parser.add_argument("--def", dest="function", metavar="NAME", help="the function, if the file has several")
    parser.add_argument("--schedule", metavar="S.lws", help="a Schedule file, or 'naive' for the loops as written (default: chosen)")
    parser.add_argument("--do", dest="script", metavar="ACTIONS", help="actions instead of the editor, such as 'split m 64; swap; vectorize n'")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="threads of parallel loops (default: all processors)")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write the Schedule to this file")
    try:
        run(parser.parse_args(arguments))
    except OSError as error:
        sys.stderr.write("cannot open '%s': %s\n" % (error.filename, error.strerror))
        return 1
    except ValueError as error:  # our own, or a file that is not text
        sys.stderr.write("%s\n" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
