"""The ways in which a function is broken: each mutant is the text of a module with one small fault in it."""

from __future__ import annotations

import ast
import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest

Function = ast.FunctionDef | ast.AsyncFunctionDef

WHOLE = ("raises", "returns")
"""What breaks a function as a whole: it raises at once, or does nothing and returns what is as good as nothing."""
PARTS = ("negate", "swap", "compare", "number", "drop")
"""A condition is negated, ``and`` and ``or`` or a comparison exchanged, a constant changed, a statement left out."""

_COMPARISONS: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_EMPTY = {
    "str": "''",
    "bytes": "b''",
    "int": "0",
    "float": "0.0",
    "dict": "{}",
    "Mapping": "{}",
    "list": "[]",
    "Sequence": "[]",
    "Iterable": "[]",
    "set": "set()",
    "tuple": "()",
}
"""By the beginning of what a function says it returns."""
_LONGEST = 70
_LARGEST_NUMBER = 10
"""Larger ones are limits and sizes: no test is to know them to the last digit."""


@dataclass(frozen=True)
class Mutant:
    """A module with one fault. ``id`` names it as long as the line in question is the same."""

    id: str
    kind: str
    path: str
    function: str
    line: int
    text: str

    def diff(self, original: str) -> str:
        lines = difflib.unified_diff(original.splitlines(), self.text.splitlines(), lineterm="", n=1)
        return "\n".join(line for line in list(lines)[3:] if not line.startswith("@@"))


@dataclass(frozen=True)
class _Edit:
    """Other text for a node, or for all that is between two nodes."""

    kind: str
    what: str
    first: ast.stmt | ast.expr
    last: ast.stmt | ast.expr
    text: str


def mutants_of(
    path: str, source: str, functions: Sequence[str] = ("*",), kinds: Sequence[str] = (*WHOLE, *PARTS), most: int = 10
) -> list[Mutant]:
    """At most ``most`` mutants of each function whose qualified name is like one of ``functions``, always the same.

    Those of the function as a whole come first: where it may raise without a test that notices, no test runs it.
    """
    found: list[Mutant] = []
    seen = {source}
    for name, function in _functions(ast.parse(source)):
        if not any(fnmatchcase(name, pattern) for pattern in functions):
            continue
        again: Counter[str] = Counter()
        made: defaultdict[str, list[Mutant]] = defaultdict(list)
        for edit in _edits(function):
            text = _edited(source, edit)
            if text in seen or not _compiles(text):
                continue
            seen.add(text)
            again[edit.what] += 1
            number = f" #{again[edit.what]}" if again[edit.what] > 1 else ""
            identity = f"{path} {name} {edit.what}{number}"
            made[edit.kind].append(Mutant(identity, edit.kind, path, name, edit.first.lineno, text))
        whole = [mutant for kind in WHOLE if kind in kinds for mutant in made[kind]]
        turns = zip_longest(*(made[kind] for kind in PARTS if kind in kinds))
        parts = [mutant for turn in turns for mutant in turn if mutant is not None]
        found += [*whole, *parts][: max(most, len(whole))]
    return found


def _functions(module: ast.Module) -> Iterator[tuple[str, Function]]:
    """Of a module and its classes. What is inside a function belongs to it."""
    waiting: list[tuple[str, ast.stmt]] = [("", each) for each in module.body]
    while waiting:
        prefix, node = waiting.pop(0)
        if isinstance(node, ast.ClassDef):
            waiting[:0] = [(f"{prefix}{node.name}.", each) for each in node.body]
        elif isinstance(node, Function) and _body(node):
            yield prefix + node.name, node


def _body(function: Function) -> list[ast.stmt]:
    """Without the docstring, and nothing of what has no other body."""
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _edits(function: Function) -> Iterator[_Edit]:
    body = _body(function)
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    end = "\n" + " " * body[0].col_offset + "yield" if yields else ""
    if function.name != "__init__":
        yield _Edit("raises", "raises", body[0], body[-1], "raise RuntimeError('mutant')")
        for value in ("",) if yields else _nothings(function):
            what = f"returns {value or 'nothing'}"
            yield _Edit("returns", what, body[0], body[-1], f"return {value}".strip() + end)
    for statement in body:
        for kind, node, text in _within(statement):
            if kind != "drop" or node is not body[-1] or len(body) > 1:
                yield _Edit(kind, f"{kind}: {_shown(node)}", node, node, text)


def _nothings(function: Function) -> Iterator[str]:
    """What a function may return instead of an answer: nothing, both truths, or what it was given."""
    told = "" if function.returns is None else ast.unparse(function.returns)
    if told == "bool":
        yield from ("True", "False")
        return
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    like = [arg.arg for arg in given if arg.annotation is not None and ast.unparse(arg.annotation) == told]
    yield from like[:1]
    if "None" in told or not told:
        yield ""
    else:
        yield next((empty for name, empty in _EMPTY.items() if told.startswith(name)), "None")


def _within(node: ast.AST) -> Iterator[tuple[str, ast.stmt | ast.expr, str]]:
    """The faults inside a statement. Texts for people are left alone: log lines, messages, type annotations."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr) or _is_for_people(node):
        return
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield "negate", test, _negated(test)
        case ast.comprehension(ifs=tests):
            for test in tests:
                yield "negate", test, _negated(test)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "swap", node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.Compare(left=left, ops=[op], comparators=right):
            changed = ast.Compare(left, [_COMPARISONS[type(op)]], right)
            yield "compare", node, f"({ast.unparse(changed)})"
        case ast.Constant(value=bool(value)):
            yield "number", node, str(not value)
        case ast.Constant(value=int(value)) if value <= _LARGEST_NUMBER:
            yield "number", node, str(value + 1)
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.AugAssign() | ast.Delete():
            yield "drop", node, "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield "drop", node, "pass"
    for child in ast.iter_child_nodes(node):
        yield from _within(child)


def _is_for_people(node: ast.AST) -> bool:
    """A log line; or a crash point, where nothing happens but in tests of crashes."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger" | "logging")))):
            return True
        case ast.Expr(value=ast.Call(func=ast.Name(id="reach"))):
            return True
    return False


def _negated(test: ast.expr) -> str:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"({ast.unparse(test.operand)})"
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and not isinstance(test.ops[0], _ORDERS):
        # The text that exchanging the comparison makes, too, so that one of the two is left out.
        return f"({ast.unparse(ast.Compare(test.left, [_COMPARISONS[type(test.ops[0])]], test.comparators))})"
    return f"(not ({ast.unparse(test)}))"


def _edited(source: str, edit: _Edit) -> str:
    data = source.encode()
    lines = data.splitlines(keepends=True)
    decorators = getattr(edit.first, "decorator_list", ())
    first = min([edit.first.lineno, *(each.lineno for each in decorators)])
    start = sum(map(len, lines[: first - 1])) + edit.first.col_offset
    end = sum(map(len, lines[: (edit.last.end_lineno or 0) - 1])) + (edit.last.end_col_offset or 0)
    return (data[:start] + edit.text.encode() + data[end:]).decode()


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def _shown(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
