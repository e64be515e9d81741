"""Python files taken apart, by Python's own parser."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Container, Iterator

from rosetta.stone.definitions import SPLIT_CLASS, Code, Definition, Source

_LOSS = re.compile(r"cross_?entropy|softmaxwithloss|softmaxoutput", re.IGNORECASE)


def take_apart(source: Source) -> Code:
    """The definitions of a Python file. SyntaxError when it is none.

    Statements that define nothing, such as imports, make up the preamble.
    """
    lines = source.text.splitlines()
    preamble: list[str] = []
    definitions: list[Definition] = []
    tree = ast.parse(source.text)
    foreign = _foreign(tree, source)
    for nodes in _statements(tree):
        first, last = _first_line(nodes[0], lines), nodes[-1].end_lineno or nodes[-1].lineno
        if not _defines(nodes[0]):
            preamble += _with_blank_lines(lines, preamble, first, last)
        elif isinstance(nodes[0], ast.ClassDef) and nodes[0].name == SPLIT_CLASS:
            definitions += _methods(nodes[0], source, lines, foreign)
        else:
            definitions.append(_definition(nodes, source, lines, foreign))
    return Code(source, "\n".join(preamble).strip("\n"), definitions)


def loss_statements(definition: Definition) -> Iterator[tuple[int, str]]:
    """(line, text) of each statement that calls a cross-entropy, with the comments above it."""
    lines = definition.text.splitlines()
    for node in ast.walk(ast.parse(definition.text)):
        if not isinstance(node, ast.Assign | ast.Return | ast.Expr):
            continue
        if any(_LOSS.search(name) for name in _names(node)):
            first = _first_line(node, lines)
            text = textwrap.dedent("\n".join(lines[first - 1 : node.end_lineno]))
            yield definition.line + first - 1, text


def _statements(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """The top-level statements; a constant with the string that documents it."""
    body = list(tree.body)
    while body:
        nodes = [body.pop(0)]
        if isinstance(nodes[0], ast.Assign | ast.AnnAssign) and body and _is_text(body[0]):
            nodes.append(body.pop(0))
        yield nodes


def _defines(node: ast.stmt) -> bool:
    """Whether it gives something a name; ``os.environ["A"] = "b"`` doesn't."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        return isinstance(target, ast.Name)
    return isinstance(node, ast.FunctionDef | ast.ClassDef)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _methods(
    node: ast.ClassDef, source: Source, lines: list[str], foreign: set[str]
) -> Iterator[Definition]:
    """The head of the class with `__init__`, then each method by itself."""
    methods = [child for child in node.body if isinstance(child, ast.FunctionDef)]
    inits = [method for method in methods if method.name == "__init__"]
    others = [method for method in methods if method not in inits]
    first = _first_line(node, lines)
    end = max((child.end_lineno or 0 for child in [*inits, *_plain(node)]), default=node.lineno)
    text = "\n".join(lines[first - 1 : end])
    uses = frozenset(_names(*inits, *_plain(node), foreign=foreign))
    yield Definition(node.name, node.name, source, first, text, uses)
    for method in others:
        yield _definition([method], source, lines, foreign)


def _plain(node: ast.ClassDef) -> list[ast.stmt]:
    return [child for child in node.body if not isinstance(child, ast.FunctionDef)]


def _definition(
    nodes: list[ast.stmt], source: Source, lines: list[str], foreign: set[str]
) -> Definition:
    first, last = _first_line(nodes[0], lines), nodes[-1].end_lineno
    text = textwrap.dedent("\n".join(lines[first - 1 : last]))
    name = _name(nodes[0])
    uses = frozenset(_names(*nodes, foreign=foreign)) - {name}
    return Definition(name, name, source, first, text, uses)


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name
    assert isinstance(node, ast.Assign | ast.AnnAssign)
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return ast.unparse(target)


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    """The line where a statement begins, with its decorators and the comments right above it."""
    first = node.lineno
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        first = min([first, *(decorator.lineno for decorator in node.decorator_list)])
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return first


def _foreign(tree: ast.Module, source: Source) -> set[str]:
    """What the file imports from elsewhere: `np.multiply` is no `multiply` of the worker's."""
    own = {path.stem for path in source.path.parent.glob("*.py")}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(
                (a.asname or a.name).split(".")[0] for a in node.names if a.name not in own
            )
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module not in own:
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def _names(*nodes: ast.AST, foreign: Container[str] = ()) -> set[str]:
    """Every name in the code of `nodes` that isn't theirs alone, and every attribute but those of
    what is `foreign`."""
    names: set[str] = set()
    attributes: set[str] = set()
    own: set[str] = set()
    for node in nodes:
        for child in ast.walk(node):
            if isinstance(child, ast.Name):
                (names if isinstance(child.ctx, ast.Load) else own).add(child.id)
            elif isinstance(child, ast.Attribute) and _root(child) not in foreign:
                attributes.add(child.attr)
            elif isinstance(child, ast.arg):
                own.add(child.arg)
            elif isinstance(child, ast.FunctionDef) and child is not node:
                own.add(child.name)
    return attributes | names - own


def _root(node: ast.expr) -> str:
    """`np` of `np.random.seed`; nothing where it begins with something other than a name."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _with_blank_lines(lines: list[str], before: list[str], first: int, last: int) -> list[str]:
    """The lines from `first` to `last`, behind a blank one where the file has one."""
    blank = [""] if before and first > 1 and not lines[first - 2].strip() else []
    return [*blank, *lines[first - 1 : last]]
